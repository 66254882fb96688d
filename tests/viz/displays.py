"""One object of each kind that displays itself, by name, for the snapshots and the notebook."""

import relgraph as rg
from relgraph.ir.statements import SHOWN
from tests.samples import distribute_matmulo

A, B = rg.matrices("A B", shape=("n", "n"))
x, y = rg.vectors("x y", shape=("n",))
weight = rg.vector("weight", shape=("n",), facts=["positive"])


@rg.identity(where=lambda x, y: (rg.positiveo(x), rg.positiveo(y)), tags="log")
def split_logo(x, y):
    """log(x y) = log(x) + log(y)."""
    return rg.log(x * y), rg.log(x) + rg.log(y)


@rg.identity
def wrong_logo(x):
    """log(x^2) = 2 log(x), which is false of negative numbers."""
    return rg.log(rg.square(x)), 2 * rg.log(x)


@rg.identity(rounding="exact")
def cancel_negativeo(x):
    """-(-x) = x."""
    return rg.negative(rg.negative(x)), x


@rg.relation
def cos_oppositeo(left, right):
    """cos(-x) = cos(x)."""
    (v,) = rg.lvars("v")
    return rg.lall(rg.eq(left, rg.cos(rg.negative(v))), rg.eq(right, rg.cos(v)))


def shared():
    """Return a graph with shared nodes, a fraction, roots and powers."""
    t = rg.exp(A @ x + 1e-5)
    return t / rg.sqrt(weight) + rg.inv(A.mT) @ t**2 - abs(-x)


def recurrence():
    """Return a graph with a loop."""

    def step(c, x):
        c = rg.tanh(A @ c) + x * rg.sum(y)
        return c / rg.sum(c), rg.log(rg.sum(rg.exp(c)))

    return rg.sum(rg.scan(step, y, x)[1])


def long():
    """Return a graph of more statements than are shown."""
    v = x
    for _ in range(SHOWN + 20):
        v = rg.sin(v * v)
    return v


def mixed():
    """Return a graph in which relations of several kinds fire."""
    t = rg.softmax(A @ x)
    loss = rg.log(1 + rg.exp(t * rg.sqrt(rg.exp(y) + 1) / rg.exp(y)))
    return loss * rg.exp(rg.log(rg.exp(t + rg.mean(x)))) - A @ x - A @ y


def nested(steps):
    """Return a graph whose rewriting takes three steps for each level."""
    v = x
    for i in range(steps // 3):
        v = rg.log(rg.exp(v * (i + 1) + y)) / (i + 2)
    return v


DISPLAYS = {
    "an input": lambda: weight,
    "a graph": shared,
    "a graph of two outputs": lambda: rg.FunctionGraph([x, y], [rg.exp(x) + y, rg.log(rg.exp(x))]),
    "a long graph": long,
    "a tree": lambda: rg.dprint(rg.exp(x) + x),
    "statements": lambda: rg.pprint(rg.exp(x) * rg.exp(x)),
    "a loop": recurrence,
    "a tree of a loop": lambda: rg.dprint(recurrence()),
    "an identity": lambda: split_logo,
    "an identity, reversed": lambda: split_logo.reversed,
    "a relation by kanren": lambda: cos_oppositeo,
    "a check that fails": lambda: rg.check(wrong_logo),
    "a check that passes": lambda: rg.check(cancel_negativeo),
    "a derivation": lambda: rg.explain(mixed(), mode="o4"),
    "a derivation with what was not used": lambda: rg.explain(x + y, distribute_matmulo),
    "a derivation of many steps": lambda: rg.explain(nested(240), mode="fast_run"),
    "a profile": lambda: rg.profile_rewrites(rg.log(rg.exp(x)) * rg.log(rg.exp(y)), mode="o4"),
    "why a relation does not fire": lambda: rg.why_not(rg.log(x * y), split_logo),
    "where a relation fires": lambda: rg.why_not(rg.log(weight * weight), split_logo),
    "a query": lambda: rg.Query(["fast_run"], exclude="a", subquery={"b": rg.Query(["c"])}),
    "a catalogue": lambda: rg.catalogue("trace_transposeo"),
    "an empty catalogue": lambda: rg.catalogue("softmux"),
    "a function": lambda: rg.function([A, x], rg.softmax(A @ x), target="numpy"),
    "a picture": lambda: rg.draw(rg.exp(x) + x),
    "a cost": lambda: rg.cost(A @ x),
    "a proof": lambda: rg.prove(rg.inv(A @ B), rg.inv(B) @ rg.inv(A)),
}
