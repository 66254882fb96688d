"""Vendors' libraries of vector functions: Intel's SVML, and libmvec of the GNU C library.

A kernel calls a function of one number, and says at the call which functions of vectors stand for
it; LLVM calls one of those when it vectorises the loop.  The function of one number is the vector's
too, with the same number in every place, so that a result does not depend on where in an array its
operand stands.

References
----------
LLVM Language Reference Manual, call-site attribute ``vector-function-abi-variant``; "x86 Vector
Function Application Binary Interface" (GNU C library wiki, libmvec); Intel oneAPI DPC++/C++
Compiler Developer Guide, "Intrinsics for Short Vector Math Library Operations".
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from relgraph.backends.numba.elementary.beyond import announce
from relgraph.backends.numba.elementary.values import FLOAT64, Formula, Value
from relgraph.errors import CompileError
from relgraph.ops.elementwise import ROWS

# Functions that both libraries have, by our names.
NAMES = {
    name: row.elementary.library
    for name, row in ROWS.items()
    if row.elementary is not None and row.elementary.library
}


@dataclass(frozen=True)
class Library:
    """A library of vector functions.

    Parameters
    ----------
    name : str
        What ``rg.config.veclib`` calls it.
    paths : callable
        Returns the shared libraries to load, in order; the last one has the functions.
    symbol : callable
        ``symbol(function, suffix, lanes, arity)``: a function's name, for vectors of so many
        numbers.
    install : str
        How to get it.
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
        return list(wanted)  # where the system's loader looks
    found = {Path(str(file)).name: str(file.locate()) for file in files}
    return [found.get(name, name) for name in wanted]


def _svml_symbol(function: str, suffix: str, lanes: int, arity: int) -> str:
    return f"__svml_{function}{suffix}{lanes}_ha"  # those of less than 1 ULP


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
    """Load a library of vector functions.

    Parameters
    ----------
    name : str
        Its name in ``rg.config.veclib``.

    Raises
    ------
    CompileError
        Where the library is not installed.
    """
    _loaded(name)


def has(symbol: str) -> bool:
    """Load the library that a symbol must come from, and tell whether it has it.

    Parameters
    ----------
    symbol : str
        A function's name.

    Returns
    -------
    bool
        False for a symbol that is not of such a library, and where the library is not installed.
    """
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
    """Return a call of a library's function.

    Parameters
    ----------
    library : str
        The library's name.
    function : str
        The function, by our name.
    features : str
        The processor's, as LLVM writes them.
    arity : int
        The number of operands.
    kind : llvmlite.ir.Type
        Their type.

    Returns
    -------
    callable or None
        The call as a formula; None where the library lacks the function for this processor.
    """
    name = NAMES.get(function)
    if name is None:
        return None
    handle = _loaded(library)
    suffix, bits = ("", 64) if kind == FLOAT64 else ("f", 32)
    # Not 512 bits: there libmvec's exp2 rounds differently, and LLVM mostly prefers 256.
    widest = 256 if "+avx2" in features else 128
    # Half of the widest is for loops in which other numbers are twice as long.
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
    """Return a function of one number that calls a vector's."""
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
    """Keep functions declared that only an attribute names."""
    pointer = ir.PointerType(ir.IntType(8))
    items = [module.globals[symbol].bitcast(pointer) for symbol in symbols]
    used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(items)), "llvm.compiler.used")
    used.linkage = "appending"
    used.section = "llvm.metadata"
    used.initializer = ir.Constant(used.value_type, items)
