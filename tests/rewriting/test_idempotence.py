"""A second run of a mode changes nothing."""

import pytest

import relgraph as rg
from tests.rewriting.idempotence import MODES, changed, programs, rows

ROWS, PROGRAMS = tuple(rows()), tuple(programs(40))
F = rg.matrix("F", shape=("n", "n"))
H = rg.matrix("H", shape=("m", "n"))
P = rg.matrix("P", shape=("n", "n"), facts="spd")
R = rg.matrix("R", shape=("m", "m"), facts="spd")
x = rg.vector("x", shape="n")


def test_the_corpus_is_large():
    assert len(ROWS) > 1000 and len(PROGRAMS) > 20


@pytest.mark.parametrize("mode", MODES)
def test_a_second_run_changes_no_row_of_the_catalogue(mode):
    assert [str(change) for case in ROWS if (change := changed(case, mode))] == []


@pytest.mark.parametrize("mode", MODES)
def test_a_second_run_changes_no_random_program(mode):
    assert [str(change) for case in PROGRAMS if (change := changed(case, mode))] == []


@pytest.mark.parametrize("mode", MODES)
def test_a_second_run_changes_several_outputs_no_more(mode):
    gain = P @ H.T @ rg.inv(H @ P @ H.T + R)
    graphs = (
        F @ x,
        F @ P @ F.T,
        gain,
        P - gain @ H @ P,
        rg.log(rg.det(P)),
        rg.sum(F.T, axis=0) @ x,
    )
    once = rg.rewrite_graph(graphs, mode=mode)
    again = rg.rewrite_graph(once, mode=mode)
    assert [old is new for old, new in zip(once, again, strict=True)] == [True] * len(graphs)


def test_what_a_late_phase_leaves_is_simplified():
    graph = rg.exp(rg.log(x))
    result = rg.rewrite_graph(graph, mode="o4")
    assert result is rg.where(rg.less_equal(0.0, x), x, float("nan"))
    assert rg.rewrite_graph(result, mode="o4") is result
