"""Extraction: the cheapest program with sharing, from candidates that are given."""

from __future__ import annotations

import numpy as np
import pytest

from relgraph.search.candidates import Candidate
from relgraph.search.extraction import Extraction, find_cycle

A, B, C, D, E = (("value", x, 0) for x in range(5))


class Table:
    """Candidates that are given by a table: a cost and needs each."""

    def __init__(self, table):
        self.table = table

    def of(self, state):
        return [Candidate(cost, needs, lambda *x: x) for cost, needs in self.table[state]]


def test_a_state_that_two_others_need_is_paid_for_once():
    table = Table(
        {
            A: [(1.0, (B, C))],
            B: [(6.0, ()), (1.0, (D,))],
            C: [(6.0, ()), (1.0, (D,))],
            D: [(4.0, ())],
        }
    )
    choice = Extraction(table, [A]).cheapest()
    assert choice.cost == 7.0
    assert choice.chosen[B] == choice.chosen[C] == 1


def test_a_cheaper_tree_wins_where_nothing_is_shared():
    table = Table({A: [(5.0, ()), (1.0, (B,))], B: [(3.0, ()), (9.0, ())]})
    choice = Extraction(table, [A]).cheapest()
    assert (choice.cost, choice.chosen) == (4.0, {A: 1, B: 0})


def test_changes_that_pay_only_together_are_found():
    # Each of B and C is cheaper alone by itself; with D, which both share, they are cheapest.
    needs = (B, C, E)
    table = Table(
        {
            A: [(1.0, needs)],
            **{state: [(6.0, ()), (1.0, (D,))] for state in needs},
            D: [(11.0, ())],
        }
    )
    extraction = Extraction(table, [A])
    choice = extraction.cheapest()
    assert choice.cost == 19.0
    choice = extraction.forced(choice)
    assert choice.cost == 15.0
    assert [choice.chosen[state] for state in needs] == [1, 1, 1]


@pytest.mark.parametrize("block", range(10))
def test_random_programs_are_nearly_the_cheapest(block):
    greedy, forced, best = 0.0, 0.0, 0.0
    for seed in range(20 * block, 20 * (block + 1)):
        table = Table(random_table(np.random.default_rng(seed)))
        extraction = Extraction(table, [("value", 0, 0)])
        choice = extraction.cheapest()
        better = extraction.forced(choice)
        least = by_brute_force(table.table)
        assert least <= better.cost * (1 + 1e-12) and better.cost <= choice.cost
        greedy, forced, best = greedy + choice.cost, forced + better.cost, best + least
    assert forced <= 1.002 * best and forced <= greedy


def random_table(rng):
    """Return candidates of ten states, each needing states of higher numbers."""
    states = [("value", x, 0) for x in range(10)]
    table = {}
    for x, state in enumerate(states):
        later = states[x + 1 :]
        table[state] = [(float(rng.integers(3, 20)), ())]
        for _ in range(int(rng.integers(1, 4))):
            count = int(rng.integers(1, 4))
            needs = [later[i] for i in rng.permutation(len(later))[:count]]
            table[state].append((float(rng.integers(1, 6)), tuple(needs)))
    return table


def by_brute_force(table):
    """Return the least cost of all choices."""
    states = list(table)

    def least(x, needed, cost):
        while x < len(states) and states[x] not in needed:
            x += 1
        if x == len(states):
            return cost
        return min(least(x + 1, needed | set(needs), cost + own) for own, needs in table[states[x]])

    return least(0, {states[0]}, 0.0)


@pytest.mark.parametrize("table", [{A: []}, {A: [(1.0, (B,))], B: [(1.0, (A,))]}])
def test_a_goal_that_nothing_computes_has_no_program(table):
    assert Extraction(Table(table), [A]).cheapest() is None


def test_a_cycle_is_found():
    needs = {A: [B], B: [C], C: [B], D: []}
    assert find_cycle([D, A], needs.__getitem__) == [B, C]
    assert find_cycle([D], needs.__getitem__) is None
