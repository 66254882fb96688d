"""The primitive table: the functions that kernels call, on a device and in the simulator.

A device has vector loads of 16 bytes and shuffles between the threads of a warp.  The simulator
reads elements one by one and combines values through shared memory.  Both run the same kernel text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from relgraph.backends.cuda import adapter, scalars
from relgraph.backends.source import define
from relgraph.ir.types import DTYPES

WARP = 32


@dataclass(frozen=True)
class Geometry:
    """Sizes of blocks and grids.

    Attributes
    ----------
    threads : int
        Threads of a block.
    warp : int
        Threads that work on one short row.
    blocks : int
        Blocks for each multiprocessor when a grid is sized to fill the device.
    most : int
        The largest number of threads in a block.
    grid : int
        The largest number of blocks in a grid.
    """

    threads: int
    warp: int
    blocks: int
    most: int
    grid: int


DEVICE = Geometry(threads=256, warp=WARP, blocks=8, most=1024, grid=2**30)
SIMULATED = Geometry(threads=4, warp=2, blocks=2, most=8, grid=2)


def geometry() -> Geometry:
    """Return the sizes for the device, or for the simulator if it is in use."""
    return SIMULATED if adapter.simulated() else DEVICE


# Functions of libdevice that have the same meaning in NumPy or in Python's math module.
_LIBRARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "hypot": np.hypot,
    "erf": math.erf, "erfc": math.erfc, "pow": np.power, "fmod": np.fmod,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "sqrt": np.sqrt, "fabs": np.fabs, "copysign": np.copysign,
}  # fmt: skip


@lru_cache(maxsize=2)
def _table(simulated: bool) -> dict[str, Any]:
    table: dict[str, Any] = {name: getattr(np, name) for name in DTYPES if name != "bool"}
    table["math"] = math
    table.update(_simulated_functions() if simulated else _device_functions())
    scope = dict(table)
    define("scalars", scalars.text(), scope)
    # The functions call each other by name, so numba needs all names when it inlines one.
    for name, function in list(scope.items()):
        if callable(function) and getattr(function, "__globals__", None) is scope:
            table[name] = scope[name] = adapter.device_function(function)
    return table


def table() -> dict[str, Any]:
    """Return the names that every kernel may use, for the device or for the simulator."""
    return _table(adapter.simulated())


def _device_functions() -> dict[str, Any]:
    library = adapter.libdevice()
    functions: dict[str, Any] = {}
    for name in (*_LIBRARY, "lgamma"):
        functions[name] = getattr(library, name)
        functions[f"{name}f"] = getattr(library, f"{name}f")
    # An explicit rounding mode keeps products and sums from being contracted to fma.
    functions |= {"mul": library.dmul_rn, "mulf": library.fmul_rn}
    functions |= {"add": library.dadd_rn, "addf": library.fadd_rn}
    functions |= {"uindex": np.uint32, "windex": np.uint64}
    return functions


def _lgamma(x: Any) -> float:
    if math.isnan(x):
        return math.nan
    if x in (math.inf, -math.inf) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _wrapped(bits: int) -> Callable[[Any], int]:
    """Return the conversion to an integer without a sign, as a device makes it."""
    return lambda x: int(x) % (1 << bits)


def _add(a: Any, b: Any) -> Any:
    return a + b


def _mul(a: Any, b: Any) -> Any:
    return a * b


def _simulated_functions() -> dict[str, Any]:
    functions: dict[str, Any] = {}
    for name, function in {**_LIBRARY, "lgamma": _lgamma}.items():
        functions[name] = functions[f"{name}f"] = function
    functions |= {"mul": _mul, "mulf": _mul, "add": _add, "addf": _add}
    functions |= {"uindex": _wrapped(32), "windex": _wrapped(64)}
    for name in ("erf", "erfc", "lgamma"):
        functions[f"{name}f"] = _rounded(functions[name])
    return functions


def _rounded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def rounded(x: Any) -> Any:
        return np.float32(function(x))

    return rounded


# Vectors of consecutive elements.


@cache
def load(dtype: str, width: int) -> Any:
    """Return ``load(array, i)``: the elements ``i`` to ``i + width - 1``, as a tuple."""
    if adapter.simulated():
        return lambda array, i: tuple([array[i + k] for k in range(width)])
    return _vector_load(dtype, width)


@cache
def store(dtype: str, width: int) -> Any:
    """Return ``store(array, i, values)``, which writes consecutive elements."""
    if adapter.simulated():

        def simulated(array: Any, i: int, values: tuple[Any, ...]) -> None:
            for k, value in enumerate(values):
                array[i + k] = value

        return simulated
    return _vector_store(dtype, width)


def _vector_address(context: Any, builder: Any, signature: Any, args: Any, width: int) -> Any:
    """Return the address of a vector of elements in global memory, and the type of the vector."""
    from llvmlite import ir

    array_type, index_type = signature.args[:2]
    array = context.make_array(array_type)(context, builder, args[0])
    offset = builder.zext(args[1], ir.IntType(64)) if index_type.bitwidth < 64 else args[1]
    address = builder.gep(array.data, [offset])
    vector = ir.VectorType(context.get_data_type(array_type.dtype), width)
    address = builder.addrspacecast(address, ir.PointerType(array.data.type.pointee, 1))
    return builder.bitcast(address, ir.PointerType(vector, 1)), vector


def _vector_load(dtype: str, width: int) -> Any:
    from llvmlite import ir

    nbytes = np.dtype(dtype).itemsize * width
    number = ir.IntType(32)

    def vector_load(typing: Any, array: Any, i: Any) -> Any:
        result = _uniform_tuple(array.dtype, width)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, _ = _vector_address(context, builder, signature, args, width)
            vector = builder.load(address, align=nbytes)
            parts = [builder.extract_element(vector, number(k)) for k in range(width)]
            parts = [context.data_model_manager[array.dtype].from_data(builder, p) for p in parts]
            return context.make_tuple(builder, result, parts)

        return result(array, i), generate

    return adapter.intrinsic()(vector_load)


def _vector_store(dtype: str, width: int) -> Any:
    from llvmlite import ir

    nbytes = np.dtype(dtype).itemsize * width
    number = ir.IntType(32)

    def vector_store(typing: Any, array: Any, i: Any, values: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address, kind = _vector_address(context, builder, signature, args, width)
            vector = ir.Constant(kind, ir.Undefined)
            model = context.data_model_manager[array.dtype]
            for k in range(width):
                part = builder.extract_value(args[2], k)
                part = context.cast(builder, part, signature.args[2][k], array.dtype)
                part = model.as_data(builder, part)
                vector = builder.insert_element(vector, part, number(k))
            builder.store(vector, address, align=nbytes)
            return context.get_dummy_value()

        from numba import types

        return types.void(array, i, values), generate

    return adapter.intrinsic()(vector_store)


def _uniform_tuple(dtype: Any, width: int) -> Any:
    from numba import types

    return types.UniTuple(dtype, width)


# Reductions over the threads that share a row.

_SHARED = """
def NAME(value):
    shared = cuda.shared.array({threads}, {dtype})
    shared[cuda.threadIdx.x] = value
    cuda.syncthreads()
    value = shared[0]
    for k in range(1, {threads}):
        other = shared[k]
        value = {joined}
    cuda.syncthreads()
    return value
"""
_SHUFFLE = """
    other = {dtype}(cuda.shfl_xor_sync(0xffffffff, {wire}(value), {offset}))
    value = {joined}"""
_BLOCK = """
    shared = cuda.shared.array({warps}, {dtype})
    t = cuda.threadIdx.x
    if (t & 31) == 0:
        shared[t >> 5] = value
    cuda.syncthreads()
    value = shared[0]
    for k in range(1, {warps}):
        other = shared[k]
        value = {joined}
    cuda.syncthreads()"""


def group_reduce(joined: str, dtype: str, threads: int) -> Any:
    """Return ``reduce(value)``, which combines the values of all threads of a row in a fixed order.

    ``joined`` is the expression that combines ``value`` and ``other``.  ``threads`` is a power of
    two; if it is more than a warp, it must be a whole block, all of whose threads make the call.
    Every thread gets the result.
    """
    if adapter.simulated() and threads > 1:
        text = _SHARED.format(threads=threads, dtype=dtype, joined=joined)
        return synchronising(f"shared_{dtype}_{threads}", text)
    wire = "int64" if dtype == "uint64" else dtype
    text = "def NAME(value):"
    for k in reversed(range(min(threads, WARP).bit_length() - 1)):
        text += _SHUFFLE.format(dtype=dtype, wire=wire, offset=1 << k, joined=joined)
    if threads > WARP:
        text += _BLOCK.format(dtype=dtype, warps=threads // WARP, joined=joined)
    return synchronising(f"reduce_{dtype}_{threads}", text + "\n    return value\n")


@cache
def synchronising(name: str, text: str) -> Any:
    """Compile a function with barriers; the simulator replaces its global ``cuda``."""
    dtypes = {d: getattr(np, d) for d in DTYPES if d != "bool"}
    return adapter.synchronising_function(
        adapter.function_of(name, text.replace("NAME", name), dtypes)
    )
