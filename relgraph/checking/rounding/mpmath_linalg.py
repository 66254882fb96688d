"""The exact meaning of ops on matrices, as mpmath computes them, one matrix at a time.

A factor that is not unique has the signs and the order that LAPACK documents: ``dlarfg`` reflects
columns, the largest pivot determines row interchanges, and values are sorted by size.  LAPACK does
not document the sign of an eigenvector; here its largest component is positive.  Pairs of singular
vectors have mpmath's sign.

References
----------
G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., sections 3.4, 5.2, 7.4, 7.7 and 8.3.
E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM, 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from relgraph.ops.linalg import factored_solve, factorisations, solve

Array = Any


class Undefined(Exception):
    """A graph without an exact real value: outside of a domain, or with an op not listed here."""


def value(op: Any, operands: list[Array]) -> Any:
    """Return the results of an op for all matrices of a batch: an array, or a tuple of them."""
    function = MEANING[type(op)]
    if any(x.size == 0 for x in operands):
        raise Undefined("an empty matrix")
    cores = [min(x.ndim, 2) for x in operands]
    shapes = [x.shape[: x.ndim - n] for x, n in zip(operands, cores, strict=True)]
    batch = np.broadcast_shapes(*shapes)
    if not batch:
        return function(op, *operands)
    whole = [
        np.broadcast_to(x, (*batch, *x.shape[x.ndim - n :]))
        for x, n in zip(operands, cores, strict=True)
    ]
    parts = [function(op, *[x[at] for x in whole]) for at in np.ndindex(*batch)]
    if isinstance(parts[0], tuple):
        return tuple(_stacked(p, batch) for p in zip(*parts, strict=True))
    return _stacked(parts, batch)


def _stacked(parts: Any, batch: tuple[int, ...]) -> Array:
    return np.stack(parts).reshape(*batch, *parts[0].shape)


def _matrix(a: Array) -> Any:
    return mpmath.matrix(a.tolist())


def _array(a: Any, shape: tuple[int, ...]) -> Array:
    return np.array(a.tolist(), dtype=object).reshape(shape)


def _eye(n: int) -> Array:
    return _array(mpmath.eye(n), (n, n))


def _symmetric(op: Any, a: Array) -> Array:
    """Return the matrix that one triangle stands for."""
    half = (np.tril if op.params[0] else np.triu)(a)
    return half + half.T - np.diag(np.diagonal(a))


def _det(op: Any, a: Array) -> Array:
    return np.asarray(mpmath.det(_matrix(a)), dtype=object)


def _slogdet(op: Any, a: Array) -> tuple[Array, ...]:
    det = mpmath.det(_matrix(a))
    parts = (mpmath.sign(det), mpmath.log(abs(det)))
    return tuple(np.asarray(part, dtype=object) for part in parts)


def _inv(op: Any, a: Array) -> Array:
    return _array(_matrix(a) ** -1, a.shape)


def _expm(op: Any, a: Array) -> Array:
    return _array(mpmath.expm(_matrix(a)), a.shape)


def _expm_frechet(op: Any, a: Array, e: Array) -> Array:
    """Return a block of the exponential of [[a, e], [0, a]]."""
    n = len(a)
    return _expm(op, np.block([[a, e], [0 * a, a]]))[:n, n:]


def _cholesky(op: Any, a: Array) -> Array:
    factor = _array(mpmath.cholesky(_matrix(_symmetric(op, a))), a.shape)
    return factor if op.params[0] else factor.T


# Systems.


def _solved(a: Array, b: Array) -> Array:
    right = mpmath.matrix(b.reshape(b.shape[0], -1).tolist())
    return _array(_matrix(a) ** -1 * right, b.shape)


def _solve(op: Any, a: Array, b: Array) -> Array:
    return _solved(a, b)


def _solve_triangular(op: Any, a: Array, b: Array) -> Array:
    lower, trans, unit = op.params
    a = (np.tril if lower else np.triu)(a)
    if unit:
        a[np.diag_indices(len(a))] = mpmath.mpf(1)
    return _solved(a.T if trans else a, b)


def _cho_solve(op: Any, a: Array, b: Array) -> Array:
    a = (np.tril if op.params[0] else np.triu)(a)
    return _solved(a @ a.T if op.params[0] else a.T @ a, b)


def _solve_sylvester(op: Any, a: Array, b: Array, q: Array) -> Array:
    """Solve the equation row by row, as one system."""
    m, n = q.shape
    whole = np.kron(a, _eye(n)) + np.kron(_eye(m), b.T)
    return _solved(whole, q.reshape(-1)).reshape(m, n)


# Factorisations.


def _eigvalsh(op: Any, a: Array) -> Array:
    values = mpmath.eigsy(_matrix(_symmetric(op, a)), eigvals_only=True)
    return np.array(sorted(values), dtype=object)


def _eigh(op: Any, a: Array) -> tuple[Array, ...]:
    values, vectors = mpmath.eigsy(_matrix(_symmetric(op, a)))
    order = np.argsort(_array(values, (-1,)))
    columns = _array(vectors, a.shape)[:, order]
    largest = columns[np.argmax(abs(columns), axis=0), np.arange(len(a))]
    signs = np.where(largest < 0, -1, 1)
    return _array(values, (-1,))[order], columns * signs


def _svd(op: Any, a: Array) -> tuple[Array, ...]:
    m, n = a.shape
    full = op.params[0]
    u, s, v = mpmath.svd_r(_matrix(a), full_matrices=full)
    k = min(m, n)
    left, right = (m, n) if full else (k, k)
    return _array(u, (m, left)), _array(s, (k,)), _array(v, (right, n))


def _qr(op: Any, a: Array) -> tuple[Array, ...]:
    """Reflect one column after another; a column with zeros below the diagonal is unchanged."""
    m, n = a.shape
    r, q = a.copy(), _eye(m)
    for j in range(min(m, n)):
        if not any(r[j + 1 :, j]):
            continue
        length = mpmath.sqrt(r[j:, j] @ r[j:, j])
        normal = r[j:, j].copy()
        normal[0] += -length if normal[0] < 0 else length
        scale = 2 / (normal @ normal)
        r[j:] = r[j:] - scale * np.outer(normal, normal @ r[j:])
        q[:, j:] = q[:, j:] - scale * np.outer(q[:, j:] @ normal, normal)
        r[j + 1 :, j] = mpmath.mpf(0)
    k = min(m, n) if op.params[0] == "reduced" else m
    return q[:, :k], r[:k]


def _lu_factor(op: Any, a: Array) -> tuple[Array, ...]:
    f, pivots = a.copy(), []
    for j in range(len(f)):
        row = j + int(np.argmax(abs(f[j:, j])))
        pivots.append(mpmath.mpf(row))
        f[[j, row]] = f[[row, j]]
        if f[j, j]:
            f[j + 1 :, j] /= f[j, j]
            f[j + 1 :, j + 1 :] -= np.outer(f[j + 1 :, j], f[j, j + 1 :])
    return f, np.array(pivots, dtype=object)


def _lu(op: Any, a: Array) -> tuple[Array, ...]:
    f, pivots = _lu_factor(op, a)
    rows = np.arange(len(a))
    for j, row in enumerate(map(int, pivots)):
        rows[[j, row]] = rows[[row, j]]
    unit = _eye(len(a))
    return unit[:, np.argsort(rows)].T, np.tril(f, -1) + unit, np.triu(f)


def _schur(op: Any, a: Array) -> tuple[Array, ...]:
    vectors, form = (_array(x, a.shape) for x in mpmath.schur(_matrix(a)))
    if any(mpmath.im(x) for x in (*vectors.flat, *form.flat)):
        raise Undefined("a Schur form with complex eigenvalues")
    return form, vectors


def _qz(op: Any, a: Array, b: Array) -> tuple[Array, ...]:
    """Take Q from the Schur form T of A inv(B); then Q.T B = R Z.T, and Q.T A Z is T R.

    The diagonal of R is not negative.
    """
    form, q = _schur(op, a @ _inv(op, b))
    z, r = _qr(factorisations.QR("complete"), (q.T @ b)[::-1].T)
    r, z = r.T[::-1, ::-1], z[:, ::-1]
    signs = np.where(np.diagonal(r) < 0, -1, 1)
    r, z = r * signs, z * signs
    return form @ r, r, q, z


MEANING: dict[type, Callable[..., Any]] = {
    solve.Det: _det,
    solve.Slogdet: _slogdet,
    solve.Inv: _inv,
    solve.Cholesky: _cholesky,
    solve.Solve: _solve,
    solve.SolveTriangular: _solve_triangular,
    factored_solve.ChoSolve: _cho_solve,
    factored_solve.SolveSylvester: _solve_sylvester,
    factorisations.Expm: _expm,
    factorisations.ExpmFrechet: _expm_frechet,
    factorisations.Eigvalsh: _eigvalsh,
    factorisations.Eigh: _eigh,
    factorisations.SVD: _svd,
    factorisations.QR: _qr,
    factorisations.LUFactor: _lu_factor,
    factorisations.LU: _lu,
    factorisations.Schur: _schur,
    factorisations.QZ: _qz,
}
