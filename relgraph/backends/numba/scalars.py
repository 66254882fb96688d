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
from relgraph.backends.numba.elementary.table import TABLE
from relgraph.backends.numba.elementary.values import FLOAT32, FLOAT64, definition
from relgraph.backends.numba.instructions import Scalar
from relgraph.settings import config


def compile_scalar(callee: str, dtypes: tuple[str, ...], symbol: str) -> Scalar:
    """Compile a function for arguments of these dtypes and name it ``symbol``.

    ``callee`` is its name in the source of kernels, such as ``"exp"`` or ``"math.sin"``; ``"pow"``
    stands for Python's ``**``.
    """
    if callee in TABLE:
        return _elementary(callee, dtypes[0], symbol)
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


def _elementary(callee: str, dtype: str, symbol: str) -> Scalar:
    row = TABLE[callee]
    kind = FLOAT64 if dtype == "float64" else FLOAT32
    formula = row.formula
    if config.veclib is not None:
        features = machine.processor()[1]
        library_formula = vector_libraries.formula(config.veclib, callee, features, row.arity, kind)
        formula = formula if library_formula is None else library_formula
    text = str(definition(symbol, formula, kind, row.arity))
    with machine.lock:
        return Scalar(symbol, dtype, llvm.parse_assembly(text).as_bitcode())
