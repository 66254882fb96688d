"""Phases end because every rewrite they ship makes one measure smaller."""

import pytest

import relgraph as rg
from relgraph.db.catalogue import PHASES, relations
from relgraph.ops.shape import BroadcastTo
from relgraph.relations.catalogue.checks import UNSAFE
from relgraph.relations.termination_order import decreases
from tests.samples import cancel_log_expo, distribute_matmulo

NAMES = {name for name, _ in PHASES}
SHIPPED = [r for r in relations() if NAMES & set(r.tags)]


@pytest.mark.parametrize("relation", SHIPPED, ids=lambda r: r.label)
def test_every_rewrite_of_a_phase_decreases(relation):
    assert relation.rewrites
    grows = [str(r) for r in relation.rewrites if not decreases(r)]
    assert not grows, f"{relation.label} ({relation.location})"


def test_phases_hold_nothing_else():
    held = {
        item
        for name in NAMES
        for item in map(rg.optdb[name].__getitem__, rg.optdb[name])
        if isinstance(item, rg.Relation)
    }
    assert held == {*SHIPPED, *UNSAFE}


def test_simplifications_decrease_the_measure():
    assert all(map(decreases, cancel_log_expo.rewrites))
    assert all(map(decreases, distribute_matmulo.reversed.rewrites))


def test_expansions_do_not_decrease_the_measure():
    assert not any(map(decreases, distribute_matmulo.rewrites))


def test_of_two_arrangements_of_elements_one_stands_outside():
    broadcast = BroadcastTo((2, 3))

    @rg.identity
    def swap_broadcasto(x):
        """broadcast_to(x, (2, 3)).mT = broadcast_to(x.mT, (2, 3))."""
        return broadcast(x).mT, broadcast(x.mT)

    assert all(map(decreases, swap_broadcasto.rewrites))
    assert not any(map(decreases, swap_broadcasto.reversed.rewrites))
