"""Linear algebra of PyTensor, alone and in batches (``Blockwise``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import relgraph.numpy as rnp
import relgraph.ops.elementwise as ew
from relgraph.interop.pytensor.tensors import Unsupported
from relgraph.ops.linalg.blocks import block_diag, kron
from relgraph.ops.linalg.factored_solve import cho_solve
from relgraph.ops.linalg.factorisations import eigh, eigvalsh, expm, qr, svd
from relgraph.ops.linalg.solve import Det, Inv, cholesky, slogdet, solve, solve_triangular
from relgraph.ops.shape import dim, expand_dims
from relgraph.ops.permutation import matrix_transpose

# Ops whose translations take batches of matrices, in leading axes.
BATCHED = frozenset({
    "Dot", "MatrixInverse", "Det", "SLogDet", "Eigh", "Eigvalsh", "Cholesky", "SolveTriangular",
    "Solve", "CholeskySolve", "Expm", "SVD", "QR",
})  # fmt: skip


def _blockwise(loader: Any, op: Any, node: Any, *operands: Any) -> Any:
    """Translate an op that applies another to the last axes of its operands."""
    core = op.core_op
    batch = node.outputs[0].type.ndim - len(op.outputs_sig[0])
    if batch == 0:
        return loader.apply(core, node, operands)
    if any(cls.__name__ in BATCHED for cls in type(core).__mro__):
        name = type(core).__name__
        return _matmul(operands) if name == "Dot" else loader.apply(core, node, operands)
    raise Unsupported(f"{type(core).__name__} has no translation for batches")


def _matmul(operands: Sequence[Any]) -> Any:
    return rnp.matmul(*operands)


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda loader, op, node, x: function(x)


def _cholesky(loader: Any, op: Any, node: Any, a: Any) -> Any:
    return cholesky(a) if op.lower else matrix_transpose(cholesky(matrix_transpose(a)))


def _system(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the translation of a solver, with vectors on the right in batches too."""

    def translated(loader: Any, op: Any, node: Any, a: Any, b: Any) -> Any:
        if op.b_ndim == 1 and (a.ndim > 2 or b.ndim > 1):
            result = function(op, a, expand_dims(b, (-1,)))
            return rnp.squeeze(result, axis=-1)
        return function(op, a, b)

    return translated


def _solve_triangular(op: Any, a: Any, b: Any) -> Any:
    return solve_triangular(a, b, lower=op.lower, unit_diagonal=op.unit_diagonal)


def _solve(op: Any, a: Any, b: Any) -> Any:
    if op.assume_a == "pos":  # only one triangle is read
        lower = a if op.lower else matrix_transpose(a)
        return cho_solve((cholesky(lower), True), b)
    return solve(a, b)


def _cho_solve(op: Any, c: Any, b: Any) -> Any:
    return cho_solve((c, op.lower), b)


def _eigh(loader: Any, op: Any, node: Any, a: Any) -> Any:
    return list(eigh(a if op.UPLO == "L" else matrix_transpose(a)))


def _eigvalsh(loader: Any, op: Any, node: Any, a: Any, b: Any = None) -> Any:
    if b is not None:
        raise Unsupported("generalised eigenvalues have no counterpart")
    return eigvalsh(a if op.lower else matrix_transpose(a))


def _svd(loader: Any, op: Any, node: Any, a: Any) -> Any:
    u, s, vt = svd(a, full_matrices=op.full_matrices)
    return [u, s, vt] if op.compute_uv else s


def _qr(loader: Any, op: Any, node: Any, a: Any) -> Any:
    if op.mode not in ("economic", "full") or getattr(op, "pivoting", False):
        raise Unsupported(f"the mode {op.mode!r} of QR, or pivoting, has no counterpart")
    return list(qr(a, "reduced" if op.mode == "economic" else "complete"))


def _block_diagonal(loader: Any, op: Any, node: Any, *blocks: Any) -> Any:
    return block_diag(*blocks)


def _kron(loader: Any, op: Any, node: Any, a: Any, b: Any) -> Any:
    return kron(a, b)


def _eigh_gradient(loader: Any, op: Any, node: Any, x: Any, w: Any, v: Any, W: Any, V: Any) -> Any:
    """Return the cotangent of a matrix from those of its eigenvalues and eigenvectors."""
    identity = rnp.eye(dim(w, 0))
    gaps = expand_dims(w, (-2,)) - expand_dims(w, (-1,))
    inverse = (1 - identity) / (gaps + identity)
    inner = identity * expand_dims(W, (-1,)) + matrix_transpose(inverse * (v.mT @ V))
    full = v @ inner @ v.mT
    if op.UPLO == "L":  # eigh reads one triangle
        return rnp.tril(full) + rnp.triu(full, 1).mT
    return rnp.triu(full) + rnp.tril(full, -1).mT


def _positive_definite(loader: Any, op: Any, node: Any, a: Any) -> Any:
    """Return whether all eigenvalues of a symmetric matrix are positive."""
    return rnp.all(ew.greater(eigvalsh(a), 0))


def _fill_diagonal(loader: Any, op: Any, node: Any, a: Any, value: Any) -> Any:
    if a.ndim != 2 or a.type.shape[0] != a.type.shape[1]:
        raise Unsupported("it is translated for square matrices only")
    identity = rnp.eye(dim(a, 0), dtype=a.dtype.name)
    return ew.where(ew.equal(identity, 1), value, a)


TABLE: dict[str, Callable[..., Any]] = {
    "Blockwise": _blockwise,
    "MatrixInverse": _unary(Inv()),
    "Det": _unary(Det()),
    "SLogDet": lambda loader, op, node, x: list(slogdet(x)),
    "Eigh": _eigh,
    "EighGrad": _eigh_gradient,
    "Eigvalsh": _eigvalsh,
    "SVD": _svd,
    "QR": _qr,
    "Expm": _unary(expm),
    "Cholesky": _cholesky,
    "SolveTriangular": _system(_solve_triangular),
    "Solve": _system(_solve),
    "CholeskySolve": _system(_cho_solve),
    "BlockDiagonal": _block_diagonal,
    "KroneckerProduct": _kron,
    "PosDefMatrix": _positive_definite,
    "FillDiagonal": _fill_diagonal,
}

__all__ = ["BATCHED", "TABLE"]
