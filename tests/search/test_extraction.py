"""Extraction: the cheapest program with sharing, from candidates that are given."""

from __future__ import annotations

import pytest

from relgraph.search.candidates import Candidate
from relgraph.search.extraction import Extraction, find_cycle

A, B, C, D = (("value", x, 0) for x in range(4))


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


@pytest.mark.parametrize("table", [{A: []}, {A: [(1.0, (B,))], B: [(1.0, (A,))]}])
def test_a_goal_that_nothing_computes_has_no_program(table):
    assert Extraction(Table(table), [A]).cheapest() is None


def test_a_cycle_is_found():
    needs = {A: [B], B: [C], C: [B], D: []}
    assert find_cycle([D, A], needs.__getitem__) == [B, C]
    assert find_cycle([D], needs.__getitem__) is None
