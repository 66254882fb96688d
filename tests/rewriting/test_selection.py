"""Selections: what is compiled together, and what is remembered."""

import gc
import weakref

import pytest

import relgraph as rg
from relgraph.errors import RelationError
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import Selection, clear_selections, selection_of
from tests.concurrency import at_once
from tests.samples import cancel_log_expo, double_addo

x, y = rg.vectors("x y")


@rg.identity
def merge_sumo(a, b, c):
    """An inner sum over an open axis."""
    return rg.sum(a, axis=b) + rg.sum(c, axis=b), rg.sum(a + c, axis=b)


@rg.identity
def negate_sumo(a, b):
    """-sum(a) = sum(-a)."""
    return rg.sum(-a, axis=b), -rg.sum(a, axis=b)


def test_equal_relations_in_equal_order_are_one_selection():
    first = selection_of((cancel_log_expo, double_addo))
    assert selection_of((cancel_log_expo, double_addo)) is first
    assert selection_of((double_addo, cancel_log_expo)) is not first


def test_a_relation_listed_twice_is_selected_once():
    assert Selection([cancel_log_expo, cancel_log_expo]).relations == (cancel_log_expo,)


def test_goal_constructors_are_wrapped():
    def halve_sino(left, right):
        (a,) = rg.lvars("a")
        return rg.lall(rg.eq(left, rg.sin(a)), rg.eq(right, rg.sin(a / 2)))

    (relation,) = Selection([halve_sino]).relations
    assert isinstance(relation, rg.Relation)
    assert relation.name == "halve_sino"
    with pytest.raises(RelationError, match="is not a relation"):
        Selection([42])


def test_one_matcher_for_each_head():
    selection = Selection([cancel_log_expo, double_addo])
    assert selection.plain(rg.log) is selection.plain(rg.log) is not None
    assert selection.plain(rg.exp) is None
    assert selection.ac_of(rg.add) is selection.ac_of(rg.add) is not None
    assert selection.ac_of(rg.multiply) is None
    assert selection.ac_ops == {rg.add}


def test_an_open_head_is_one_matcher_for_its_class():
    selection = Selection([negate_sumo])
    graphs = [rg.sum(-rg.matrix("A"), axis=axis) for axis in (None, -1, -2)]
    found = normalise(graphs, selection)
    assert found == tuple(-rg.sum(rg.matrix("A"), axis=axis) for axis in (None, -1, -2))
    assert len({id(selection.plain(g.op)) for g in graphs}) == 1


def test_the_source_names_the_relation_of_each_branch():
    selection = Selection([cancel_log_expo, double_addo, merge_sumo])
    normalise([rg.log(rg.exp(x)) + rg.log(rg.exp(x)) + rg.sum(x) + rg.sum(y)], selection)
    source = selection.source
    assert "# cancel_log_expo" in source
    assert "# double_addo" in source
    assert "# merge_sumo" in source
    for block in source.split("def ")[1:]:
        compile("def " + block, "<matcher>", "exec")


def test_the_source_does_not_depend_on_what_was_compiled_before():
    sources = []
    for _ in range(2):
        selection = Selection([cancel_log_expo, merge_sumo])
        normalise([rg.log(rg.exp(x)) + rg.sum(x) + rg.sum(y)], selection)
        sources.append(selection.source)
    assert sources[0] == sources[1]


def test_clearing_forgets_selections_and_frees_their_graphs():
    node = rg.log(rg.exp(rg.vector("only_here"))) + 1
    selection = selection_of((cancel_log_expo,))
    normalise([node], selection)
    alive = weakref.ref(node)
    del node, selection
    clear_selections()
    gc.collect()
    assert alive() is None


def test_threads_that_normalise_together_agree():
    selection = Selection([cancel_log_expo, double_addo])
    graphs = [rg.log(rg.exp(x)) + x + y * i for i in range(20)]

    def work(given):
        return [normalise([g], selection) for g in given]

    found = at_once(work, [graphs] * 8)
    assert all(f == found[0] for f in found)
    assert found[0][3] == (2 * x + y * 3,)


def test_it_prints_its_relations():
    assert repr(Selection([cancel_log_expo, double_addo.reversed])) == (
        "Selection(cancel_log_expo, double_addo.reversed)"
    )
