"""What users of other libraries type raises an error that names the counterpart."""

from __future__ import annotations

import operator
import re

import pytest
import scipy.linalg
import scipy.special

import relgraph as rg
from relgraph import porting
from relgraph.errors import ArgumentError, UnsupportedAttributeError

x = rg.vector("x", shape=("n",))
A = rg.matrix("A", shape=("n", "n"))


@pytest.mark.parametrize("name", porting.RENAMED)
def test_a_renamed_name_exists_under_its_new_name_only(name):
    assert name not in rg.__all__
    assert porting.RENAMED[name] in (*rg.__all__, "numpy")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("mul", "rg.multiply"),
        ("sub", "rg.subtract"),
        ("switch", "rg.where"),
        ("Lop", "rg.vjp"),
        ("disconnected_grad", "rg.stop_gradient"),
        ("OpSub", "rg.SubstitutionNodeRewriter"),
        ("TopoOptimizer", "rg.WalkingGraphRewriter"),
        ("ivector", "dtype='int32'"),
        ("dmatrix", "rg.matrix"),
    ],
)
def test_names_of_theano_and_pytensor(name, written):
    with pytest.raises(UnsupportedAttributeError) as caught:
        getattr(rg, name)
    assert written in caught.value.fix


@pytest.mark.parametrize("name", ["theano", "nlinalg", "printing", "qqqq"])
def test_a_name_that_is_like_no_other_gets_no_guess(name):
    with pytest.raises(UnsupportedAttributeError) as caught:
        getattr(rg, name)
    assert "Did you mean" not in caught.value.fix


@pytest.mark.parametrize(
    ("graph", "name", "written"),
    [
        (A @ x, "owner", "x.op and x.inputs"),
        (A @ x, "outputs", "use x itself"),
        (A @ x, "subs", ".replace(old, new)"),
        (x, "diff", "rg.derivative"),
        (x, "simplify", "rg.rewrite_graph"),
        (x, "args", "x.inputs"),
        (x, "eval", "rg.evaluate"),
        (rg.FunctionGraph([x], [x]), "replace_validate", "graph.replace"),
        (rg.FunctionGraph([x], [x]), "apply_nodes", "graph.toposort()"),
        (rg.FunctionGraph([x], [x]), "topsort", "FunctionGraph.toposort"),
    ],
)
def test_attributes_of_other_libraries(graph, name, written):
    with pytest.raises(UnsupportedAttributeError) as caught:
        getattr(graph, name)
    assert written in caught.value.fix


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("make_jaxpr", "rg.jit(f).graph"),
        ("block_until_ready", "Nothing to wait for"),
        ("random", "Draw with NumPy"),
        ("custom_vjp", "docs/custom_ops.md"),
        ("simplify", "rg.rewrite_graph"),
        ("symbols", "rg.scalars"),
        ("lambdify", "rg.function"),
        ("integrate", "rg.antiderivative"),
    ],
)
def test_names_of_jax_and_sympy(name, written):
    with pytest.raises(UnsupportedAttributeError) as caught:
        getattr(rg, name)
    assert written in caught.value.fix


@pytest.mark.parametrize(
    ("keyword", "written"),
    [
        ("static_argnums", "are static"),
        ("static_argnames", "are static"),
        ("donate_argnums", "donate="),
    ],
)
def test_keywords_of_jit(keyword, written):
    with pytest.raises(ArgumentError) as caught:
        rg.jit(lambda a: a, **{keyword: 0})
    assert written in caught.value.fix


def test_keywords_of_function():
    with pytest.raises(ArgumentError) as caught:
        rg.function([x], x, allow_input_downcast=True)
    assert "x.astype(dtype)" in caught.value.fix


@pytest.mark.parametrize(
    ("call", "written"),
    [
        (lambda: scipy.special.logsumexp(x), "rg.logsumexp"),
        (lambda: scipy.linalg.cho_factor(A), "rg.cholesky"),
        (lambda: scipy.linalg.solve_triangular(A, x), "rg.solve_triangular"),
        (lambda: scipy.linalg.lu_factor(A), "rg.lu_factor"),
    ],
)
def test_functions_of_scipy_name_those_of_relgraph(call, written):
    with pytest.raises(ArgumentError) as caught:
        call()
    assert f"Write {written}," in caught.value.fix


def test_a_graph_has_no_length():
    with pytest.raises(TypeError, match=re.escape("Write x.shape[0]")):
        len(x)
    assert operator.length_hint(A @ x) == 3  # that of its S-expression, for cons


def test_a_graph_is_not_formatted_as_a_number():
    with pytest.raises(TypeError, match=r"no value to format as '.3f'"):
        f"{x:.3f}"
    assert f"{x}" == "x"
