"""Products and factorisations of matrices."""

# ruff: noqa: PLR0917 - kernels take many arrays

import numpy as np

from tests.numerical_programs.program import Program


def gemm(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C


def k2mm(alpha, beta, A, B, C, D):
    D[:] = alpha * A @ B @ C + beta * D


def k3mm(A, B, C, D):
    return A @ B @ C @ D


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def mvt(x1, x2, y1, y2, A):
    x1 += A @ y1
    x2 += y2 @ A


def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


def symm(alpha, beta, C, A, B):
    C *= beta
    partial = np.empty((C.shape[1],), dtype=C.dtype)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            partial[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * partial


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]


def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


def cholesky2(A):
    A[:] = np.linalg.cholesky(A) + np.triu(A, k=1)


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]


def ludcmp(A, b):
    x, y = np.zeros_like(b), np.zeros_like(b)
    lu(A)
    for i in range(A.shape[0]):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(A.shape[0] - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return x, y


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return Q, R


def durbin(r):
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def doitgen(A, C4):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            total = A[r, q, :] @ C4
            A[r, q, :] = total


def spmv(rows, columns, values, x):
    y = np.empty(rows.size - 1, values.dtype)
    for i in range(rows.size - 1):
        one = slice(rows[i], rows[i + 1])
        y[i] = values[one] @ x[columns[one]]
    return y


def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))


def positive_definite(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


def _sparse(rng):
    rows = np.array([0, 2, 2, 5, 7])
    return rows, rng.integers(0, 6, 7), rng.normal(size=7), rng.normal(size=6)


def _matrices(*shapes, numbers=()):
    return lambda rng: (*numbers, *[rng.normal(size=shape) for shape in shapes])


def _vectors(rng):
    return 1.5, 1.2, rng.normal(size=(5, 5)), *[rng.normal(size=5) for _ in range(8)]


PROGRAMS = [
    Program(gemm, _matrices((3, 4), (3, 5), (5, 4), numbers=(1.5, 1.2))),
    Program(k2mm, _matrices((3, 4), (4, 5), (5, 2), (3, 2), numbers=(1.5, 1.2))),
    Program(k3mm, _matrices((3, 4), (4, 5), (5, 2), (2, 6))),
    Program(atax, _matrices((4, 5), 5)),
    Program(bicg, _matrices((4, 5), 5, 4)),
    Program(mvt, _matrices(4, 4, 4, 4, (4, 4))),
    Program(gesummv, _matrices((4, 4), (4, 4), 4, numbers=(1.5, 1.2))),
    Program(gemver, _vectors),
    Program(symm, _matrices((4, 3), (4, 4), (4, 3), numbers=(1.5, 1.2))),
    Program(syrk, _matrices((4, 4), (4, 3), numbers=(1.5, 1.2))),
    Program(syr2k, _matrices((4, 4), (4, 3), (4, 3), numbers=(1.5, 1.2))),
    Program(trmm, _matrices((4, 4), (4, 3), numbers=(1.5,))),
    Program(trisolv, lambda rng: (positive_definite(rng, 5), *rng.normal(size=(2, 5)))),
    Program(cholesky, lambda rng: (positive_definite(rng, 5),)),
    Program(cholesky2, lambda rng: (positive_definite(rng, 5),)),
    Program(lu, lambda rng: (positive_definite(rng, 5),)),
    Program(ludcmp, lambda rng: (positive_definite(rng, 4), rng.normal(size=4))),
    Program(gramschmidt, _matrices((5, 3))),
    Program(durbin, lambda rng: (rng.normal(size=6) / 10,)),
    Program(doitgen, _matrices((2, 3, 4), (4, 4))),
    Program(spmv, _sparse),
    Program(floyd_warshall, lambda rng: (rng.integers(1, 20, (5, 5)),)),
]
