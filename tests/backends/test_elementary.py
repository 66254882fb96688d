"""Elementary functions of kernels: within their bounds, right at the ends, and on vectors."""

import argparse
import importlib.util
import json
import math
import re
import sys
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import kernels, machine
from relgraph.backends.numba.elementary import circular, coefficients
from relgraph.backends.numba.elementary.table import EQUAL, TABLE
from relgraph.backends.numba.llvm_printer import printed
from relgraph.backends.numba.schedules import FUSION, planned
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.lowering.nests import nest_of
from relgraph.ops.elementwise import Elementwise

ROOT = Path(__file__).parents[2]
DTYPES = ("float32", "float64")
UNARY = [name for name, row in TABLE.items() if row.arity == 1]
BINARY = [name for name, row in TABLE.items() if row.arity == 2]


def benchmark(name):
    """Return a module of benchmarks/."""
    spec = importlib.util.spec_from_file_location(
        f"benchmarks_{name}", ROOT / "benchmarks" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


ulp = benchmark("ulp")


@cache
def compiled(dtype, arity):
    """Return one function that computes all elementary functions of so many operands."""
    xs = [make_input(f"x{i}", TensorType(dtype, ("n",))) for i in range(arity)]
    names = UNARY if arity == 1 else BINARY
    return rg.function(xs, [Elementwise(name)(*xs) for name in names], mode=None)


def results(*args):
    names = UNARY if len(args) == 1 else BINARY
    return dict(zip(names, compiled(args[0].dtype.name, len(args))(*args), strict=True))


def assert_within_bounds(args):
    """Assert the bounds of the table, against a longer format."""
    wider = np.float64 if args[0].dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        wide = [x.astype(wider) for x in args]
    for name, result in results(*args).items():
        assert result.dtype == args[0].dtype
        found = ulp.errors(name, result, ulp.reference(name, wide), wide)
        i = int(np.argmax(found))
        bound = getattr(TABLE[name], args[0].dtype.name)
        assert found[i] <= bound, (name, found[i], [x[i] for x in args], result[i])


def special(dtype):
    """Return numbers at which something begins or ends."""
    info = np.finfo(dtype)
    numbers = [
        0.0, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.tiny / 2,
        info.max, np.inf, np.nan, info.eps, info.eps / 2, 0.5, 1.0, 2.0, 3.0, 10.0, 0.55, 0.75,
        np.log(2), np.log(2) / 2, np.sqrt(0.5), np.sqrt(2), np.pi / 2, np.pi, 2 * np.pi,
        88.72283, 87.33654, 103.972, 104.5, 128.0, 126.0, 149.0, 150.0, 151.0, 16.6, 9.01, 20.0,
        709.782712893384, 708.3964, 745.1332, 746.0, 1024.0, 1022.0, 1074.0, 1075.0, 1076.0,
        10.05, 10.25, 26.55, 27.22, 27.375, 3.9, 4.0, 5.92, 6.0, 2.0**24, 2.0**53, 1e30,
        1 / 3, 2.0**14, 2.0**30, 2.0**60, 2.0**500, 89.41598, 89.6, 710.4758600739439, 710.6,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        x = np.array(numbers).astype(dtype)
    with np.errstate(all="ignore"):
        x = np.concatenate([x, np.nextafter(x, dtype(0)), np.nextafter(x, dtype(np.inf))])
    return np.concatenate([x, -x])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_ranges_begin_and_end(dtype):
    assert_within_bounds([special(dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_special_values_of_two_operands(dtype):
    x = special(dtype)[::3]
    left, right = np.repeat(x, x.size), np.tile(x, x.size)
    assert_within_bounds([left, right])


LIKE_THE_IDENTITY = (
    "log1p", "expm1", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh",
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", LIKE_THE_IDENTITY)
def test_functions_that_are_x_near_zero_keep_subnormals_and_signs(name, dtype):
    info = np.finfo(dtype)
    counts = np.array([0, 1, 2, 3, 5, 1001, 2**20 + 1], dtype)
    x = np.concatenate(
        [counts * info.smallest_subnormal, [info.tiny / 2, info.tiny, 3 * info.tiny]]
    )
    x = np.concatenate([x, np.nextafter(x, dtype(0)), -x]).astype(dtype)
    x = np.concatenate([x] * 4)  # vectors, and what remains
    node = rg.tensor("x", shape=(None,), dtype=dtype.__name__)
    result = rg.function([node], Elementwise(name)(node), mode=None, target="cpu")(x)
    np.testing.assert_array_equal(result, x)  # the series' next term is below half a unit
    np.testing.assert_array_equal(np.signbit(result), np.signbit(x))


def test_a_sample_of_all_float32():
    blocks = [x for first in (0, 1, 2) for x in ulp.every_float32(40009, first)]
    assert_within_bounds([np.concatenate(blocks)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_operands(dtype):
    extended = dtype == np.float32 or np.finfo(np.longdouble).nmant >= 63
    if not extended:
        pytest.skip("no longer format than float64")
    for names, seeds in ((UNARY, (1,)), (BINARY, (2, 3))):
        assert names
        assert_within_bounds([ulp.random_numbers(dtype, 8000, seed) for seed in seeds])


def test_powers_are_in_range_and_out_of_it():
    options = argparse.Namespace(float64=30_000, stride=1)
    for args in ulp.operands("power", options):
        assert_within_bounds(args)


def test_float64_beside_mpmath():
    rng = np.random.default_rng(7)
    x = np.concatenate(
        [rng.uniform(-6, 6, 60), rng.uniform(0, 1, 20), np.exp(rng.uniform(-9, 6, 20))]
    )
    for name, result in results(x).items():
        for a, value in zip(x, result, strict=True):
            if np.isfinite(value):
                expected = ulp.exact(name, [float(a)])
                unit = np.spacing(abs(float(expected)))
                error = abs(float(expected - mpmath.mpf(float(value)))) / unit
                assert error <= TABLE[name].float64, (name, a)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_angles(dtype):
    bound = circular.BOUND[np.dtype(dtype).name]
    info = np.finfo(dtype)
    rng = np.random.default_rng(3)
    multiples = np.rint(np.exp(rng.uniform(0, np.log(bound), 300))) * (np.pi / 2)
    edges = [bound, np.nextafter(dtype(bound), dtype(0)), 2 * bound, 1e22, 1e30, info.max]
    large = np.exp(rng.uniform(np.log(bound) - 5, np.log(info.max), 100))
    # The double that is next to a multiple of pi/2: 6381956970095103 * 2**797.
    close = [6381956970095103.0 * 2.0**797] if dtype == np.float64 else [16367173.0 * 2.0**72]
    x = np.concatenate([multiples, edges, large, close]).astype(dtype)
    x = np.concatenate([x, -x, rng.normal(size=5).astype(dtype)])  # vectors of both kinds
    found = results(x)
    for name in ("sin", "cos", "tan"):
        for a, value in zip(x, found[name], strict=True):
            with mpmath.workprec(1300):
                expected = getattr(mpmath, name)(mpmath.mpf(float(a)))
            unit = np.spacing(dtype(abs(float(expected))))
            error = abs(float(expected - mpmath.mpf(float(value)))) / float(unit)
            limit = getattr(TABLE[name], np.dtype(dtype).name)
            if abs(a) > bound:  # the C library's; that of GNU errs by 14.4 at the closest number
                limit = 15
            assert error <= limit, (name, a)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("arcsin", [1, -1, -0.0, 1.5, -2, np.inf, np.nan],
         [np.pi / 2, -np.pi / 2, -0.0, np.nan, np.nan, np.nan, np.nan]),
        ("arccos", [1, -1, 0.0, -0.0, 1.5, -np.inf],
         [0.0, np.pi, np.pi / 2, np.pi / 2, np.nan, np.nan]),
        ("arctan", [np.inf, -np.inf, 1, -1, -0.0, np.nan],
         [np.pi / 2, -np.pi / 2, np.pi / 4, -np.pi / 4, -0.0, np.nan]),
        ("arccosh", [1, 0.5, -2, np.inf, np.nan], [0.0, np.nan, np.nan, np.inf, np.nan]),
        ("arcsinh", [np.inf, -np.inf, -0.0, np.nan], [np.inf, -np.inf, -0.0, np.nan]),
        ("arctanh", [1, -1, 1.5, -np.inf, -0.0], [np.inf, -np.inf, np.nan, np.nan, -0.0]),
        ("sinh", [np.inf, -np.inf, -0.0, np.nan], [np.inf, -np.inf, -0.0, np.nan]),
        ("cosh", [np.inf, -np.inf, -0.0, np.nan], [np.inf, np.inf, 1.0, np.nan]),
    ],
)  # fmt: skip
def test_inverses_and_hyperbolic_functions_at_their_ends(name, arguments, expected, dtype):
    result = results(np.array(arguments * 4, dtype))[name]
    expected = np.array(expected * 4, dtype)
    np.testing.assert_array_equal(result, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_angles_and_lengths_of_zeros_and_infinities(dtype):
    ends = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], dtype)
    y, x = np.repeat(ends, ends.size), np.tile(ends, ends.size)
    found = results(y, x)
    for name, function in (("arctan2", math.atan2), ("hypot", math.hypot)):
        expected = np.array([function(a, b) for a, b in zip(y, x, strict=True)]).astype(dtype)
        np.testing.assert_array_equal(found[name], expected)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(
            np.signbit(found[name])[numbers], np.signbit(expected)[numbers]
        )


def test_angles_and_lengths_beside_mpmath():
    rng = np.random.default_rng(11)
    sizes = np.ldexp(rng.uniform(1, 2, (2, 400)), rng.integers(-1074, 1024, (2, 400)))
    near = np.exp(rng.normal(size=(2, 400)))
    y, x = np.concatenate([sizes, near], axis=1) * rng.choice([-1.0, 1.0], (2, 800))
    found = results(y, x)
    for name in ("arctan2", "hypot"):
        for a, b, value in zip(y, x, found[name], strict=True):
            expected = ulp.exact(name, [float(a), float(b)])
            if abs(expected) >= np.finfo(float).max:
                continue
            unit = mpmath.mpf(float(np.spacing(abs(float(expected)))))
            error = abs(expected - mpmath.mpf(float(value))) / unit
            assert error <= TABLE[name].float64, (name, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_remainders_and_whole_quotients_equal_those_of_numpy(dtype):
    xs = [make_input(f"x{i}", TensorType(dtype, ("n",))) for i in range(2)]
    ends = special(np.dtype(dtype).type)
    rng = np.random.default_rng(13)
    quotients = rng.integers(1, 2**40, 20_000)
    divisors = rng.normal(size=20_000).astype(dtype)
    multiples = (quotients * divisors).astype(dtype)
    random = [ulp.random_numbers(np.dtype(dtype).type, 20_000, seed) for seed in (17, 19)]
    cases = [
        (np.repeat(ends, ends.size), np.tile(ends, ends.size)),
        (multiples, divisors),
        (np.nextafter(multiples, np.dtype(dtype).type(0)), divisors),
        tuple(random),
    ]
    for name in EQUAL:
        run = rg.function(xs, Elementwise(name)(*xs), mode=None)
        for a, b in cases:
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(a, b)
            result = run(a, b)
            np.testing.assert_array_equal(result, expected)
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(
                np.signbit(result)[numbers], np.signbit(expected)[numbers]
            )


def test_exact_results():
    x = np.array([2.0**k for k in range(-1074, 1024)])
    found = results(x)
    np.testing.assert_array_equal(found["log2"], np.arange(-1074, 1024))
    np.testing.assert_array_equal(results(np.arange(-1074.0, 1024))["exp2"], x)
    np.testing.assert_array_equal(results(10.0 ** np.arange(0, 23))["log10"], np.arange(0, 23))
    cubes = np.arange(-50.0, 51) ** 3
    np.testing.assert_array_equal(results(cubes)["cbrt"], np.arange(-50.0, 51))
    squares = results(np.arange(-50.0, 51), np.full(101, 3.0))["power"]
    np.testing.assert_array_equal(squares, cubes)


@pytest.mark.skipif("+avx2" not in machine.processor()[1], reason="no vectors of 256 bits")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*TABLE, *EQUAL])
def test_a_loop_runs_on_vectors(name, dtype):
    arity = TABLE[name].arity if name in TABLE else 2
    xs = [make_input(f"x{i}", TensorType(dtype, ("n",))) for i in range(arity)]
    _, (step,) = planned(rg.FunctionGraph(xs, [Elementwise(name)(*xs)]), FUSION)
    translation = printed(nest_of(step.structure).functions("rgk"), kernels.scalar)
    module = machine.optimised(
        translation.text, [part.code for part in translation.scalars.values()]
    )
    kernel = next(f for f in module.functions if f.name.startswith("rgk") and f.is_declaration == 0)
    lines = str(kernel).splitlines()
    short = "float" if dtype == "float32" else "double"
    # float32 is computed in float32, but for powers.
    lanes = 4 if dtype == "float64" or name == "power" else 8
    stored = [x for x in lines if re.search(r"store <(\d+) x (float|double)>", x)]
    assert all(short in x for x in stored)
    assert max(int(re.search(r"<(\d+) x", x)[1]) for x in stored) >= lanes  # more than the rest's
    assert any("llvm.fma.v" in x for x in lines)
    if dtype == "float32" and name != "power":
        assert not any("x double>" in x for x in lines)
    # Nothing but LLVM's own functions, and the test for large angles with its vector forms.
    for line in lines:
        called = re.search(r"call .*@([\w.]+)\(", line)
        assert called is None or called[1].startswith(("llvm.", "relgraph."))


def test_polynomials_are_those_of_their_derivation():
    minimax = benchmark("minimax")
    for fit in minimax.fits():
        if fit.name in ("EXP_TAIL", "LOG_TAIL", "CUBE_ROOT"):
            for (name, dtype), degree in zip(minimax.FORMATS.items(), fit.degrees, strict=False):
                found, _ = minimax.rounded(fit, degree, dtype)
                assert tuple(found) == getattr(coefficients, fit.name)[name]
    for constant in minimax.constants():
        for name in DTYPES:
            parts = getattr(coefficients, constant.name)[name]
            assert tuple(constant.parts(name)) == parts
            rest = constant.value - sum(map(mpmath.mpf, parts))
            assert abs(rest) < abs(mpmath.mpf(parts[-1])) * np.finfo(name).eps


def test_the_page_has_the_bounds_of_the_table():
    page = (ROOT / "docs" / "accuracy.md").read_text()
    rows = [f"| {name} | {row.float32} | {row.float64} |" for name, row in TABLE.items()]
    assert all(row in page for row in rows), "\n".join(rows)


def test_the_page_shows_the_largest_errors_found_and_all_are_within_the_bounds():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        survey = benchmark("elementary_errors")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    results = json.loads(survey.RESULTS.read_text(encoding="utf-8"))
    text = survey.PAGE.read_text(encoding="utf-8")
    assert survey.page(text, results) == text, "run: benchmarks/elementary_errors.py --page"
    for name, row in TABLE.items():
        found = results["functions"][name]
        assert found["float64"]["values"] >= 10**8
        for kind, total in found.items():
            assert total["worst"] <= getattr(row, "float32" if kind == "float32" else "float64")
