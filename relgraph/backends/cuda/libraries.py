"""Ops that NVIDIA's libraries compute, through CuPy: factorisations, sorts, contractions.

The first graph with such an op imports CuPy.  Without CuPy, or in the simulator, the ops run on the
CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.errors import LinearAlgebraError
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Einsum
from relgraph.ops.linalg.blocks import Kron
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.factorisations import QR, SVD, Eigh, Eigvalsh, LUFactor
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Trace, Tril, Triu
from relgraph.ops.sorting import Argsort, Sort

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run


@lru_cache(maxsize=1)
def cupy() -> Any:
    """Return CuPy; None if it is not installed or finds no device."""
    if adapter.simulated():
        return None
    try:
        import cupy as module

        module.cuda.runtime.getDeviceCount()
    except Exception:  # without a driver CuPy raises an error that only it defines
        return None
    return module


def view(array: DeviceArray) -> Any:
    """Return a CuPy array over the same memory, without waiting for its stream."""
    cp = cupy()
    memory = cp.cuda.UnownedMemory(
        adapter.pointer(flat_of(array)), max(1, array.nbytes), array, adapter.device_number()
    )
    return cp.ndarray(array.shape, array.dtype, cp.cuda.MemoryPointer(memory, 0))


def from_cupy(value: Any, dtype: np.dtype[Any], stream: Any) -> DeviceArray:
    """Convert a CuPy array to a DeviceArray over the same memory."""
    shape = tuple(value.shape)
    value = cupy().ascontiguousarray(value, dtype)  # this may add an axis to a scalar
    flat = adapter.adopt(value.data.ptr, dtype, math.prod(shape), value)
    return DeviceArray(flat, shape, dtype, value, stream)


def on_stream(run: Run) -> Any:
    """Return a context in which CuPy uses the stream of a call."""
    module, handle = cupy().cuda, adapter.stream_handle(run.stream)
    if handle == 0:
        return module.Stream.null
    if hasattr(module.Stream, "from_external"):  # since CuPy 14
        return module.Stream.from_external(_Handle(handle))
    return module.ExternalStream(handle)


class _Handle:
    """A stream in the protocol that libraries share."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def library_call(node: Variable) -> Callable[[Run], Any] | None:
    """Return the function that computes an op through a library; None without CuPy."""
    if type(node.op) not in _FUNCTIONS or cupy() is None:
        return None
    return lambda run: _by_cupy(run, node)


def _by_cupy(run: Run, node: Variable) -> Any:
    op: Any = node.op
    run.refuse_recording(node)
    operands = [run.on_device(x) for x in node.inputs]
    if not all(x.size for x in operands) or not _computes(node, operands):
        return None  # NumPy has its own rules for empty arrays and integers
    with on_stream(run), _raising():
        try:
            value = _FUNCTIONS[type(op)](cupy(), op, *map(view, operands))
        except np.linalg.LinAlgError as error:
            raise LinearAlgebraError(
                f"{op!r}: {error}",
                {"in": brief(node, 12)},
                "Give it a matrix for which the result is defined.",
            ) from error
        if value is None:
            return None
        if isinstance(node.type, TensorType):
            return from_cupy(value, node.type.dtype, run.stream) if value.size else None
        kinds: Any = node.type
        return tuple(
            from_cupy(part, kind.dtype, run.stream)
            for part, kind in zip(value, kinds.items, strict=True)
        )


def _computes(node: Variable, operands: list[DeviceArray]) -> bool:
    """Return True if the library computes in the same dtypes as NumPy for these operands."""
    assert node.op is not None
    if node.op.moves_elements:
        return True
    kinds: Any = [node.type] if isinstance(node.type, TensorType) else node.type
    results = getattr(kinds, "items", kinds)
    dtype = results[0].dtype
    floats = [x.dtype for x in operands if x.dtype != np.int32]  # int32: the pivots of a factor
    return bool(dtype.kind == "f") and all(x == dtype for x in floats)


def _raising() -> Any:
    """Return a context in which CuPy raises for singular matrices."""
    from cupyx import errstate

    return errstate(linalg="raise")


def _swapped(a: Any) -> Any:
    return a.swapaxes(-1, -2)


def _cholesky(cp: Any, op: Any, a: Any) -> Any:
    if op.params[0]:
        return cp.linalg.cholesky(a)
    return _swapped(cp.linalg.cholesky(_swapped(a)))


def _substituted(a: Any, b: Any, lower: bool, trans: int = 0, unit: bool = False) -> Any:
    """Solve triangular systems with one or several right sides; batches broadcast."""
    from cupyx.scipy.linalg import solve_triangular

    return solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit)


def _system(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a solver of matrix systems so that it broadcasts batches and accepts vectors."""

    def solve(cp: Any, op: Any, a: Any, b: Any) -> Any:
        right = b[:, None] if b.ndim == 1 else b
        batch = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
        if a.shape[-1] != a.shape[-2] or a.shape[-1] != right.shape[-2]:
            return None  # NumPy raises the error
        a = cp.ascontiguousarray(cp.broadcast_to(a, (*batch, *a.shape[-2:])))
        right = cp.ascontiguousarray(cp.broadcast_to(right, (*batch, *right.shape[-2:])))
        value = function(cp, op, a, right)
        return value[..., 0] if b.ndim == 1 else value

    return solve


def _solve(cp: Any, op: Any, a: Any, b: Any) -> Any:
    if op.params[0] == "general":
        return cp.linalg.solve(a, b)
    factor = cp.linalg.cholesky(a)
    return _substituted(factor, _substituted(factor, b, True), True, trans=1)


def _solve_triangular(cp: Any, op: Any, a: Any, b: Any) -> Any:
    lower, trans, unit = op.params
    if not unit and (cp.diagonal(a, axis1=-2, axis2=-1) == 0).any():
        return None  # the CPU raises the error for a singular matrix
    return _substituted(a, b, lower, trans, unit)


def _cho_solve(cp: Any, op: Any, factor: Any, b: Any) -> Any:
    (lower,) = op.params
    if (cp.diagonal(factor, axis1=-2, axis2=-1) == 0).any():
        raise np.linalg.LinAlgError("Singular matrix")
    half = _substituted(factor, b, lower, trans=0 if lower else 1)
    return _substituted(factor, half, lower, trans=1 if lower else 0)


def _lu_factor(cp: Any, op: Any, a: Any) -> Any:
    import warnings

    from cupyx.scipy.linalg import lu_factor

    if a.ndim != 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # zeros on the diagonal are allowed
        return lu_factor(a, check_finite=False)


def _lu_solve(cp: Any, op: Any, factors: Any, pivots: Any, b: Any) -> Any:
    from cupyx.scipy.linalg import lu_solve

    if factors.ndim != 2 or b.ndim > 2 or factors.shape[-1] != b.shape[0]:
        return None
    if (cp.diagonal(factors) == 0).any():
        raise np.linalg.LinAlgError("Singular matrix")
    return lu_solve((factors, pivots), b, trans=op.params[0], check_finite=False)


def _diag(cp: Any, op: Any, x: Any) -> Any:
    (k,) = op.params
    side = x.shape[-1] + abs(k)
    result = cp.zeros((*x.shape[:-1], side, side), x.dtype)
    rows = cp.arange(x.shape[-1]) + max(0, -k)
    result[..., rows, rows + k] = x
    return result


# Each op's function in CuPy, given the module, the op and the operands.
_FUNCTIONS: dict[type[Op], Callable[..., Any]] = {
    Argsort: lambda cp, op, x: cp.argsort(x, axis=op.params[0]),
    ChoSolve: _system(_cho_solve),
    Cholesky: _cholesky,
    Det: lambda cp, op, a: cp.linalg.det(a),
    Diag: _diag,
    Eigh: lambda cp, op, a: cp.linalg.eigh(a, "L" if op.params[0] else "U"),
    Eigvalsh: lambda cp, op, a: cp.linalg.eigvalsh(a, "L" if op.params[0] else "U"),
    Einsum: lambda cp, op, *operands: cp.einsum(op.params[0], *operands),
    Inv: lambda cp, op, a: cp.linalg.inv(a),
    Kron: lambda cp, op, a, b: cp.kron(a, b),
    LUFactor: _lu_factor,
    LUSolve: _lu_solve,
    QR: lambda cp, op, a: tuple(cp.linalg.qr(a, op.params[0])),
    Slogdet: lambda cp, op, a: tuple(cp.linalg.slogdet(a)),
    Solve: _system(_solve),
    SolveTriangular: _system(_solve_triangular),
    Sort: lambda cp, op, x: cp.sort(x, axis=op.params[0]),
    SVD: lambda cp, op, a: tuple(cp.linalg.svd(a, full_matrices=op.params[0])),
    Trace: lambda cp, op, a: cp.trace(a, axis1=-2, axis2=-1),
    Tril: lambda cp, op, a: cp.tril(a, op.params[0]),
    Triu: lambda cp, op, a: cp.triu(a, op.params[0]),
}
