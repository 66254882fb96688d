"""Vendors' libraries of vector functions: Intel SVML and libmvec of the GNU C library.

A kernel calls a scalar function whose call site lists its vector variants.  LLVM calls one of these
when it vectorises the loop.  The scalar function calls the vector function with its operand in
every lane, so that a result does not depend on the operand's position in an array.

References
----------
LLVM Language Reference Manual, call-site attribute ``vector-function-abi-variant``; "x86 Vector
Function Application Binary Interface" (GNU C library wiki, libmvec); Intel oneAPI DPC++/C++
Compiler Developer Guide, "Intrinsics for Short Vector Math Library Operations".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from relgraph.backends.numba.elementary.beyond import announce
from relgraph.backends.numba.elementary.values import FLOAT64, Formula, Value
from relgraph.errors import CompileError
from relgraph.ir.records import record
from relgraph.ops.elementwise import ROWS

# The names of functions in both libraries, by the names of ops.
NAMES = {
    name: row.elementary.library
    for name, row in ROWS.items()
    if row.elementary is not None and row.elementary.library
}


@record
class Library:
    """A library of vector functions.

    ``name`` is its name in ``rg.config.veclib``.  ``paths`` returns the shared libraries to load,
    of which the last has the functions.  ``symbol(function, suffix, lanes, arity)`` returns the
    name of a vector function.  ``install`` says how to install it.
    """

    name: str
    paths: Callable[[], list[str]]
    symbol: Callable[[str, str, int, int], str]
    install: str


def _svml_paths() -> list[str]:
    wanted = ("libintlc.so.5", "libsvml.so")
    try:
        files = metadata.files("intel-cmplr-lib-rt") or []
    except metadata.PackageNotFoundError:
        return list(wanted)  # let the system's loader find them
    paths = {Path(str(file)).name: str(file.locate()) for file in files}
    return [paths.get(name, name) for name in wanted]


def _svml_symbol(function: str, suffix: str, lanes: int, arity: int) -> str:
    return f"__svml_{function}{suffix}{lanes}_ha"  # high accuracy: less than 1 ULP


def _libmvec_symbol(function: str, suffix: str, lanes: int, arity: int) -> str:
    bits = lanes * (32 if suffix else 64)
    letter = {128: "b", 256: "d", 512: "e"}[bits]
    return f"_ZGV{letter}N{lanes}{'v' * arity}_{function}{suffix}"


LIBRARIES = {
    "svml": Library(
        "svml", _svml_paths, _svml_symbol, "Install the package intel-cmplr-lib-rt (x86 only)."
    ),
    "libmvec": Library(
        "libmvec",
        lambda: ["libmvec.so.1"],
        _libmvec_symbol,
        "It is a part of the GNU C library on Linux, on x86 and on AArch64.",
    ),
}


def require(name: str) -> None:
    """Load a library of vector functions, or raise CompileError."""
    _loaded(name)


def has(symbol: str) -> bool:
    """Return True if ``symbol`` is from a vector library that is installed, loading the library."""
    name = "svml" if symbol.startswith("__svml_") else "libmvec"
    if not symbol.startswith(("__svml_", "_ZGV")):
        return False
    try:
        return hasattr(_loaded(name), symbol)
    except CompileError:
        return False


@lru_cache(maxsize=2)
def _loaded(name: str) -> Any:
    library = LIBRARIES[name]
    paths = library.paths()
    try:
        for path in paths:
            handle = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
            llvm.load_library_permanently(path)
    except (OSError, RuntimeError) as error:
        raise CompileError(
            f"the library of vector functions {name!r} cannot be loaded",
            {"looked for": ", ".join(paths), "loader": str(error).strip()},
            f"{library.install} Or set rg.config.veclib to None.",
        ) from error
    return handle


def formula(library: str, function: str, features: str, arity: int, kind: Any) -> Formula | None:
    """Return a call of a library's function as a formula.

    ``function`` is the name of an op, and ``features`` are the processor's, as LLVM writes them.
    Return None if the library lacks the function for this processor.
    """
    name = NAMES.get(function)
    if name is None:
        return None
    handle = _loaded(library)
    suffix, bits = ("", 64) if kind == FLOAT64 else ("f", 32)
    # Not 512 bits: libmvec's exp2 rounds differently there, and LLVM mostly prefers 256 bits.
    widest = 256 if "+avx2" in features else 128
    # Half of the widest vectors is for loops that also have elements of twice the size.
    lanes = [width // bits for width in (widest, widest // 2) if width >= 128]
    symbols = {n: LIBRARIES[library].symbol(name, suffix, n, arity) for n in lanes}
    symbols = {n: symbol for n, symbol in symbols.items() if hasattr(handle, symbol)}
    if lanes[0] not in symbols:
        return None

    def call(*args: Value) -> Value:
        module = args[0].builder.module
        for n, symbol in symbols.items():
            vector = ir.VectorType(kind, n)
            ir.Function(module, ir.FunctionType(vector, [vector] * arity), symbol)
        scalar = _scalar(module, f"relgraph.{library}.{name}{suffix}", symbols[lanes[0]], arity)
        code = args[0].builder.call(scalar, [x.code for x in args])
        announce(
            code,
            [f"_ZGV_LLVM_N{n}{'v' * arity}_{scalar.name}({s})" for n, s in symbols.items()],
        )
        _keep(module, list(symbols.values()))
        return Value(args[0].builder, code)

    return call


def _scalar(module: Any, name: str, symbol: str, arity: int) -> Any:
    """Return a scalar function that calls a vector function."""
    target = module.globals[symbol]
    vector = target.function_type.return_type
    kind = vector.element
    function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), name)
    function.linkage = "weak_odr"
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    index = ir.IntType(32)
    filled = []
    for x in function.args:
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), x, index(0))
        same = ir.Constant(ir.VectorType(index, vector.count), [0] * vector.count)
        filled.append(builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), same))
    builder.ret(builder.extract_element(builder.call(target, filled), index(0)))
    return function


def _keep(module: Any, symbols: list[str]) -> None:
    """Keep declarations to which only an attribute refers."""
    pointer = ir.PointerType(ir.IntType(8))
    items = [module.globals[symbol].bitcast(pointer) for symbol in symbols]
    used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(items)), "llvm.compiler.used")
    used.linkage = "appending"
    used.section = "llvm.metadata"
    used.initializer = ir.Constant(used.value_type, items)
