"""Programs with loops, run by plain Python on NumPy's arrays, or by relgraph.

A program takes a namespace of loops, ``rg`` or :class:`Plain`, and its arrays.
"""

import numpy as np

import relgraph as rg
from tests.api.traced_functions import assert_same

NAMED = ("n", "m", "k")


def leaves(tree):
    """Return the arrays of a container, in order."""
    if isinstance(tree, dict):
        return [x for key in sorted(tree) for x in leaves(tree[key])]
    if isinstance(tree, tuple | list):
        return [x for y in tree for x in leaves(y)]
    return [] if tree is None else [tree]


def mapped(function, *trees):
    """Return a container like the first, of a function of the leaves."""
    first = trees[0]
    if isinstance(first, dict):
        return {k: mapped(function, *[t[k] for t in trees]) for k in first}
    if isinstance(first, tuple | list):
        values = [mapped(function, *xs) for xs in zip(*trees, strict=True)]
        return type(first)(*values) if hasattr(first, "_fields") else type(first)(values)
    return None if first is None else function(*trees)


def _copied(tree):
    return mapped(lambda x: np.array(x) if isinstance(x, np.ndarray) else x, tree)


class Plain:
    """The loops, as JAX's documentation defines them."""

    @staticmethod
    def scan(f, init, xs=None, length=None, reverse=False):
        count = len(leaves(xs)[0]) if leaves(xs) else int(length)
        carry, ys = _copied(init), []
        for i in reversed(range(count)) if reverse else range(count):
            carry, y = f(_copied(carry), mapped(lambda x, i=i: np.array(x[i])[()], xs))
            ys.append(_copied(y))
        if reverse:
            ys.reverse()
        return carry, mapped(lambda *x: np.stack(x), *ys) if ys else None

    @staticmethod
    def fori_loop(lower, upper, body_fun, init_val):
        value = _copied(init_val)
        for i in range(int(lower), int(upper)):
            value = body_fun(np.int64(i), _copied(value))
        return value

    @staticmethod
    def while_loop(cond_fun, body_fun, init_val):
        value = _copied(init_val)
        while cond_fun(value):
            value = body_fun(_copied(value))
        return value

    @staticmethod
    def cond(pred, true_fun, false_fun, *operands):
        return (true_fun if pred else false_fun)(*_copied(operands))


def agree(found, expected, rtol=1e-10):
    """Check containers of arrays: structure, dtypes and values."""
    a, b = leaves(found), leaves(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        assert_same(np.asarray(x), np.asarray(y), rtol=rtol)


def variables(arrays, sizes):
    """Return an input for each array, whose sizes are known, named or unknown."""
    names = {}
    inputs = []
    for k, x in enumerate(map(np.asarray, arrays)):
        shape = {
            "known": x.shape,
            "named": tuple([names.setdefault(n, f"n{n}") for n in x.shape]),
            "unknown": (None,) * x.ndim,
        }[sizes]
        inputs.append(rg.tensor(f"x{k}", shape, x.dtype.name))
    return inputs


def check(program, *arrays, sizes=("known", "named", "unknown"), eager=True, rtol=1e-10):
    """Compare a program with plain Python: on arrays, traced, and as a graph on two targets.

    ``eager`` is False for programs whose bodies write to arrays of the closure, and ``sizes`` are
    those with which the program can be a graph.
    """
    before = _copied(list(arrays))
    with np.errstate(all="ignore"):
        expected = program(Plain, *_copied(list(arrays)))
    if eager:
        agree(program(rg, *arrays), expected, rtol)
    jitted = rg.jit(lambda *xs: program(rg, *xs))
    for _ in range(2):
        agree(jitted(*arrays), expected, rtol)
    for kind in sizes:
        inputs = variables(arrays, kind)
        outputs = leaves(program(rg, *inputs))
        for target in ("cpu", "numpy"):
            found = rg.function(inputs, outputs, target=target)(*arrays)
            agree(found, leaves(expected), rtol)
    agree(list(arrays), before)


__all__ = ["Plain", "agree", "check", "leaves", "mapped", "variables"]
