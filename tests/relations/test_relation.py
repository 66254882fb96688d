"""Relations: one declaration, its directions, blocks, queries and refusals."""

from __future__ import annotations

import traceback

import kanren
import numpy as np
import pytest
from unification import var

import relgraph as rg
from relgraph.errors import NotInvertibleError, RelationError, UnboundVariableError
from relgraph.relations.clause import with_block
from relgraph.relations.decorators import as_relation
from relgraph.relations.pattern import Block
from tests.samples import double_addo

x, y, z = rg.vectors("x y z", shape=("n",))
A, B = rg.matrices("A B", shape=("n", "n"))
pos = rg.vector("pos", shape=("n",), facts="positive")


@rg.identity(tags=["canonicalize"], rounding="rounded")
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@rg.identity(where=lambda x: (rg.nonnegativeo(x),))
def sqrt_squareo(x):
    """sqrt(x)^2 = x for x >= 0."""
    return rg.sqrt(x) ** 2, x


def test_a_declaration_keeps_what_it_says():
    assert distribute_matmulo.name == distribute_matmulo.label == "distribute_matmulo"
    assert distribute_matmulo.tags == ("canonicalize",)
    assert distribute_matmulo.doc == "X (Y + Z) = X Y + X Z."
    assert distribute_matmulo.location.startswith("test_relation.py:")
    assert str(distribute_matmulo) == "distribute_matmulo: X @ (Y + Z) = X @ Y + X @ Z"
    assert str(sqrt_squareo) == "sqrt_squareo: sqrt(x) ** 2 = x  where nonnegative(x)"
    assert repr(distribute_matmulo.reversed) == "<relation distribute_matmulo.reversed>"
    assert str(double_addo.reversed) == "double_addo.reversed: 2 * x = x + x"


def test_reversing_twice_is_the_relation():
    assert distribute_matmulo.reversed.reversed is distribute_matmulo
    assert distribute_matmulo.reversed is distribute_matmulo.reversed


def test_both_directions_rewrite():
    assert rg.rewrite_graph(A @ (x + y), distribute_matmulo) is A @ x + A @ y
    assert rg.rewrite_graph(A @ x + A @ y, distribute_matmulo.reversed) is A @ (x + y)
    assert rg.rewrite_graph(x + x, double_addo) is 2 * x
    assert rg.rewrite_graph(2 * x, double_addo.reversed) is x + x


def test_guards_are_proved():
    assert rg.rewrite_graph(rg.sqrt(pos) ** 2, sqrt_squareo) is pos
    graph = rg.sqrt(x) ** 2
    assert rg.rewrite_graph(graph, sqrt_squareo) is graph


def test_a_mapped_context_is_a_block():
    clause = with_block(distribute_matmulo.clauses[0])
    assert isinstance(clause.right, Block)
    assert str(clause) == "X @ (Y + ...) = X @ Y + ..."
    assert str(distribute_matmulo.rewrites[0]) == "X @ (Y + ...) -> X @ Y + ..."
    many = [rg.vector(f"v{i}", shape=("n",)) for i in range(6)]
    apart = rg.add(*(A @ v for v in many))
    assert rg.rewrite_graph(apart, distribute_matmulo.reversed) is A @ rg.add(*many)
    assert rg.rewrite_graph(A @ rg.add(*many), distribute_matmulo) is apart


@pytest.mark.parametrize(
    "sides",
    [
        lambda a, b, c: (a @ (b + c), a @ b + a @ b),
        lambda a, b, c: (b @ (b + c), b @ b + b @ c),
        lambda a, b, c: (a * (b - c), a * b - a * c),
        lambda a, b, c: (rg.exp(a + b), rg.exp(a) * rg.exp(b) * 1),
        lambda a, b, c: (a + b + c, a * b * c),
    ],
)
def test_other_clauses_are_not_blocks(sides):
    clause = rg.identity(sides, name="o").clauses[0]
    assert with_block(clause) is clause


def test_a_context_may_change_the_sum_to_a_product():
    clause = rg.identity(lambda a, b: (rg.exp(a + b), rg.exp(a) * rg.exp(b)), name="o").clauses[0]
    assert str(with_block(clause)) == "exp(a + ...) = exp(a) * ..."


def test_queries():
    (made,) = distribute_matmulo.run(1, A @ (x + y))
    assert made is A @ x + A @ y
    assert distribute_matmulo.run(1, None, A @ x + A @ y) == (A @ (x + y),)
    assert distribute_matmulo.run(None, x + y) == ()
    assert distribute_matmulo.reversed.run(1, A @ x + A @ y) == (A @ (x + y),)
    ((left, right),) = double_addo.run(1)
    assert "add" in repr(left)
    assert "multiply" in repr(right)
    assert len(sqrt_squareo.run(1, rg.sqrt(pos) ** 2, pos)) == 1
    assert sqrt_squareo.run(1, rg.sqrt(x) ** 2, x) == ()


def test_relations_are_goals_of_kanren():
    a = var()
    (made,) = kanren.run(0, a, double_addo(x + x, a))
    assert rg.raise_(made) is 2 * x
    assert kanren.run(0, a, double_addo(x + y, a)) == ()
    # Two uses of one relation share no variables.
    b = var()
    (made,) = kanren.run(0, b, double_addo(x + x, a), double_addo(y + y, b))
    assert rg.raise_(made) is 2 * y


@pytest.mark.parametrize(
    ("sides", "text"),
    [
        (lambda v: (v + 0, v), "bare variable"),
        (lambda v: (v - v, 0), "a number"),
    ],
)
def test_invalid_directions_raise(sides, text):
    relation = rg.identity(sides, name="o")
    assert relation.rewrites
    for _ in range(2):
        with pytest.raises(NotInvertibleError, match=text):
            relation.reversed


def test_a_variable_that_only_one_side_has():
    relation = rg.identity(lambda u, v: (u * 1 + 0 * v, u * 1), name="o")
    assert relation.rewrites
    with pytest.raises(UnboundVariableError, match="nothing binds v"):
        relation.reversed
    with pytest.raises(UnboundVariableError, match="nothing binds v"):
        rg.identity(lambda u, v: (rg.exp(u), rg.log(v)), name="o")


def test_computed_values_cannot_be_inverted():
    relation = rg.identity(
        lambda u, k, m: (u**k, rg.exp(u * m)),
        name="o",
        where=lambda k, m: rg.calco(m, lambda k: k * 2, k),
    )
    assert relation.rewrites
    with pytest.raises(NotInvertibleError, match="computed backwards"):
        relation.reversed


def declared(doc, *conditions, **labels):
    """Return the docstring of log(exp(a)) = a and exp(log(a)) = a, declared with conditions."""

    def statement(a):
        yield rg.log(rg.exp(a)), a, [condition(a) for condition in conditions[:1]]
        yield rg.exp(rg.log(a)), a, [condition(a) for condition in conditions[-1:]]

    statement.__doc__ = doc
    return rg.identity(statement, **labels).__doc__


def test_a_docstring_says_where_a_relation_holds():
    law = "log(e^a) = a."
    finite = {"rounding": "exact", "specials": "assumes_finite"}
    for docstring, sentence in (
        (declared(law), "Holds always; rounded, kept."),
        (declared(law, **finite), "Holds where all values are finite; exact, assumes_finite."),
        (declared(law, rg.floato), "Holds where float(a); rounded, kept."),
        (
            declared(law, rg.floato, rg.positiveo),
            "Holds where the condition of each pair does; rounded, kept.",
        ),
    ):
        assert docstring == f"{law}\n\n{sentence}"
    assert declared("") == ""


def test_a_docstring_keeps_what_its_declaration_says():
    doc = """log(e^a) = a.

    Holds where a is
    at least 0.5.
    More of it.
    Source: a book.
    """
    assert declared(doc).splitlines() == [
        "log(e^a) = a.",
        "",
        "    Holds where a is at least 0.5; rounded, kept.",
        "    More of it.",
        "    Source: a book.",
    ]
    sentence = "    Holds where a is at least 0.5, given float(a); rounded, kept."
    assert declared(doc, rg.floato).splitlines()[2] == sentence


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: rg.identity(lambda v: v, name="o"), "must return its two sides"),
        (lambda: rg.identity(lambda v: (v, v, v), name="o"), "must return its two sides"),
        (lambda: rg.identity(lambda v: (rg.exp(v), "text"), name="o"), "pattern or a number"),
        (
            lambda: rg.identity(lambda v: (rg.exp(v), rg.exp(v)), name="o"),
            "both sides are the same",
        ),
        (lambda: rg.identity(lambda v: (v + 0, v), name="o", where=lambda w: w), "asks for w"),
        (lambda: rg.identity(lambda v: (v + 0, v), name="o", where=lambda v: v), "side conditions"),
        (lambda: rg.identity(lambda v: (v + 0, v), name="o", rounding="about"), "not a label"),
        (lambda: rg.identity(lambda v: (v + 0, v), name="o", specials="lost"), "not a label"),
        (lambda: as_relation(3), "is not a relation"),
        (lambda: as_relation(int), "is not a relation"),
    ],
)
def test_invalid_declarations_raise(declare, text):
    with pytest.raises(RelationError, match=text):
        declare()


def test_a_refusal_is_a_new_error_each_time():
    """One error raised again and again would keep the frames of all its tracebacks alive."""
    refused = rg.identity(lambda u: (u, rg.exp(rg.log(u))), name="backo")
    found = []
    for _ in range(3):
        with pytest.raises(NotInvertibleError, match="backo cannot run forward") as e:
            refused.rewrites
        found.append(e.value)
    assert len({id(error) for error in found}) == 3
    assert len({len(traceback.extract_tb(error.__traceback__)) for error in found}) == 1
    assert len({str(error) for error in found}) == 1
    assert "exp(log(u))" in str(found[0])


def test_rewriting_keeps_the_value():
    rng = np.random.default_rng(1)
    a, u, v = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)
    graph = rg.rewrite_graph(A @ (x + y), distribute_matmulo)
    np.testing.assert_allclose(rg.evaluate(graph, {A: a, x: u, y: v}), a @ (u + v), rtol=1e-12)


def test_a_query_has_no_answer_that_no_op_takes():
    @rg.identity(specials="assumes_finite")
    def trace_of_producto(X, Y):
        return rg.trace(X @ rg.matrix_transpose(Y)), rg.sum(X * Y)

    a, b = rg.vectors("a b", shape=("n",))
    A, B = rg.matrices("A B", shape=("n", "n"))
    assert trace_of_producto.run(None, None, rg.sum(a * b)) == ()
    assert trace_of_producto.run(1, None, rg.sum(A * B)) == (rg.trace(A @ rg.matrix_transpose(B)),)
