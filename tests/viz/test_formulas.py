"""LaTeX and MathML: well formed for all that relgraph states, with the brackets that it needs."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import relgraph as rg
from relgraph.db.catalogue import THEMES, relations_of
from relgraph.errors import ArgumentError
from relgraph.ir.latex import latex_of, text_latex
from relgraph.relations.statement import formula
from relgraph.viz.mathml import GREEK, SYMBOLS, mathml

A, B = rg.matrices("A B", shape=("n", "n"))
x, y, x1, alpha, beta_2, scale = rg.vectors("x y x1 alpha beta_2 scale", shape=("n",))


@pytest.mark.parametrize(
    ("graph", "latex"),
    [
        (x + y * 2, r"x + y \cdot 2"),
        ((x + y) * 2, r"\left(x + y\right) \cdot 2"),
        (x - (y - x), r"x - \left(y - x\right)"),
        (x / (x + y), r"\frac{x}{x + y}"),
        ((x / y) ** 2, r"\left(\frac{x}{y}\right)^{2}"),
        (A @ (x / y) * y, r"A \, \frac{x}{y} \cdot y"),
        (rg.sqrt(x + y), r"\sqrt{x + y}"),
        (x**y**x, "x^{y^{x}}"),
        ((x**y) ** x, r"\left(x^{y}\right)^{x}"),
        (rg.square(x + y), r"\left(x + y\right)^{2}"),
        (rg.square(x) ** 3, r"\left(x^{2}\right)^{3}"),
        (-(x + y), r"-\left(x + y\right)"),
        (abs(-x), r"\left|-x\right|"),
        (A.mT @ x, r"A^{\top} \, x"),
        (rg.inv(A.mT), r"\left(A^{\top}\right)^{-1}"),
        ((A + B) @ x, r"\left(A + B\right) \, x"),
        (A @ (B @ x), r"A \, \left(B \, x\right)"),
        (rg.sum(A, axis=0), r"\operatorname{sum}_{\text{axis=-2}}\left(A\right)"),
        (rg.exp(x1) + alpha, r"\operatorname{exp}\left(x_{1}\right) + \alpha"),
        (beta_2 + scale, r"\beta_{2} + \mathrm{scale}"),
        (rg.vector("α_1", "n") + rg.vector("ψ", "n"), r"\alpha_{1} + \psi"),
        (rg.vector("a_", "n") - rg.vector("a", "n"), r"\mathrm{a\_} - a"),
        (x + np.inf, r"x + \infty"),
        (x * np.nan + rg.vector("inf", "n"), r"x \cdot \text{nan} + \mathrm{inf}"),
        (x + 1e-5, r"x + 10^{-5}"),
        (x * 2.5e10, r"x \cdot 25000000000"),
        (x <= y, r"x \le y"),
        (rg.log_softmax(x), r"\operatorname{log\_softmax}_{\text{axis=-1}}\left(x\right)"),
    ],
)
def test_the_latex_of_graphs(graph, latex):
    assert latex_of(graph) == latex
    assert graph._repr_mimebundle_()["text/latex"] == rf"$\displaystyle {latex}$"


def test_the_latex_of_a_graph_with_shared_nodes_names_them():
    t = rg.exp(x)
    graph = rg.FunctionGraph(None, [t * t])
    assert graph._repr_mimebundle_()["text/latex"] == (
        r"$\displaystyle \begin{aligned} t_{0} = & \operatorname{exp}\left(x\right) \\ "
        r" & t_{0} \cdot t_{0} \end{aligned}$"
    )


def test_latex_takes_what_prints():
    assert rg.latex([x + y, x]) == r"\begin{aligned}  & x + y \\  & x \end{aligned}"
    assert rg.latex(rg.function([x], x + 1, target="numpy")) == "x + 1"
    assert repr(rg.latex(x + y)) == "x + y"
    relation = rg.catalogue("trace_transposeo")[0].item
    left, right = (
        r"\operatorname{trace}\left(A^{\top}\right)",
        r"\operatorname{trace}\left(A\right)",
    )
    assert rg.latex(relation) == f"{left} = {right}"
    assert rg.latex(relation.reversed) == f"{right} = {left}"
    with pytest.raises(ArgumentError):
        rg.latex(3)


def test_deep_graphs_have_short_formulas():
    v = x
    for _ in range(5000):
        v = rg.sin(v) + 1
    assert len(latex_of(v)) < 5000
    assert r"\ldots" in latex_of(v)
    assert len(v._repr_mimebundle_()["text/html"]) < 100_000


def test_text_has_no_escapes_which_mathjax_would_show():
    assert text_latex("where a_b holds") == r"\text{where a}\_\text{b holds}"
    assert text_latex("{1}") == r"\{\text{1}\}"
    assert "<mtext>b holds</mtext>" in mathml(text_latex("where a_b holds"))


def balanced(latex):
    """Return True if braces and fences match."""
    plain = re.sub(r"\\[{}]", "", latex)
    return plain.count("{") == plain.count("}") and latex.count(r"\left") == latex.count(r"\right")


@pytest.mark.parametrize("theme", THEMES)
def test_every_relation_of_the_catalogue_has_a_formula(theme):
    for relation in relations_of(theme):
        lines = formula(relation)
        assert lines, relation
        for side in (part for line in lines for part in line):
            assert balanced(side), (relation.name, side)
            tree = ElementTree.fromstring(f"<math>{mathml(side)}</math>")
            for leaf in tree.iter():
                # A command that MathML was not given would show as its name.
                assert leaf.tag == "mtext" or not (leaf.text or "").startswith("\\"), (side, leaf)


@pytest.mark.parametrize("command", [*SYMBOLS, *GREEK])
def test_every_symbol_is_one_character_or_word(command):
    tree = ElementTree.fromstring(mathml(command))
    assert len(tree) == 1 and not tree[0].text.startswith("\\")


def test_scripts_take_the_whole_of_a_bracket():
    tree = ElementTree.fromstring(mathml(r"\left(x + y\right)^{2}"))
    (power,) = tree
    assert power.tag == "msup"
    assert "".join(power[0].itertext()) == "(x+y)"
    assert "".join(power[1].itertext()) == "2"


class Norm(rg.Op):
    """The Euclidean norm, with a template of its own."""

    name = "norm_of_test"
    arity = 1
    latex = r"\left\lVert{#1}\right\rVert"

    def infer(self, *types):
        return rg.TensorType(types[0].dtype, ())


def test_an_op_of_your_own_has_a_template():
    assert latex_of(Norm()(x + y) ** 2) == r"\left\lVert{x + y}\right\rVert^{2}"
    tree = ElementTree.fromstring(mathml(latex_of(Norm()(x + y))))
    assert "".join(tree.itertext()) == "‖x+y‖"


def test_commands_that_are_not_known_show_their_names():
    assert "".join(ElementTree.fromstring(mathml(r"\foo + 1")).itertext()) == "foo+1"
