"""Rows: what each says is true, and nothing that is keyed by their names stands elsewhere."""

import ast
from pathlib import Path

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.ops import elementwise
from relgraph.ops.elementwise import ROWS, Elementwise
from relgraph.ops.elementwise.row import Ulps

SOURCE = Path(rg.__file__).parent
# Tables of other things that have names of ops among their keys.
OTHER_TABLES = {
    "backends/cuda/primitives.py": "functions of libdevice",
    "ops/indexing/update.py": "methods that x.at[key] does not have",
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
