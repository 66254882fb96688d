"""The verifier of the loop language: functions that break a rule, each near one that does not."""

import numpy as np
import pytest

from relgraph.errors import VerifyError
from relgraph.lowering.loops.nodes import (
    Buffer,
    Carry,
    Function,
    If,
    Let,
    Load,
    Loop,
    Op,
    Result,
    Store,
    Var,
    While,
    const,
    index,
)
from relgraph.lowering.loops.verify import verify
from relgraph.ops.elementwise import add, exp

N = Var("n", "int64")
i, j, a, b, c, t = (Var(name, dtype) for name, dtype in [
    ("i", "int64"), ("j", "int64"), ("a", "float64"), ("b", "float64"), ("c", "float64"),
    ("t", "bool"),
])  # fmt: skip
ZERO, ONE, TWO = index(0), index(1), index(2)
ZEROF, ONEF = (const(x, "float64") for x in (0.0, 1.0))
X, Y = (Buffer(name, "float64", (N,)) for name in "xy")
M = Buffer("m", "float64", (N, N))
STACK = Buffer("s", "float64", (index(4),), "stack")
FLAG = Buffer("flag", "int64", (ONE,))


def plus(x, y):
    return Op("add", (x, y), "int64")


def function(*body):
    return Function("f", (N,), (X, Y, M, FLAG), body)


def loop(*body, carried=(), apart=True, var=i):
    return Loop(var, ZERO, N, body, carried, apart)


def copied(to=i, start=i):
    return Store(Y, (to,), Load(X, (start,)))


GOOD = {
    "a copy": [loop(copied())],
    "a let": [Let(a, ONEF), Store(X, (ZERO,), a)],
    "nested": [loop(loop(Store(M, (i, j), Load(M, (i, j))), var=j))],
    "shifted": [loop(Let(j, plus(i, ONE)), Store(X, (j,), Load(X, (plus(ONE, i),))))],
    "a total": [
        loop(carried=(Carry(a, ZEROF, Op("sum", (a, Load(X, (i,))), "float64")),)),
        Store(X, (ZERO,), a),
    ],
    "in order": [loop(Store(X, (i,), Load(X, (plus(i, ONE),))), apart=False)],
    "a flag": [loop(If(Op("less", (i, ONE), "bool"), (Store(FLAG, (ZERO,), ONE),), ()))],
    "columns": [loop(loop(Store(M, (j, i), Load(X, (i,))), var=j))],
    "a stack": [Store(STACK, (index(3),), ONEF)],
    "branches": [
        If(
            Op("less", (N, ONE), "bool"),
            (Let(a, ONEF),),
            (),
            (Result(b, a, const(2.0, "float64")),),
        ),
        Store(X, (ZERO,), b),
    ],
    "while": [
        While(
            (Carry(a, ONEF, Op(add, (a, a), "float64")),),
            (Let(t, Op("less", (ZERO, N), "bool")),),
            t,
            (),
        ),
        Store(X, (ZERO,), a),
    ],
}


@pytest.mark.parametrize("name", GOOD)
def test_a_function_that_keeps_the_rules(name):
    verify(function(*GOOD[name]))


BAD = {
    "a variable that is bound twice": ["bound twice", Let(a, ONEF), Let(a, ONEF)],
    "a name before it has a value": ["no value", Store(X, (ZERO,), a), Let(a, ZEROF)],
    "a name after its block": ["no value", loop(Let(a, ZEROF)), Store(X, (ZERO,), a)],
    "an index after its loop": ["no value", loop(copied()), copied()],
    "a name of one branch": [
        "no value",
        If(Op("less", (N, ONE), "bool"), (Let(a, ONEF),), ()),
        Store(X, (ZERO,), a),
    ],
    "a name of a head": [
        "no value",
        While((), (Let(t, Op("less", (ZERO, N), "bool")),), t, ()),
        If(t, (), ()),
    ],
    "a start that is the variable": [
        "no value",
        loop(carried=(Carry(a, a, Op("sum", (a, a), "float64")),)),
    ],
    "a value of another dtype": ["int64 stands where a float64", Store(X, (ZERO,), ONE)],
    "an index that is a float": ["float64 stands where a int64", Store(X, (ZEROF,), ZEROF)],
    "a test that is no truth": ["stands where a bool", If(N, (), ())],
    "a let of another dtype": ["is bound to", Let(Var("q", "float32"), ZEROF)],
    "an op of another dtype": [
        "exp is of float64",
        Let(Var("q", "float32"), Op(exp, (ZEROF,), "float32")),
    ],
    "a sum of integers": ["'sum' of int64", Let(j, Op("sum", (N, N), "int64"))],
    "a select of other dtypes": [
        "'select'",
        Let(j, Op("select", (const(True, "bool"), N, ZEROF), "int64")),
    ],
    "an unknown op": ["no op 'power'", Let(j, Op("power", (N, N), "int64"))],
    "too few indices": ["1 index", Store(M, (ZERO,), ZEROF)],
    "a stack whose size varies": [
        "its size varies",
        Store(Buffer("s", "float64", (N,), "stack"), (ZERO,), ZEROF),
    ],
    "an element that a stack does not have": ["has no element", Store(STACK, (index(4),), ZEROF)],
    "a buffer of nobody": ["or nowhere", Store(Buffer("z", "float64", (N,)), (ZERO,), ZEROF)],
    "a neighbour": ["may touch", loop(Store(X, (i,), Load(X, (plus(i, ONE),))))],
    "one place": ["may touch", loop(Store(X, (ZERO,), Load(Y, (i,))))],
    "a flag that differs": ["may touch", loop(Store(FLAG, (ZERO,), i))],
    "an index from memory": [
        "may touch",
        loop(Let(j, Load(FLAG, (ZERO,))), Store(X, (j,), Load(Y, (i,)))),
    ],
    "a transposition in place": ["may touch", loop(loop(Store(M, (i, j), Load(M, (j, i))), var=j))],
    "a quotient": [
        "may touch",
        loop(Let(j, Op("div", (i, TWO), "int64")), Store(X, (j,), Load(Y, (i,)))),
    ],
    "no step": [
        "may touch",
        loop(Let(j, Op("sub", (i, i), "int64")), Store(X, (j,), Load(Y, (i,)))),
    ],
    "a carry that is no total": ["is no total", loop(carried=(Carry(a, ZEROF, Load(X, (i,))),))],
    "a total that is read": [
        "reads the total",
        loop(
            Store(Y, (i,), a), carried=(Carry(a, ZEROF, Op("sum", (a, Load(X, (i,))), "float64")),)
        ),
    ],
}


@pytest.mark.parametrize("name", BAD)
def test_a_function_that_breaks_a_rule(name):
    problem, *body = BAD[name]
    with pytest.raises(VerifyError, match=problem) as raised:
        verify(function(*body))
    assert "function : f" in str(raised.value)


def test_arrays_have_names_of_their_own():
    with pytest.raises(VerifyError, match="the name of another one"):
        verify(Function("f", (), (X, Buffer("x", "float32", (ONE,))), ()))


def test_nodes_are_interned_and_immutable():
    assert const(1.0, "float64") is const(np.float32(1.0), "float64")
    assert const(0.0, "float64") is not const(-0.0, "float64")
    with pytest.raises(AttributeError, match="immutable"):
        i.name = "k"
