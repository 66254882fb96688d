"""Scalar functions that kernels call, as bitcode that is inlined into each loop.

Relgraph prints the LLVM IR of the functions of :mod:`relgraph.backends.numba.elementary`, and of
calls to a vector library (``rg.config.veclib``).  Numba compiles the others: those of
:mod:`relgraph.backends.numba.functions`, Python's ``math`` and NumPy, and ``**``.  That takes numba
far longer than LLVM takes to compile a kernel, so the bitcode is cached on disk, and numba is
imported only if it is missing there.
"""

from __future__ import annotations

import math
from typing import Any

import llvmlite.binding as llvm

from relgraph.backends.numba import machine, vector_libraries
from relgraph.backends.numba.elementary.table import EQUAL, TABLE
from relgraph.backends.numba.elementary.values import FLOAT32, FLOAT64, Formula, definition
from relgraph.backends.numba.instructions import Scalar
from relgraph.settings import config


def compile_scalar(callee: str, dtypes: tuple[str, ...], symbol: str) -> Scalar:
    """Compile a function for arguments of these dtypes and name it ``symbol``.

    ``callee`` is its name in the source of kernels, such as ``"exp"`` or ``"math.sin"``; ``"pow"``
    stands for Python's ``**``.
    """
    kind = FLOAT64 if dtypes[0] == "float64" else FLOAT32
    if callee in TABLE:
        return _scalar(symbol, _formula(callee, kind), kind, TABLE[callee].arity)
    if callee in EQUAL:
        return _scalar(symbol, EQUAL[callee], kind, 2)
    import numpy as np
    from numba.core import compiler, registry, types

    from relgraph.backends.numba import functions

    names = ", ".join(f"x{i}" for i in range(len(dtypes)))
    call = "x0 ** x1" if callee == "pow" else f"{callee}({names})"
    namespace: dict[str, Any] = {**vars(functions), "math": math, "np": np}
    exec(f"def scalar({names}):\n    return {call}\n", namespace)
    typing = registry.cpu_target.typing_context
    target = registry.cpu_target.target_context
    typing.refresh()
    target.refresh()
    flags = compiler.Flags()
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    arguments = tuple(getattr(types, "boolean" if d == "bool" else d) for d in dtypes)
    compiled = compiler.compile_extra(
        typing, target, namespace["scalar"], arguments, None, flags, {}
    )
    result = compiled.signature.return_type
    name = compiled.fndesc.mangled_name
    module = compiled.library._final_module  # numba has no public API for a function's bitcode
    return Scalar(symbol, str(result), machine.definition(module, name, symbol))


def _formula(callee: str, kind: Any) -> Formula:
    """Return relgraph's formula of an elementary function, or a call of a vector library."""
    row = TABLE[callee]
    if config.veclib is None:
        return row.formula
    features = machine.processor()[1]
    library = vector_libraries.formula(config.veclib, callee, features, row.arity, kind)
    return row.formula if library is None else library


def _scalar(symbol: str, formula: Formula, kind: Any, arity: int) -> Scalar:
    text = str(definition(symbol, formula, kind, arity))
    with machine.lock:
        dtype = "float64" if kind == FLOAT64 else "float32"
        return Scalar(symbol, dtype, llvm.parse_assembly(text).as_bitcode())
