"""rg.explain: the steps of a derivation, its text, its check, and that values are kept."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, OscillationError, UnknownTagError
from relgraph.rewriting.derivation.derivation import Derivation
from tests.samples import distribute_matmulo, merge_expo


@rg.identity(specials="kept", rounding="exact")
def double_negativeo(x):
    """-(-x) = x."""
    return rg.negative(rg.negative(x)), x


RNG = np.random.default_rng(0)
A, B, C = rg.matrices("A B C", shape=("n", "n"))
x, y, z = rg.vectors("x y z", shape=(4,))
TWICE = rg.negative(rg.negative(x))
SQUARE = {name: RNG.normal(size=(4, 4)) for name in "ABC"}
VECTORS = {name: RNG.normal(size=4) for name in "xyz"}


def numbers(graph, values):
    """Compute a graph as it is written."""
    names = {i.name for i in rg.FunctionGraph(None, graph).inputs}
    return rg.evaluate(graph, {name: values[name] for name in names})


def check_values(derivation, expected, values):
    """Compare each graph of the chain with NumPy."""
    for outputs in (derivation.before, derivation.after):
        np.testing.assert_allclose(numbers(outputs[0], values), expected, rtol=1e-12)
    for step in derivation:
        np.testing.assert_allclose(
            numbers(step.before, values), numbers(step.after, values), rtol=1e-12
        )


def test_distributing_is_one_step():
    derivation = rg.explain(A @ (B + C), distribute_matmulo)
    assert isinstance(derivation, Derivation)
    assert derivation.before == (A @ (B + C),)
    assert derivation.after == (A @ B + A @ C,)
    (step,) = derivation
    assert len(derivation) == 1
    assert step.relations == ("distribute_matmulo",)
    assert (step.before, step.after) == (A @ (B + C), A @ B + A @ C)
    derivation.check()
    a, b, c = SQUARE.values()
    check_values(derivation, a @ b + a @ c, SQUARE)


def test_gathering_counts_each_use_and_agrees_with_numpy():
    graph = A @ B + C + A @ C + A @ A
    derivation = rg.explain(graph, distribute_matmulo.reversed)
    a, b, c = SQUARE.values()
    check_values(derivation, a @ b + c + a @ c + a @ a, SQUARE)
    derivation.check()
    profile = rg.profile_rewrites(graph, distribute_matmulo.reversed)
    assert profile.counts["distribute_matmulo.reversed"].fired == 2
    assert rg.flops(derivation.after) < rg.flops(derivation.before)


def test_several_relations_and_sites():
    graph = rg.exp(TWICE) * rg.exp(y) * rg.exp(z)
    derivation = rg.explain(graph, double_negativeo, merge_expo)
    used = [name for step in derivation for name in step.relations]
    assert used.count("double_negativeo") == 1
    assert set(used) == {"double_negativeo", "merge_expo"}
    derivation.check()
    check_values(derivation, np.exp(sum(VECTORS.values())), VECTORS)


def test_the_text_is_a_chain():
    derivation = rg.explain(TWICE + 1, double_negativeo)
    assert str(derivation) == (
        "    --x + 1\n1. double_negativeo, in [.] + 1\n    --x\n  = x\n"
        "result, 1 step, 12 -> 4 flops\n    x + 1"
    )


def test_nothing_to_do():
    derivation = rg.explain(x + y, double_negativeo)
    assert len(derivation) == 0
    assert derivation.before == derivation.after == (x + y,)
    assert "result, 0 steps" in str(derivation)
    derivation.check()


@pytest.mark.parametrize(
    "container",
    [
        lambda a, b: [a, b],
        lambda a, b: (a, b),
        lambda a, b: {"first": a, "second": b},
        lambda a, b: rg.FunctionGraph([x, y], [a, b]),
    ],
)
def test_containers(container):
    derivation = rg.explain(container(TWICE, y + 1), double_negativeo)
    assert derivation.before == (TWICE, y + 1)
    assert derivation.after == (x, y + 1)
    assert len(derivation) == 1
    derivation.check()


def test_modes_and_tags():
    graph = rg.log(1 + rg.exp(x - 0))
    derivation = rg.explain(graph, mode="o4")
    assert len(derivation) >= 1
    derivation.check()
    large = np.array([1000.0, -1000.0, 0.5, 0.0])
    result = rg.evaluate(derivation.after[0], {"x": large})
    np.testing.assert_allclose(result, np.logaddexp(0.0, large), rtol=1e-12)
    assert rg.explain(graph, include=["canonicalize"]).after == (rg.rewrite_graph(graph),)


def test_the_page(tmp_path):
    path = tmp_path / "rewrite.html"
    rg.explain(A @ (B + C), distribute_matmulo).to_html(str(path))
    page = path.read_text(encoding="utf-8")
    assert "distribute_matmulo" in page
    assert "A @ B + A @ C" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_errors():
    with pytest.raises(UnknownTagError, match="no mode 'o9'"):
        rg.explain(x, mode="o9")
    with pytest.raises(OscillationError):
        rg.explain(A @ (B + C), distribute_matmulo, distribute_matmulo.reversed)
    with pytest.raises(ArgumentError):
        rg.explain(3.0, double_negativeo)
    assert len(rg.explain(TWICE, double_negativeo)) == 1  # recording ended with each error
