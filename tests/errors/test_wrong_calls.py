"""Calls of what is public with arguments of the wrong kind, number or name.

Each row is a call, the class of its error, a part of the first line, and a part of the last one.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
import scipy.sparse
from numpy import zeros

import relgraph as rg
from relgraph.errors import (
    ArgumentError,
    CompileError,
    DomainError,
    ImmutableGraphError,
    NotOverriddenError,
    NumberRangeError,
    PatternError,
    RelationError,
    UnknownTagError,
    UnsupportedAttributeError,
    kind_of,
)
from tests.samples import double_addo

x = rg.vector("x", shape=("n",))
y = rg.vector("y", shape=("n",))
k = rg.vector("k", shape=("n",), dtype="int64")
graph = rg.FunctionGraph([x, y], x + y)
ones = np.ones(2)


def plain(a):
    return 2 * a


def made_op(**fields):
    methods = {"infer": lambda self, a: a, "perform": lambda self, a: a}
    return type("Made", (rg.Op,), {"name": "made", "arity": 1, **methods, **fields})


def made_rewriter(result):
    methods = {"transform": lambda self, graph, node: result, "contextual": True}
    return type("Made", (rg.NodeRewriter,), methods)()


class Nothing:
    """A backend that compiles nothing."""

    name = "nothing"

    def compile(self, graph):
        return None


def doubled(**options):
    return rg.identity(lambda a: (a + a, 2 * a), **{"name": "doubled", **options})


@functools.cache
def added():
    return rg.function([x, y], x + y, target="numpy")


@functools.cache
def integers():
    return rg.function([k], k + 1, target="numpy")


@functools.cache
def truths():
    b = rg.vector("b", dtype="bool")
    return rg.function([b], b, target="numpy")


def jitted(function, **options):
    return rg.jit(function, target="numpy", **options)


def assigning(a):
    made = zeros(2)  # not np.zeros, which tracing follows
    made[0] = a[0]
    return made


class Doubling:
    @rg.jit(target="numpy")
    def twice(self, a):
        return a * 2


class Nameless:
    """A backend without a name."""

    def compile(self, graph):
        return None


def holding_itself():
    made = []
    made.append(made)
    return made


def change(owner, name, value=None):
    setattr(owner, name, value)


GRAPHS = [
    (lambda: x + np.ma.array([1.0]), ArgumentError, "cannot be a masked array", "filled"),
    (lambda: [[1], [1, 2]] * x, DomainError, "does not become a constant", "equal lengths"),
    (lambda: x.nonsense, UnsupportedAttributeError, "no attribute 'nonsense'", "Use NumPy"),
    (lambda: x.shap, UnsupportedAttributeError, "no attribute 'shap'", "'shape'"),
    (lambda: x.repeat(2), UnsupportedAttributeError, "NumPy's attribute 'repeat'", "np.repeat"),
    (lambda: x.item(0), UnsupportedAttributeError, "attribute 'item'", "without dimensions"),
    (lambda: delattr(graph, "inputs"), ImmutableGraphError, "inputs", "a new graph"),
    (lambda: delattr(x.type, "dtype"), ImmutableGraphError, "dtype", "with_dtype"),
    (
        lambda: change(rg.svd(rg.matrix("M"))[0].inputs[0].type, "items"),
        ImmutableGraphError,
        "items",
        "another",
    ),
    (lambda: graph.replace(x), ArgumentError, "missing 1 required", "each once"),
    (lambda: rg.tensor("t", shap=("n",)), ArgumentError, "'shap'", "shape="),
    (lambda: rg.vector("t", dtyp="float32"), ArgumentError, "'dtyp'", "dtype="),
    (rg.matrix, ArgumentError, "missing 1 required", "each once"),
    (lambda: rg.scalar("t", shape=()), ArgumentError, "'shape'", "Leave shape= out"),
    (lambda: rg.vectors("u v", shpe="n"), ArgumentError, "'shpe'", "shape="),
    (lambda: rg.tensor("t", object()), ArgumentError, "a shape is a tuple of sizes", "None"),
    (lambda: rg.tensor("t", 2.5), ArgumentError, "a shape is a tuple of sizes, not 2.5", "None"),
    (lambda: rg.assume(x, facts="positive"), ArgumentError, "'facts'", "by position"),
    (lambda: rg.assume(x, ["positive"]), DomainError, "there is no fact", "positive"),
    (lambda: rg.assume(x, "symmetric"), DomainError, "assume: x cannot be symmetric", "square"),
    (lambda: rg.specify_shape(x, None), ArgumentError, "a size for each axis, not None", "3, None"),
    (rg.Variable, ArgumentError, "Variable is not called", "rg.tensor"),
    (lambda: rg.Input("x", x.type), ArgumentError, "Input is not called", "rg.tensor"),
    (lambda: rg.Constant(3), ArgumentError, "Constant is not called", "rg.constant"),
    (lambda: rg.Apply(rg.exp, [x]), ArgumentError, "Apply is not called", "calling ops"),
    (lambda: rg.tensor("t", facts=3), ArgumentError, "the facts of 't' are names", "facts="),
    (lambda: rg.tensor("t", facts=None), ArgumentError, "the facts of 't' are names", "leave it"),
    (
        lambda: rg.tensor("t", facts=[["positive"]]),
        DomainError,
        r"no fact \['positive'\]",
        "positive",
    ),
    (lambda: rg.TensorType("float64", None), ArgumentError, "a tuple of sizes, not None", "()"),
    (lambda: rg.constant([[1], [2, 3]]), DomainError, "does not become a constant", "lengths"),
    (lambda: rg.constant("a", dtype="int8"), DomainError, "'a' does not become", "convert"),
    (lambda: rg.constant(np.nan, "int8"), DomainError, "nan does not become", "convert"),
    (lambda: rg.constant({}, "int8"), ArgumentError, "{} does not become", "convert"),
    (lambda: rg.constant(np.ma.array([1.0])), ArgumentError, "cannot be a masked array", "filled"),
    (lambda: rg.fact("x", "positive"), ArgumentError, "'x' is a str", "Pass a Variable"),
    (lambda: rg.fact(x, ["positive"]), DomainError, "there is no fact", "positive"),
    (lambda: rg.facts(ones), ArgumentError, "is an ndarray", "rg.constant"),
    (lambda: rg.flops(None), ArgumentError, "the outputs are graphs, not None", "a list of them"),
    (lambda: rg.dprint(3), ArgumentError, "the outputs are graphs, not 3", "a list of them"),
    (lambda: rg.pprint("x"), ArgumentError, "the outputs are graphs, not 'x'", "a list of them"),
    (lambda: rg.verify([x, 3]), ArgumentError, "output 1 is an int", "rg.constant"),
    (lambda: rg.lower([x]), ArgumentError, r"takes one graph, not \[x\]", "separately"),
    (lambda: rg.lower(3), ArgumentError, "takes one graph, not 3", "rg.constant"),
    (lambda: x + None, ArgumentError, "it is None", "NumPy arrays"),
    (rg.FunctionGraph, ArgumentError, "missing 2 required", "each once"),
    (lambda: rg.FunctionGraph([x], None), ArgumentError, "the outputs are graphs", "Variable"),
    (lambda: rg.FunctionGraph(3, [x]), ArgumentError, "the inputs are graphs, not 3", "Variable"),
    (lambda: graph.replace(x, None), ArgumentError, "None is None", "rg.constant"),
    (lambda: graph.replace([x], y), ArgumentError, r"\[x\] is a list", "replace\\(old, new"),
]

OPS = [
    (lambda: made_op(infer=lambda self, a: None)()(x), CompileError, "no type, but None", "infer"),
    (lambda: made_op(parameters=("p",))([1]), ArgumentError, "be hashable", "tuples for lists"),
    (lambda: rg.rewrite_graph(rg.exp(x), made_rewriter({3: x})), ArgumentError,
     r"a dict of nodes, not \{3: x\}", "node: replacement"),
    (lambda: rg.function([x], x, target=Nothing()), CompileError, "compiled to None", "compile"),
]  # fmt: skip

RELATIONS = [
    (lambda: double_addo(x, y, x), ArgumentError, r"Relation\(\) takes from 2 to 3", "each once"),
    (lambda: rg.eq(x), ArgumentError, "missing 1 required", "each once"),
    (lambda: rg.calco(x), ArgumentError, "missing 1 required", "each once"),
    (lambda: rg.mapo(double_addo), ArgumentError, "missing 2 required", "each once"),
    (lambda: rg.identity(lambda a: (a + a, 2 * a), tags=3), RelationError, "takes names",
     r"Write tags=\["),
    (rg.explain, ArgumentError, "missing 1 required", "each once"),
    (rg.profile_rewrites, ArgumentError, "missing 1 required", "each once"),
    (lambda: rg.explain(x + x, double_addo).to_html(3), ArgumentError, "not an int", "html"),
    (lambda: rg.catalogue(tag="a"), ArgumentError, "'tag'", "Leave tag= out"),
    (lambda: rg.check([double_addo], only=["double"]), UnknownTagError, "only= names 'double'",
     "'double_addo'"),
    (lambda: rg.check([double_addo], most=-1), ArgumentError, "not -1", "at least 0"),
    (lambda: rg.identity(3), RelationError, "takes a function of logic variables", "@rg.identity"),
    (lambda: rg.identity(int), RelationError, "not <class 'int'>", "@rg.identity"),
    (lambda: rg.relation(3), RelationError, "takes a function of both sides", "@rg.relation"),
    (lambda: rg.relation(rg.exp), RelationError, "both sides, not exp", "@rg.relation"),
    (lambda: rg.check(rg.exp), RelationError, "exp is not a relation", "@rg.identity"),
    (lambda: rg.check(double_addo, most=3), ArgumentError, "does not take most", "selection"),
    (lambda: rg.check([double_addo], mst=3), ArgumentError, "'mst'", "most="),
    (lambda: doubled(name=3), RelationError, "a name is a string, not 3", "Leave it out"),
    (lambda: doubled(tags=3), RelationError, "doubled: tags= takes names", 'tags=\\["a name"'),
    (lambda: doubled(tags=[3]), RelationError, r"not \[3\]", "tags="),
    (lambda: doubled(broadcast=True), RelationError, "broadcast= takes names", "broadcast="),
    (lambda: doubled(where=True), RelationError, "where= is a function, not True", "rg.positiveo"),
    (lambda: doubled(budget=True), RelationError, "budget=True", "positive integer"),
    (lambda: double_addo(x), ArgumentError, "relates two sides, and one is", "rewrite_graph"),
    (lambda: double_addo.run(1, lhs=x), ArgumentError, "'lhs'", "Leave lhs= out"),
    (lambda: rg.calco(x, 3), ArgumentError, "the result first, then a function, not 3", "result,"),
    (lambda: rg.checko("positive", x), ArgumentError, "a function, not 'positive'", "function, a"),
    (lambda: rg.mapo(3, [x], [y]), ArgumentError, "mapo takes a function, not 3", "rg.mapo"),
    (lambda: rg.facto(x, ["positive"]), DomainError, "there is no fact", "positive"),
    (lambda: rg.relation(rg.eq, tag="t"), ArgumentError, "'tag'", "tags="),
    (lambda: rg.rewrite_graph(x, inclde="a"), ArgumentError, "'inclde'", "include="),
    (rg.rewrite_graph, ArgumentError, "missing 1 required", "each once"),
    (lambda: rg.explain(x, mod="o4"), ArgumentError, "'mod'", "mode="),
    (lambda: rg.why_not(x, double_addo, modes="o4"), ArgumentError, "'modes'", "mode="),
    (lambda: rg.why_not(x, double_addo, mode="o9"), UnknownTagError, "'o9'", "'o5'"),
    (lambda: rg.why_not(x, double_addo, nonfinite="k"), ArgumentError, "'keep'", "finite values"),
    (lambda: rg.why_not(x, 3), ArgumentError, "no relation", "rg.identity"),
    (lambda: rg.why_not([], double_addo), ArgumentError, "has none", "at least one"),
    (lambda: rg.why_not(x, "log1p_add"), UnknownTagError, "'log1p_add'", "log1p_addo"),
    (lambda: rg.why_not(x, rg.optdb["merge"]), ArgumentError, "a rewriter", "rg.explain"),
    (lambda: rg.rewrite_graph(3), ArgumentError, "this is an int, not a graph", "a Variable"),
    (lambda: rg.explain(rg.jit(plain)), ArgumentError, "a Jit, not", r"f.graph\(\*arguments\)"),
    (lambda: rg.explain(plain), ArgumentError, "not a graph", r"jit\(f\).graph\(\*"),
    (lambda: rg.rewrite_graph(rg.function([x], x)), ArgumentError, "a Function, not", "f.graph."),
    (lambda: rg.why_not(rg.jit(plain), double_addo), ArgumentError, "each sign", r"f.graph\(\*"),
    (lambda: rg.draw(rg.jit(plain)), ArgumentError, "each signature", r"f.graph\(\*"),
    (lambda: rg.draw(plain), ArgumentError, "are graphs", r"jit\(f\).graph\(\*"),
    (lambda: rg.GraphRewriter([double_addo], max_use_ratio="1"), ArgumentError,
     "is a positive number, not '1'", "or None"),
    (lambda: rg.GraphRewriter([double_addo], max_use_ratio=True), ArgumentError,
     "is a positive number, not True", "or None"),
    (lambda: rg.GraphRewriter([double_addo], max_ratio=1), ArgumentError,
     "'max_ratio'", "max_use_ratio="),
    (lambda: rg.EquilibriumGraphRewriter([double_addo], max_ratio=1), ArgumentError,
     "'max_ratio'", "max_use_ratio="),
    (lambda: rg.WalkingGraphRewriter(double_addo, order="in"), ArgumentError, "'order'", "Leave"),
    (lambda: rg.SequentialGraphRewriter(double_addo, nme="a"), ArgumentError, "'nme'", "name="),
    (lambda: rg.GraphRewriter([double_addo]).apply(x), ArgumentError,
     "apply takes a FunctionGraph, not x", "rewrite\\(graph\\)"),
    (lambda: rg.SubstitutionNodeRewriter(rg.exp), ArgumentError, "'op2'", "each once"),
    (lambda: rg.RemovalNodeRewriter(rg.exp, nme="a"), ArgumentError, "'nme'", "name="),
    (lambda: rg.PatternNodeRewriter((rg.exp, "x"), "x", wher=1), ArgumentError, "wher", "where="),
    (lambda: rg.PatternNodeRewriter((rg.exp, "x", "y"), "x"), PatternError,
     "exp takes 1 operand, and the pattern gives it 2", "as many"),
    (lambda: rg.PatternNodeRewriter((rg.add, "x"), "x"), PatternError,
     "add takes 2 operands, and the pattern gives it 1", "as many"),
]  # fmt: skip

DATABASES = [
    (rg.Query, ArgumentError, "missing 1 required", "each once"),
    (lambda: rg.Query(["a"], exlude=["b"]), ArgumentError, "'exlude'", "exclude="),
    (lambda: rg.Query(["a"], subquery=["b"]), ArgumentError, "subquery= is a dict", "rg.Query"),
    (lambda: delattr(rg.Query(["a"]), "include"), ImmutableGraphError, "include", "including"),
    (lambda: change(rg.Query(["a"]), "include"), ImmutableGraphError, "include", "including"),
    (rg.Query(["a"]).subquery.clear, ImmutableGraphError, "subqueries", "new query"),
    (lambda: rg.mode("o4", non_finite="keep"), ArgumentError, "'non_finite'", "nonfinite="),
    (lambda: rg.SequenceDB(3), ArgumentError, "the name of a database is a string", "SequenceDB"),
    (lambda: rg.SequenceDB("m").register(double_addo, nme="a"), ArgumentError, "'nme'", "name="),
    (lambda: rg.SequenceDB("m").register(double_addo, name=3), ArgumentError, "not 3", "name="),
    (lambda: rg.SequenceDB("m").register(double_addo, position="first"), ArgumentError,
     "a position is a finite number, not 'first'", "position=2.5"),
    (lambda: rg.SequenceDB("m").register(double_addo, position=np.nan), ArgumentError,
     "a position is a finite number, not nan", "position=2.5"),
    (lambda: rg.SequenceDB("m")[["a"]], ArgumentError, "name is a string", "database\\['name'\\]"),
    (lambda: rg.RewriteDatabase("m").query(), NotOverriddenError, "database m", "EquilibriumDB"),
]  # fmt: skip

CALLS = [
    (lambda: rg.function([x], x, traget="cpu"), ArgumentError, "'traget'", "target="),
    (lambda: rg.function([x], None), ArgumentError, "the outputs are None", "a Variable"),
    (lambda: rg.Function(x, None), ArgumentError, "a FunctionGraph, not x", "rg.function"),
    (lambda: rg.evaluate(x, [1.0]), ArgumentError, "the values are a list", "evaluate\\(graph"),
    (lambda: rg.evaluate(x, x=[1.0]), ArgumentError, "keyword argument 'x'", "Leave x= out"),
    (lambda: added()(x, y), ArgumentError, "the input 'x' is a graph", "as a whole"),
    (lambda: jitted(lambda a: added()(a, a))(ones), ArgumentError, "is a graph", "as a whole"),
    (lambda: added()({1.0}, ones), ArgumentError, "is a set, not an array", "Pass an array"),
    (lambda: integers()([2**70]), NumberRangeError, "does not fit int64", "wider dtype"),
    (lambda: truths()([2**70]), ArgumentError, "is a list, not an array", "list of numbers"),
    (lambda: integers()(["a", "b"]), ArgumentError, "is a list, not an array", "list of numbers"),
    (lambda: added()(ones, ones, out=3), ArgumentError, "is an int, not an array", "np.empty"),
    (lambda: rg.jit(abs, target="gpuu"), DomainError, "no target 'gpuu'", "targets"),
    (lambda: rg.jit(abs, static=0), ArgumentError, "'static'", "Leave static= out"),
    (jitted(lambda a: a), ArgumentError, "missing 1 required", "each once"),
    (lambda: jitted(lambda a: a)(1, 2), ArgumentError, "takes 1 positional", "each once"),
    (lambda: jitted(lambda a: a)(ones, out=ones), ArgumentError, "'out'", "donate="),
    (lambda: jitted(lambda a: a)(holding_itself()), ArgumentError, "holds itself", "containers"),
    (lambda: jitted(lambda a: a)(x), ArgumentError, "is an Input", "rg.function"),
    (lambda: jitted(lambda a: a)(scipy.sparse.eye_array(2)), ArgumentError, "traced", "toarray"),
    (lambda: jitted(lambda a: a.zzzz)(ones), UnsupportedAttributeError, "'zzzz'", "Use NumPy"),
    (lambda: jitted(lambda a: a.shap)(ones), UnsupportedAttributeError, "'shap'", "'shape'"),
    (lambda: jitted(lambda a: {1})(ones), ArgumentError, "returned a set", "Return arrays"),
    (
        lambda: jitted(assigning)(ones),
        ArgumentError,
        "a traced array into one of NumPy",
        "np.zeros",
    ),
    (lambda: Doubling().twice(), ArgumentError, "twice cannot be called", "each once"),
    (lambda: rg.function([x], x, target=Nameless()), ArgumentError, "nor a backend", "name and"),
    (lambda: rg.config(3), ArgumentError, r"Config\(\) takes 1 positional", "by its name"),
    (lambda: rg.config.thread, UnsupportedAttributeError, "no setting 'thread'", "'threads'"),
    (lambda: rg.config.on_change(3), ArgumentError, "a function, not an int", "without param"),
    (lambda: rg.cache.size, UnsupportedAttributeError, "relgraph.cache has no size", "info()"),
    (lambda: rg.cache.clear(1), ArgumentError, "takes 0 positional", "each once"),
    (rg.Function, ArgumentError, r"Function\(\) missing 2", "each once"),
    (lambda: rg.function([x], [[x]]), ArgumentError, "output 0 is a list", "side by side"),
    (lambda: rg.function([x], x, mode=None, nonfinite="no"), ArgumentError, "not 'no'", "'keep'"),
    (lambda: rg.config(cache_limit=0.5), DomainError, "number of bytes", "512"),
    (lambda: rg.config(arena_limit=2**62), DomainError, "integer from 0", "arena_limit=512"),
    (lambda: delattr(rg.config, "threads"), ArgumentError, "cannot be deleted", "Set it"),
]


@pytest.mark.parametrize(
    ("call", "kind", "what", "fix"), [*GRAPHS, *OPS, *RELATIONS, *DATABASES, *CALLS]
)
def test_a_wrong_call_says_what_is_wrong_and_how_to_mend_it(call, kind, what, fix):
    with pytest.raises(kind, match=what) as caught:
        call()
    assert type(caught.value) is kind
    assert re.search(fix, caught.value.fix)


def test_an_error_of_a_function_that_is_called_rightly_stays_as_it_is():
    def faulty(a):
        return a + len(3)

    with pytest.raises(TypeError, match="has no len") as caught:
        rg.identity(faulty)
    assert not isinstance(caught.value, ArgumentError)
    with pytest.raises(TypeError, match="has no len") as caught:
        jitted(faulty)(ones)
    assert not isinstance(caught.value, ArgumentError)


def test_recursion_that_ends_is_traced():
    @jitted
    def power(a, n):
        return a if n == 1 else a * power(a, n - 1)

    np.testing.assert_array_equal(power(np.array([2.0, 3.0]), 5), [32.0, 243.0])

    @jitted
    def endless(a):
        return other(a + 1)

    def other(a):
        return endless(a)

    with pytest.raises(CompileError, match="tracing endless does not end"):
        endless(ones)


def test_a_partial_function_declares_an_identity():
    shifted = functools.partial(lambda number, a: (a + number, number + a + 0), 1)
    assert rg.identity(shifted, name="shifto").name == "shifto"
    assert rg.identity(shifted).name == "identity"


def test_looking_for_what_is_no_name():
    assert ["a"] not in rg.SequenceDB("m")
    assert 3 not in rg.SequenceDB("m")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "an int"),
        (None, "None"),
        ("a", "a str"),
        (len, "a builtin_function_or_method"),
        (x, "an Input"),
    ],
)
def test_what_a_value_is(value, text):
    assert kind_of(value) == text
