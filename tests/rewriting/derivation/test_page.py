"""The page of a derivation, read with an HTML parser: steps, relations, values, costs, regions."""

import pickle
import re

import pytest

import relgraph as rg
from relgraph.errors import ArgumentError
from relgraph.ir.diagram import NODES
from tests.samples import distribute_matmulo
from tests.viz.test_display import Words

A, B = rg.matrices("A B", shape=("n", "n"))
x, y, z = rg.vectors("x y z", shape=("n",))
weight = rg.vector("weight", shape=("n",), facts=["positive"])


@rg.identity(where=rg.nonnegativeo)
def cancel_sqrt_squareo(x):
    """sqrt(x^2) = x where x is not negative."""
    return rg.sqrt(rg.square(x)), x


@rg.relation
def cos_oppositeo(left, right):
    """cos(-x) = cos(x)."""
    (v,) = rg.lvars("v")
    return rg.lall(rg.eq(left, rg.cos(rg.negative(v))), rg.eq(right, rg.cos(v)))


class Absolute(rg.NodeRewriter):
    """abs(abs(x)) = abs(x)."""

    def tracks(self):
        return [rg.absolute]

    def transform(self, graph, node):
        inner = node.inputs[0]
        return inner if inner.op is node.op else None


def sections_of(derivation, folder):
    """Write the page, check that its elements are closed, and return its sections."""
    path = folder / "steps.html"
    derivation.to_html(path)
    page = path.read_text(encoding="utf-8")
    elements = Words(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)).elements
    assert [dict(attrs).get("src") for tag, attrs in elements if tag in ("img", "script")] == []
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    return re.findall(r"<section.*?</section>", page, re.DOTALL)


def words(section):
    """Return the visible words of a section, without those of its pictures."""
    return " ".join(Words(re.sub(r"<svg.*?</svg>", "", section, flags=re.DOTALL)).words)


def test_a_step_shows_the_relation_its_condition_and_the_values(tmp_path):
    graph = rg.sqrt(rg.square(weight * 2)) + x
    start, step, end = sections_of(rg.explain(graph, cancel_sqrt_squareo), tmp_path)
    assert " hidden" not in start[:20] and " hidden" in step[:20] and " hidden" in end[:20]
    text = words(step)
    assert text.startswith("1. cancel_sqrt_squareo, in [.] + x")
    assert "where nonnegative(x)" in text
    assert "condition nonnegative(x): weight * 2  : float64[n]" in text
    assert "claims rounded, kept" in text
    assert "cost of what changed 1280 -> 0 flops" in text
    assert "cost of the graph 1792 -> 512 flops at n = 256" in text
    assert "<msqrt>" in step
    assert 'class="node matched output"' in step


def test_terms_that_are_gathered_are_listed(tmp_path):
    derivation = rg.explain(A @ x + A @ y + A @ z, distribute_matmulo.reversed)
    _, step, _ = sections_of(derivation, tmp_path)
    assert "1. distribute_matmulo.reversed x2" in words(step)
    for name in ("x", "y", "z"):
        assert f"{name}  : float64[n]" in words(step)
    assert step.count("node matched") == 5  # three products, two sums
    assert step.count("node new") == 3


@pytest.mark.parametrize("how", [cos_oppositeo, Absolute()], ids=["kanren", "python"])
def test_steps_without_clauses(how, tmp_path):
    derivation = rg.explain(rg.cos(-x) + abs(abs(y)), how)
    sections = sections_of(derivation, tmp_path)
    assert len(sections) == len(derivation) + 2 == 3
    assert "by " in words(sections[1])


def test_what_was_not_used_and_the_result(tmp_path):
    *_, end = sections_of(rg.explain(x + y, distribute_matmulo), tmp_path)
    assert "not used: distribute_matmulo, no node of the graph matches" in words(end)
    assert "256 -> 256 flops" in words(end)


def test_passes_have_a_section(tmp_path):
    derivation = rg.explain(A @ B @ x, mode="o4")
    texts = [words(section) for section in sections_of(derivation, tmp_path)]
    assert any("a pass:" in text for text in texts)


def test_a_copy_has_the_same_page(tmp_path):
    derivation = rg.explain(rg.log(1 + rg.exp(x)) + y - 0, mode="o4")
    copy = pickle.loads(pickle.dumps(derivation))
    assert sections_of(copy, tmp_path) == sections_of(derivation, tmp_path)


def test_large_graphs_are_collapsed(tmp_path):
    v = x
    for i in range(NODES // 2):
        v = rg.sin(rg.sqrt(rg.square(weight * (i + 2)))) * v
    derivation = rg.explain(v, cancel_sqrt_squareo)
    sections = sections_of(derivation, tmp_path)
    assert len(sections) == NODES // 2 + 2
    start = sections[0]
    assert start.count("<details>") == start.count("node region") > 2
    links = re.findall(r'<a href="#([^"]*)"', start)
    assert len(set(links)) == len(links) and all(f'id="{link}"' in start for link in links)


@pytest.mark.parametrize("path", [None, 3, ["steps.html"]])
def test_other_paths_raise(path):
    with pytest.raises(ArgumentError, match="to_html takes the path of a file"):
        rg.explain(x + y, distribute_matmulo).to_html(path)
