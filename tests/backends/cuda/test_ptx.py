"""Kernels compile to PTX for compute capability 9.0, without spills and with few registers.

These checks need NVIDIA's compiler, and those of registers its assembler; no GPU.  The last test
prints how many ran.
"""

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.cuda import (
    adapter,
    cumulative,
    extremes,
    indexed,
    launches,
    movement,
    products,
)
from relgraph.backends.cuda.arrays import Pool
from relgraph.backends.cuda.launches import Shape
from relgraph.backends.cuda.program import FUSION, CudaProgram
from relgraph.backends.cuda.templates import supported
from relgraph.ir.types import DTYPES, TensorType
from relgraph.numpy.reductions import log_softmax, logsumexp, softmax
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.elementwise import ROWS, Cast, Elementwise
from relgraph.ops.loops import results_of
from tests.api.loop_programs import leaves
from tests.lowering.loops.programs import Program

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" or not adapter.can_compile(),
    reason="no NVVM to compile PTX with (it comes with relgraph[cuda])",
)

PTXAS = shutil.which("ptxas")
MOST_REGISTERS = 64
ran = {"compiled": 0, "assembled": 0}


def kernels(inputs, outputs):
    """Compile a graph to PTX, one text for each kernel."""
    texts = rg.cuda.ptx(inputs, outputs, cc=(9, 0), mode=None)
    ran["compiled"] += len(texts)
    return texts


def assert_fits(text, folder, most=MOST_REGISTERS):
    """Assert that a kernel needs no spills and few registers."""
    if PTXAS is None:
        return
    path = folder / "kernel.ptx"
    # An older assembler refuses the version of a newer compiler; the instructions are the same.
    version = subprocess.run([PTXAS, "--version"], capture_output=True, text=True, check=True)
    release = re.search(r"release (\d+)\.(\d+)", version.stdout)
    newest = {"13": "9.0", "12": "8.0"}.get(release[1], "9.0")
    path.write_text(re.sub(r"^\.version .*$", f".version {newest}", text, flags=re.M))
    done = subprocess.run(
        [PTXAS, "-arch=sm_90", "-v", str(path), "-o", str(folder / "kernel.cubin")],
        capture_output=True,
        text=True,
        check=True,
    )
    spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", done.stderr)
    registers = re.findall(r"Used (\d+) registers", done.stderr)
    assert spills
    assert not any(map(int, spills)), done.stderr
    assert set(re.findall(r"(\d+) bytes stack frame", done.stderr)) == {"0"}, done.stderr
    assert max(map(int, registers)) <= most, done.stderr
    ran["assembled"] += 1


def elementwise(dtype):
    x, y = rg.vector("x", dtype=dtype), rg.vector("y", dtype=dtype)
    return [x, y], rg.exp(-x * x * 0.5) * y + rg.log1p(rg.exp(y))


def broadcast(dtype):
    x = rg.matrix("x", shape=("n", "m"), dtype=dtype)
    row, column = (
        rg.vector("r", shape="m", dtype=dtype),
        rg.matrix("c", shape=("n", 1), dtype=dtype),
    )
    return [x, row, column], rg.tanh(x * row) + column


def reduction(axis):
    def make(dtype):
        x = rg.matrix("x", shape=("n", "m"), dtype=dtype)
        y = rg.exp(x) * x
        return [x], [rg.sum(y, axis=axis), rg.max(y, axis=axis)]

    return make


def layer_normalisation(dtype):
    x = rg.matrix("x", shape=("n", "m"), dtype=dtype)
    g = rg.vector("g", shape="m", dtype=dtype)
    centred = x - rg.mean(x, axis=1, keepdims=True)
    variance = rg.mean(centred * centred, axis=1, keepdims=True)
    return [x, g], centred / rg.sqrt(variance + 1e-5) * g + g


def row(function):
    def make(dtype):
        x = rg.matrix("x", shape=("n", "m"), dtype=dtype)
        return [x], function(x)

    return make


PATTERNS = {
    "elementwise": elementwise,
    "broadcast": broadcast,
    "sum and max of all": reduction(None),
    "sum and max of rows": reduction(1),
    "sum and max of columns": reduction(0),
    "softmax": row(softmax),
    "log_softmax": row(log_softmax),
    "logsumexp": row(lambda x: logsumexp(x, axis=1)),
    "layer normalisation": layer_normalisation,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_need_few_registers(pattern, dtype, tmp_path):
    texts = kernels(*PATTERNS[pattern](dtype))
    assert texts
    for text in texts.values():
        assert ".target sm_90" in text
        assert_fits(text, tmp_path)
    together = "\n".join(texts.values())
    if pattern != "sum and max of columns":
        wide = r"v4\.f32" if dtype == "float32" else r"v2\.f64"
        assert re.search(rf"ld\.global\.{wide}", together), "no loads of 16 bytes"
    if pattern not in ("elementwise", "broadcast", "sum and max of columns"):
        assert "shfl.sync" in together
    assert ".local" not in together, "values outside of registers"
    assert not re.search(r"\b(atom|red)\.", together), "an order that is not fixed"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elementwise_stores_are_of_16_bytes_with_a_scalar_rest(dtype):
    (text,) = kernels(*elementwise(dtype)).values()
    kind = "f32" if dtype == "float32" else "f64"
    wide = rf"v{16 // np.dtype(dtype).itemsize}\.{kind}"
    for access, count in (("ld", 2), ("st", 1)):
        assert len(re.findall(rf"{access}\.global\.{wide}", text)) == count
        assert len(re.findall(rf"{access}\.global\.{kind}", text)) == count


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [softmax, log_softmax])
def test_a_row_in_registers_is_read_once_and_written_once(function, dtype):
    *held, online = kernels(*row(function)(dtype)).values()
    assert len(held) == 4  # a warp or a block for a row, vectors or not
    for text in held:
        accesses = [len(re.findall(rf"{access}\.global\.", text)) for access in ("ld", "st")]
        assert accesses[0] == accesses[1] > 0
    assert len(re.findall(r"ld\.global\.", online)) > len(re.findall(r"st\.global\.", online))


def test_a_transpose_goes_through_shared_memory_without_conflicts():
    text = compiled(movement.transpose_text("float32", 32))
    assert re.search(rf"\.shared \.align 4 \.b8 \w+\[{32 * 33 * 4}\]", text)  # a padded tile
    for access in ("ld.shared.f32", "st.shared.f32", "ld.global.f32", "st.global.f32"):
        assert access in text


def test_additions_to_places_are_atomic_only_where_that_is_chosen():
    assert not re.search(r"\b(atom|red)\.", compiled(indexed.scatter_text("float32", 256)))
    assert re.search(r"\b(atom|red)\.", compiled(indexed.atomic_text("float32", "int64", 256)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_op_compiles(dtype):
    x, y = rg.vector("x", shape="n", dtype=dtype), rg.vector("y", shape="n", dtype=dtype)
    c = rg.vector("c", shape="n", dtype="bool")
    nodes = [Cast(other)(x) for other in DTYPES if other != dtype]
    for name, row in ROWS.items():
        try:
            node = Elementwise(name)(*((x, y, x)[: row.arity] if name != "where" else (c, x, y)))
        except TypeError:
            continue  # NumPy has no such op for the dtype
        if supported(node):
            nodes.append(node)
    assert len(nodes) > 30
    assert kernels([x, y, c], nodes)


def texts_of_moves(dtype):
    """Return the kernels that move elements and multiply matrices, as a device launches them."""
    yield movement.copy_text(dtype, 3, False, 256)
    yield movement.copy_text(dtype, 2, True, 256)
    yield movement.transpose_text(dtype, 32)
    yield indexed.gather_text(dtype, "int32", 256)
    yield indexed.scatter_text(dtype, 256)
    yield products.product_text(dtype, dtype, dtype, products.TILE)
    yield extremes.extreme_text(dtype, True, 256, False)
    yield extremes.extreme_text(dtype, False, 32, True)
    yield extremes.extreme_text(dtype, True, 1, False)
    if dtype in indexed.ATOMIC:
        yield indexed.atomic_text(dtype, "int64", 256)


@pytest.mark.parametrize("dtype", DTYPES)
def test_moves_and_products_compile(dtype, tmp_path):
    for text in texts_of_moves(dtype):
        assert_fits(compiled(text), tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("cls", Cumulative.__subclasses__(), ids=lambda cls: cls.name)
def test_cumulative_ops_compile(cls, dtype, tmp_path):
    op = cls(-1)
    result = op.infer(TensorType(dtype, (4,))).dtype.name
    for text in (cumulative.column_text, cumulative.total_text, cumulative.row_text):
        assert_fits(compiled(text(op, dtype, result, 256)), tmp_path)


def compiled(text):
    name, body = text.module()
    ran["compiled"] += 1
    return adapter.ptx(adapter.Source(name, body, text.types(), launches.scope(text)), (9, 0))


@pytest.mark.parametrize("pattern", ["broadcast", "sum and max of rows", "layer normalisation"])
def test_wide_indices_compile(pattern, tmp_path):
    inputs, outputs = PATTERNS[pattern]("float32")
    nodes = outputs if isinstance(outputs, list) else [outputs]
    program = CudaProgram(rg.FunctionGraph(inputs, nodes), FUSION, Pool())
    (launcher,) = program._launchers.values()
    if isinstance(launcher, launches.RowLauncher):
        text = launcher._text(Shape(256, 2, launcher.lanes, wide=True))
    elif isinstance(launcher, launches.FoldLauncher):
        text = launcher.text(True, 256)
    else:
        text = launcher.text(True)
    assert_fits(compiled(text), tmp_path)


def recurrences(dtype):
    a, y = rg.scalar("a", dtype=dtype), rg.vector("y", "n", dtype=dtype)
    x = rg.matrix("x", ("t", "n"), dtype=dtype)
    return [a, y, x], list(leaves(rg.scan(lambda y, x: (a * y + rg.exp(x), y), y, x)))


def newton(dtype):
    x = rg.scalar("x", dtype=dtype)
    half = np.dtype(dtype).type(0.5)
    root = rg.while_loop(lambda r: rg.abs(r * r - x) > 1e-3, lambda r: half * (r + x / r), x)
    return [x], [root]


def edit_distances(dtype):
    a, b, first = (rg.vector(name, 9, dtype=dtype) for name in "abc")

    def row(above, letter):
        def cell(left, parts):
            upper, other = parts
            best = rg.minimum(rg.minimum(left, upper), rg.where(letter != other, left, upper))
            return best, best

        return rg.scan(cell, above[0], (above, b))[1], above[-1]

    return [a, b, first], list(leaves(rg.scan(row, first, a)))


def kalman(dtype):
    F, Q, P = (rg.matrix(name, (4, 4), dtype=dtype) for name in "FQP")
    H, m, ys = rg.vector("H", 4, dtype=dtype), rg.vector("m", 4, dtype=dtype), rg.matrix(
        "y", ("n", "t"), dtype=dtype
    )  # fmt: skip

    def step(state, y):
        m, P = state
        m, P = F @ m, F @ P @ F.T + Q
        gain = P @ H / (H @ P @ H + 1)
        return (m + gain * (y - H @ m), P - rg.outer(gain, H @ P)), m

    series = rg.scan(lambda _, y: ((), rg.scan(step, (m, P), y)[1]), (), ys)[1]
    return [F, Q, P, H, m, ys], [series]


def power_iteration(dtype):
    A, x = rg.matrix("A", ("n", "n"), dtype=dtype), rg.vector("x", "n", dtype=dtype)

    def step(i, x):
        y = A @ x
        return y / rg.sqrt(rg.sum(y * y))

    return [A, x], [rg.fori_loop(0, 9, step, x)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_threads_of_a_block_wait_for_each_other(dtype, tmp_path):
    (text,) = kernels(*power_iteration(dtype)).values()
    assert_fits(text, tmp_path)
    assert "%ctaid" not in text
    assert "bar.sync" in text
    assert ".shared" in text
    assert ".local" not in text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loop", [recurrences, newton, edit_distances, kalman])
def test_loops_compile_without_spills(loop, dtype, tmp_path):
    (text,) = kernels(*loop(dtype)).values()
    assert_fits(text, tmp_path, 200 if loop is kalman else MOST_REGISTERS)
    assert ("%ctaid" in text) == (loop in (recurrences, kalman))  # a thread for each series
    assert "fma" not in text or loop is recurrences  # which calls a library's exp


def test_random_loops_compile():
    for seed in range(12):
        program = Program(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # some run on the CPU
            kernels(program.inputs, results_of(program.application))


def test_products_and_sums_are_not_contracted():
    x, y = rg.vector("x"), rg.vector("y", dtype="float32")
    (text,) = kernels([x], x * x - x * 0.5 * x).values()
    assert "mul.rn.f64" in text
    assert "fma" not in text
    (text,) = kernels([y], y * y - y * 0.5 * y).values()
    assert "mul.rn.f32" in text
    assert "fma" not in text


def test_indices_have_32_bits_where_they_fit():
    x = rg.matrix("x", shape=("n", "m"))
    y = rg.vector("y", shape="m")
    (text,) = kernels([x, y], x + y).values()
    assert re.search(r"(div|rem)\.u32", text)
    assert not re.search(r"(div|rem)\.[us]64", text)


def test_the_benchmark_compiles_its_kernels_without_a_gpu():
    script = Path(__file__).parents[3] / "benchmarks" / "cuda.py"
    environment = {**os.environ, "PYTHONPATH": str(script.parents[1])}
    done = subprocess.run(
        [sys.executable, str(script), "--dry"],
        env=environment, capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    rows = re.findall(r"(\d+) kernels, (\d+) with loads of 16 bytes", done.stdout)
    assert len(rows) == 6
    assert all(int(wide) > 0 for _, wide in rows)
    assert len(re.findall(r"^Kalman .* 1 kernel, compiled", done.stdout, re.M)) == 2
    assert "nothing was measured" in done.stdout


def test_how_many_checks_ran(capsys):
    with capsys.disabled():
        print(f"\nPTX: {ran['compiled']} kernels compiled, {ran['assembled']} assembled")
    assert ran["compiled"] > 20
    assert ran["assembled"] > 20 or PTXAS is None
