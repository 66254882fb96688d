"""Rows: what each says is true, and nothing that is keyed by their names stands elsewhere."""

import ast
import itertools
from pathlib import Path

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba.elementary.table import formula_at
from relgraph.ops import elementwise
from relgraph.ops.elementwise import ROWS, Elementwise
from relgraph.ops.elementwise.row import Ulps

SOURCE = Path(rg.__file__).parent
# Tables of other things that have names of ops among their keys.
OTHER_TABLES = {
    "backends/cuda/primitives.py": "functions of libdevice",
    "ops/indexing/update.py": "methods that x.at[key] does not have",
    "lowering/loops/nodes.py": "primitives of the loop language",
    "lowering/loops/builder.py": "primitives of the loop language",
    "lowering/loops/interpreter.py": "primitives of the loop language",
    "lowering/loops/text.py": "primitives of the loop language",
    "backends/cuda/loop_printer.py": "primitives of the loop language",
}
# Operands at which all ops but those of POINTS are differentiable, and have short exact values.
USUAL = [(0.4, 0.7, 0.9), (0.25, 0.6, 0.3)]
POINTS = {
    "arccosh": [(1.5,), (3.0,)],
    "log1mexp": [(-0.3,), (-2.0,)],
    "reciprocal": [(0.4,), (-2.0,)],
    "where": [(True, 0.4, 0.7), (False, 0.4, 0.7)],
    "polygamma": [(1.0, 0.7), (2.0, 1.4)],
    "clip": [(0.4, 0.1, 0.9), (0.4, 0.5, 0.9), (0.4, 0.1, 0.2), (0.4, 0.7, 0.2)],
}
WITH_MEANING = [name for name, row in ROWS.items() if row.meaning is not None]
DIFFERENTIABLE = [name for name in WITH_MEANING if ROWS[name].derivative is not None]


def points(name):
    return POINTS.get(name) or [x[: ROWS[name].arity] for x in USUAL]


def exact(name, operands):
    numbers = [x if isinstance(x, bool) else mpmath.mpf(x) for x in operands]
    return ROWS[name].meaning(mpmath, *numbers)


@pytest.mark.parametrize("name", WITH_MEANING)
def test_the_exact_meaning_is_what_is_computed(name):
    for operands in points(name):
        computed = Elementwise(name).perform(*operands)
        with mpmath.workdps(30):
            expected = float(exact(name, operands))
        np.testing.assert_allclose(float(computed), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_are_those_of_the_exact_meaning(name):
    for operands in points(name):
        inputs = [rg.scalar(f"x{i}", dtype=np.asarray(x).dtype) for i, x in enumerate(operands)]
        result = Elementwise(name)(*inputs)
        partials = ROWS[name].derivative(elementwise, result, *inputs)
        assert len(partials) == len(operands)
        values = dict(zip(inputs, operands, strict=True))
        for i, partial in enumerate(partials):
            if partial is None:
                continue
            value = rg.evaluate(partial, values) if isinstance(partial, rg.Variable) else partial
            with mpmath.workdps(30):
                slope = mpmath.diff(
                    lambda t, i=i, at=operands: exact(name, (*at[:i], t, *at[i + 1 :])),
                    mpmath.mpf(operands[i]),
                )
            np.testing.assert_allclose(float(value), float(slope), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row.derivative is not None])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_keep_the_dtype(name, dtype):
    row = ROWS[name]
    inputs = [rg.vector(f"x{i}", shape=("n",), dtype=dtype) for i in range(row.arity)]
    if name == "where":
        inputs[0] = rg.vector("c", shape=("n",), dtype="bool")
    result = Elementwise(name)(*inputs)
    for partial in row.derivative(elementwise, result, *inputs):
        assert partial is None or not isinstance(partial, rg.Variable) or partial.dtype == dtype


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_complete(name):
    row = ROWS[name]
    assert row.name == name and row.theme and row.doc.endswith(".")
    assert row.public or callable(getattr(elementwise, name))
    assert row.rounding in ("none", "relative", "absolute", "measured")
    assert row.difference in ("", *ROWS) and row.inverse in ("", *ROWS)
    assert row.elementary is None or isinstance(row.ulps, Ulps)
    assert row.elementary is None or callable(formula_at(row.elementary.formula))
    assert not row.cuda or row.cpu is not None


def tables(path):
    """Return the lines of a file in which a literal has three or more names of ops as keys."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        keys = getattr(node, "keys", None) if isinstance(node, ast.Dict) else None
        keys = keys or (node.elts if isinstance(node, ast.Set | ast.Tuple | ast.List) else ())
        names = {key.value for key in keys if isinstance(key, ast.Constant)} & ROWS.keys()
        if len(names) >= 3:
            yield node.lineno


def test_no_other_table_is_keyed_by_names_of_ops():
    here = SOURCE / "ops" / "elementwise"
    found = {
        f"{path.relative_to(SOURCE).as_posix()}:{line}"
        for path in SOURCE.rglob("*.py")
        if here not in path.parents and path.relative_to(SOURCE).as_posix() not in OTHER_TABLES
        for line in tables(path)
    }
    assert not found, "put the fact into the rows of relgraph/ops/elementwise"


def is_name_of_op(node):
    """Return True for ``op.name``, ``cls.name``, and the same of an attribute ``op`` or ``cls``."""
    if not isinstance(node, ast.Attribute) or node.attr != "name":
        return False
    return getattr(node.value, "attr", getattr(node.value, "id", "")) in ("op", "cls")


def reads_name_of_op(node):
    return any(map(is_name_of_op, ast.walk(node)))


def decisions(text):
    """Return the lines of a text that compare the name of an op, or look it up in a table.

    A name counts under the local names that a function gives it, too.
    """
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            local = set(_aliases(function))
            for x in ast.walk(function):
                asked = _asked(x)
                if any(reads_name_of_op(y) or getattr(y, "id", None) in local for y in asked):
                    yield x.lineno


def _aliases(function):
    """Return the local names that a function gives to names of ops."""
    for x in ast.walk(function):
        if isinstance(x, ast.Assign):
            target, value = x.targets[0], x.value
            values = value.elts if isinstance(value, ast.Tuple) else itertools.repeat(value)
            for y, source in zip(getattr(target, "elts", [target]), values, strict=False):
                if isinstance(y, ast.Name) and _is_alias(source):
                    yield y.id


def _is_alias(value):
    """Return True if an expression is the name of an op, perhaps with a default."""
    if isinstance(value, ast.IfExp):
        return _is_alias(value.body) or _is_alias(value.orelse)
    if isinstance(value, ast.GeneratorExp | ast.ListComp):
        return _is_alias(value.elt)
    return is_name_of_op(value)


def _asked(node):
    """Return what a node of a syntax tree compares or looks up."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return [y for x in sides for y in (x.elts if isinstance(x, ast.Tuple) else [x])]
    if isinstance(node, ast.Match):
        return [node.subject]
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [node.slice]
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get":
        return node.args[:1]
    return []


@pytest.mark.parametrize(
    "line",
    [
        'return op.name == "add"',
        'return node.op.name in ("add", "sum")',
        'return (a.op.name, b.op.name) != ("max", "sum")',
        "return node.op.name in TABLE",
        "return TABLE[x.op.cls.name]",
        "return TABLE.get(op.name)",
        'name = "" if x.op is None else x.op.name\n    return name == "add"',
        'name, x = node.op.name, node.inputs\n    return name == "add"',
        'match op.name:\n        case "add": pass',
    ],
)
def test_decisions_by_name_are_found(line):
    assert set(decisions(f"def f(op, node):\n    {line}"))


@pytest.mark.parametrize(
    "line",
    [
        "return op is add",
        'return f"{op.name}({x[0]})"',
        'return row.name == "add"',
        "return op.name",
    ],
)
def test_the_name_of_an_op_may_be_shown(line):
    assert not set(decisions(f"def f(op, row):\n    {line}"))


def test_no_op_is_known_by_its_name():
    found = {
        f"{path.relative_to(SOURCE).as_posix()}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in decisions(path.read_text(encoding="utf-8"))
    }
    assert not found, "compare the op, or ask for a trait of it (see relgraph.ir.op.Op)"
