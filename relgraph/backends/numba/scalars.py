"""Functions of scalars that kernels call: compiled once, then a part of each loop.

A function is one of :mod:`relgraph.backends.numba.elementary`, or of a vendor's library of vector
functions (``rg.config.veclib``), which LLVM compiles, or one of
:mod:`relgraph.backends.numba.functions`, of Python's ``math`` or of NumPy.  Compiling one of these
takes numba far longer than a kernel takes LLVM, so its bitcode is kept on disk as kernels are, and
numba is only imported where it is not there.
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
    """Compile a function for arguments of given dtypes.

    Parameters
    ----------
    callee : str
        Its name, as a kernel writes it: ``"exp"``, ``"math.sin"``; ``"pow"`` for Python's ``**``.
    dtypes : tuple of str
        The dtypes of its arguments.
    symbol : str
        The name that it gets.

    Returns
    -------
    Scalar
        The function.
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
    module = compiled.library._final_module  # numba has no public way to a function's bitcode
    return Scalar(symbol, str(result), machine.definition(module, name, symbol))


def _elementary(callee: str, dtype: str, symbol: str) -> Scalar:
    row = TABLE[callee]
    kind = FLOAT64 if dtype == "float64" else FLOAT32
    formula = row.formula
    if config.veclib is not None:
        features = machine.processor()[1]
        given = vector_libraries.formula(config.veclib, callee, features, row.arity, kind)
        formula = formula if given is None else given
    text = str(definition(symbol, formula, kind, row.arity))
    with machine.lock:
        return Scalar(symbol, dtype, llvm.parse_assembly(text).as_bitcode())
