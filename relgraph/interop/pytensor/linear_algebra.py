"""Translation of PyTensor's linear algebra, for single matrices and batches (``Blockwise``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import relgraph.numpy as rnp
import relgraph.ops.elementwise as ew
from relgraph.interop.pytensor.tensors import Unsupported, Use, diagonals
from relgraph.ops.linalg.blocks import block_diag, kron
from relgraph.ops.linalg.factored_solve import cho_solve
from relgraph.ops.linalg.factorisations import eigh, eigvalsh, expm, qr, svd
from relgraph.ops.linalg.solve import Det, Inv, cholesky, slogdet, solve, solve_triangular
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import broadcast_to, dim, expand_dims

# Ops whose translations take batches of matrices, in leading axes.
BATCHED = frozenset({
    "Dot", "MatrixInverse", "Det", "SLogDet", "Eigh", "Eigvalsh", "Cholesky", "SolveTriangular",
    "Solve", "CholeskySolve", "Expm", "SVD", "QR",
})  # fmt: skip


def _one_for_all(use: Use, core: Any, operands: Sequence[Any], batch: int) -> Any:
    """Translate a range in a batch, where all ranges are equal, because their sizes are."""
    first = [x[(0,) * batch] for x in operands]
    single = use.loader.apply(core, use.node, first)
    shape = use.node.outputs[0].type.shape[:batch]
    if not all(isinstance(size, int) for size in shape):
        raise Unsupported("it is a batch of ranges of unknown size")
    return broadcast_to(single, (*shape, dim(single, 0)))


def _blockwise(use: Use, *operands: Any) -> Any:
    """Translate an op that applies another to the last axes of its operands."""
    core = use.op.core_op
    batch = use.node.outputs[0].type.ndim - len(use.op.outputs_sig[0])
    if batch == 0:
        return use.loader.apply(core, use.node, operands)
    if type(core).__name__ == "AllocDiag":
        return diagonals(operands[0], core.offset)
    if type(core).__name__ == "ARange":
        return _one_for_all(use, core, operands, batch)
    if any(cls.__name__ in BATCHED for cls in type(core).__mro__):
        name = type(core).__name__
        return _matmul(operands) if name == "Dot" else use.loader.apply(core, use.node, operands)
    raise Unsupported(f"{type(core).__name__} has no translation for batches")


def _matmul(operands: Sequence[Any]) -> Any:
    return rnp.matmul(*operands)


def _unary(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda use, x: function(x)


def _cholesky(use: Use, a: Any) -> Any:
    return cholesky(a) if use.op.lower else matrix_transpose(cholesky(matrix_transpose(a)))


def _system(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the translation of a solver that also takes batches of vectors as right sides."""

    def translated(use: Use, a: Any, b: Any) -> Any:
        if use.op.b_ndim == 1 and (a.ndim > 2 or b.ndim > 1):
            result = function(use, a, expand_dims(b, (-1,)))
            return rnp.squeeze(result, axis=-1)
        return function(use, a, b)

    return translated


def _solve_triangular(use: Use, a: Any, b: Any) -> Any:
    return solve_triangular(a, b, lower=use.op.lower, unit_diagonal=use.op.unit_diagonal)


def _solve(use: Use, a: Any, b: Any) -> Any:
    if use.op.assume_a == "pos":  # only one triangle is read
        lower = a if use.op.lower else matrix_transpose(a)
        return cho_solve((cholesky(lower), True), b)
    return solve(a, b)


def _cho_solve(use: Use, c: Any, b: Any) -> Any:
    return cho_solve((c, use.op.lower), b)


def _eigh(use: Use, a: Any) -> Any:
    return list(eigh(a if use.op.UPLO == "L" else matrix_transpose(a)))


def _symmetric(a: Any, lower: bool) -> Any:
    """Return the symmetric matrix that one triangle of a matrix defines."""
    if lower:
        return rnp.tril(a) + matrix_transpose(rnp.tril(a, -1))
    return rnp.triu(a) + matrix_transpose(rnp.triu(a, 1))


def _reduced(use: Use, a: Any, b: Any) -> tuple[Any, Any]:
    """Return C and L so that a x = w b x if and only if C y = w y, with b = L L.T and y = L.T x."""
    factor = cholesky(_symmetric(b, use.op.lower))
    half = solve_triangular(factor, _symmetric(a, use.op.lower), lower=True)
    return solve_triangular(factor, matrix_transpose(half), lower=True), factor


def _eigvalsh(use: Use, a: Any, b: Any = None) -> Any:
    return (
        eigvalsh(a if use.op.lower else matrix_transpose(a))
        if b is None
        else eigvalsh(_reduced(use, a, b)[0])
    )


def _eigvalsh_gradient(use: Use, a: Any, b: Any, gw: Any) -> Any:
    """Return the cotangents of both matrices from that of the eigenvalues."""
    reduced, factor = _reduced(use, a, b)
    w, u = eigh(reduced)
    v = solve_triangular(factor, u, lower=True, trans=1)
    first = (v * gw) @ matrix_transpose(v)
    second = -(v * (gw * w)) @ matrix_transpose(v)
    return [_read_triangle(first, use.op.lower), _read_triangle(second, use.op.lower)]


def _read_triangle(g: Any, lower: bool) -> Any:
    """Return the cotangent of a symmetric matrix that an op reads from one triangle."""
    if lower:
        return rnp.tril(g) + matrix_transpose(rnp.triu(g, 1))
    return rnp.triu(g) + matrix_transpose(rnp.tril(g, -1))


def _svd(use: Use, a: Any) -> Any:
    u, s, vt = svd(a, full_matrices=use.op.full_matrices)
    return [u, s, vt] if use.op.compute_uv else s


def _qr(use: Use, a: Any) -> Any:
    if use.op.mode not in ("economic", "full") or getattr(use.op, "pivoting", False):
        raise Unsupported(f"the mode {use.op.mode!r} of QR, or pivoting, has no counterpart")
    return list(qr(a, "reduced" if use.op.mode == "economic" else "complete"))


def _block_diagonal(use: Use, *blocks: Any) -> Any:
    return block_diag(*blocks)


def _kron(use: Use, a: Any, b: Any) -> Any:
    return kron(a, b)


def _eigh_gradient(use: Use, *operands: Any) -> Any:
    """Return the cotangent of a matrix from those of its eigenvalues and eigenvectors."""
    _, w, v, W, V = operands
    identity = rnp.eye(dim(w, 0))
    gaps = expand_dims(w, (-2,)) - expand_dims(w, (-1,))
    inverse = (1 - identity) / (gaps + identity)
    inner = identity * expand_dims(W, (-1,)) + matrix_transpose(inverse * (matrix_transpose(v) @ V))
    return _read_triangle(v @ inner @ matrix_transpose(v), use.op.UPLO == "L")


def _positive_definite(use: Use, a: Any) -> Any:
    """Return whether all eigenvalues of a symmetric matrix are positive."""
    return rnp.all(ew.greater(eigvalsh(a), 0))


def _fill_diagonal(use: Use, a: Any, value: Any) -> Any:
    if a.ndim != 2 or a.type.shape[0] != a.type.shape[1]:
        raise Unsupported("it is translated for square matrices only")
    identity = rnp.eye(dim(a, 0), dtype=a.dtype.name)
    return ew.where(ew.equal(identity, 1), value, a)


TABLE: dict[str, Callable[..., Any]] = {
    "Blockwise": _blockwise,
    "MatrixInverse": _unary(Inv()),
    "Det": _unary(Det()),
    "SLogDet": lambda use, x: list(slogdet(x)),
    "Eigh": _eigh,
    "EighGrad": _eigh_gradient,
    "Eigvalsh": _eigvalsh,
    "EigvalshGrad": _eigvalsh_gradient,
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
