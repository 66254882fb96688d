"""Vendors' vector functions: right, the same wherever they stand, and missed with a clear error."""

import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import vector_libraries
from relgraph.errors import CompileError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import ROWS, Elementwise


def installed(name):
    try:
        vector_libraries.require(name)
    except CompileError:
        return False
    return True


def beside_mpmath(name):
    function = getattr(mpmath, name)
    return np.vectorize(lambda v: float(function(min(v, 100.0))), otypes=[float])


# NumPy has no error function, and SciPy's complement errs by hundreds of units.
SCALAR = {name: beside_mpmath(name) for name in ("erf", "erfc")}
LIBRARIES = [
    pytest.param(name, marks=pytest.mark.skipif(not installed(name), reason=f"no {name} here"))
    for name in vector_libraries.LIBRARIES
]


def inputs(dtype):
    return [make_input(name, TensorType(dtype, ("n",))) for name in "xy"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_numpys_to_4_ulp_and_do_not_depend_on_their_place(library, dtype):
    x, y = inputs(dtype)
    operands = {name: (x, y)[: ROWS[name].arity] for name in vector_libraries.NAMES}
    nodes = [Elementwise(name)(*nodes) for name, nodes in operands.items()]
    with rg.config(veclib=library):
        f = rg.function([x, y], nodes, mode=None)
        rng = np.random.default_rng(0)
        a = np.exp(rng.uniform(-3, 3, 333)).astype(dtype)
        a[:6] = [0, 1, np.inf, np.nan, np.finfo(dtype).tiny, np.finfo(dtype).max]
        b = rng.normal(size=333).astype(dtype)
        found = f(a, b)
        one_by_one = [f(a[i : i + 1], b[i : i + 1]) for i in range(40)]
    for k, name in enumerate(operands):
        args = (a, b)[: ROWS[name].arity]
        wide = [v.astype(float if name in SCALAR else np.longdouble) for v in args]
        with np.errstate(all="ignore"):
            expected = (SCALAR.get(name) or getattr(np, name))(*wide).astype(dtype)
            large = np.abs(a) > 1e10  # sines of these are not what this test is about
            keep = np.isfinite(expected) & ~(large & (name in ("sin", "cos", "tan")))
            error = np.abs(found[k] - expected) / np.spacing(np.abs(expected))
        assert np.max(error[keep]) <= 4.5, name
        np.testing.assert_array_equal(np.isnan(found[k]), np.isnan(expected), name)
        np.testing.assert_array_equal([r[k][0] for r in one_by_one], found[k][:40], name)


@pytest.mark.parametrize("library", LIBRARIES)
def test_kernels_call_the_library_and_are_found_on_disk(library, tmp_path):
    script = f"""
import numpy as np, relgraph as rg
from relgraph.backends.numba import kernels
rg.config.veclib = {library!r}
x = rg.vector("x")
f = rg.function([x], rg.exp(x) + rg.sin(x), mode=None)
a = np.linspace(-1, 1, 100)
np.testing.assert_allclose(f(a), np.exp(a) + np.sin(a), rtol=1e-14, atol=1e-15)
print(*kernels.stats().values(), *rg.cache.directory().glob("rgk*"))
"""
    environment = {"RELGRAPH_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert [out[0] for out in outputs] == ["compiled", "disk"]
    start = b"__svml_exp" if library == "svml" else b"_ZGV"
    assert all(start in Path(out[1]).read_bytes() for out in outputs)


def test_functions_that_a_library_lacks_are_those_that_are_always_there():
    (x, _), library = inputs("float64"), next(iter(vector_libraries.LIBRARIES))
    assert vector_libraries.formula(library, "softplus", "", 1, x.dtype) is None


def test_a_library_that_is_not_installed_is_an_error(monkeypatch):
    missing = vector_libraries.Library(
        "svml", lambda: ["libnowhere.so"], lambda *_: "", "Install the package intel-cmplr-lib-rt."
    )
    monkeypatch.setitem(vector_libraries.LIBRARIES, "svml", missing)
    vector_libraries._loaded.cache_clear()
    x = rg.vector("x")
    try:
        with rg.config(veclib="svml"), pytest.raises(CompileError) as raised:
            rg.function([x], rg.exp(x))
    finally:
        vector_libraries._loaded.cache_clear()
    assert str(raised.value).splitlines() == [
        "the library of vector functions 'svml' cannot be loaded",
        "  looked for : libnowhere.so",
        "  loader     : libnowhere.so: cannot open shared object file: No such file or directory",
        "Install the package intel-cmplr-lib-rt. Or set rg.config.veclib to None.",
    ]
