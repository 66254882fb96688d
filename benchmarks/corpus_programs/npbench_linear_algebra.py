"""NPBench's products and factorisations of matrices.

JAX's forms keep the outer loop where rows depend on each other, and compute a row at a time.
"""

# ruff: noqa: PLR0917 - kernels take many arrays

from __future__ import annotations

import numpy as np

from corpus_programs.program import UNROLLED, Program, jax, jnp, lax, normals, prange, uniforms
from tests.numerical_programs import linear_algebra as np_forms
from tests.numerical_programs.linear_algebra import positive_definite

ALPHA, BETA = 1.5, 1.2


def gemm_jax(alpha, beta, C, A, B):
    return alpha * A @ B + beta * C


def k2mm_jax(alpha, beta, A, B, C, D):
    return alpha * A @ B @ C + beta * D


def mvt_jax(x1, x2, y1, y2, A):
    return x1 + A @ y1, x2 + y2 @ A


def gemver_jax(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = x + beta * y @ A + z
    return A, w + alpha * A @ x, x


def symm_jax(alpha, beta, C, A, B):
    below = jnp.tril(A, -1)

    def row(i, C):
        C = C + alpha * jnp.outer(below[i], B[i])
        return C.at[i].add(alpha * B[i] * A[i, i] + alpha * (below[i] @ B))

    return lax.fori_loop(0, C.shape[0], row, C * beta)


def syrk_jax(alpha, beta, C, A):
    columns = jnp.arange(C.shape[1])

    def row(i, C):
        return C.at[i].set(jnp.where(columns <= i, beta * C[i] + alpha * (A @ A[i]), C[i]))

    return lax.fori_loop(0, A.shape[0], row, C)


def syr2k_jax(alpha, beta, C, A, B):
    columns = jnp.arange(C.shape[1])

    def row(i, C):
        new = beta * C[i] + alpha * (A @ B[i] + B @ A[i])
        return C.at[i].set(jnp.where(columns <= i, new, C[i]))

    return lax.fori_loop(0, A.shape[0], row, C)


def trmm_jax(alpha, A, B):
    below = jnp.tril(A, -1)

    def row(i, B):
        return B.at[i].add(below[:, i] @ B)

    return lax.fori_loop(0, B.shape[0], row, B) * alpha


def trisolv_jax(L, x, b):
    columns = jnp.arange(x.shape[0])

    def element(i, x):
        return x.at[i].set((b[i] - L[i] @ jnp.where(columns < i, x, 0.0)) / L[i, i])

    return lax.fori_loop(0, x.shape[0], element, x)


def cholesky_jax(A):
    columns = jnp.arange(A.shape[0])

    def row(i, A):
        def element(j, A):
            product = jnp.where(columns < j, A[i], 0.0) @ A[j]
            return A.at[i, j].set((A[i, j] - product) / A[j, j])

        A = lax.fori_loop(0, i, element, A)
        before = jnp.where(columns < i, A[i], 0.0)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - before @ before))

    return lax.fori_loop(0, A.shape[0], row, A)


def cholesky2_jax(A):
    return jnp.linalg.cholesky(A) + jnp.triu(A, k=1)


def lu_jax(A):
    columns = jnp.arange(A.shape[0])

    def row(i, A):
        def element(j, A):
            product = jnp.where(columns < j, A[i], 0.0) @ A[:, j]
            return A.at[i, j].set((A[i, j] - product) / A[j, j])

        A = lax.fori_loop(0, i, element, A)
        rest = A[i] - jnp.where(columns < i, A[i], 0.0) @ A
        return A.at[i].set(jnp.where(columns >= i, rest, A[i]))

    return lax.fori_loop(0, A.shape[0], row, A)


def ludcmp_jax(A, b):
    n = A.shape[0]
    columns = jnp.arange(n)
    A = lu_jax(A)

    def forward(i, y):
        return y.at[i].set(b[i] - jnp.where(columns < i, A[i], 0.0) @ y)

    y = lax.fori_loop(0, n, forward, jnp.zeros_like(b))

    def backward(k, x):
        i = n - 1 - k
        return x.at[i].set((y[i] - jnp.where(columns > i, A[i], 0.0) @ x) / A[i, i])

    return lax.fori_loop(0, n, backward, jnp.zeros_like(b)), y, A


def gramschmidt_jax(A):
    columns = jnp.arange(A.shape[1])

    def column(k, state):
        A, Q, R = state
        norm = jnp.sqrt(A[:, k] @ A[:, k])
        q = A[:, k] / norm
        r = jnp.where(columns > k, q @ A, 0.0)
        return A - jnp.outer(q, r), Q.at[:, k].set(q), R.at[k].set(r.at[k].set(norm))

    R = jnp.zeros((A.shape[1], A.shape[1]), A.dtype)
    A, Q, R = lax.fori_loop(0, A.shape[1], column, (A, jnp.zeros_like(A), R))
    return Q, R, A


def durbin_jax(r):
    places = jnp.arange(r.shape[0])

    def step(k, state):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        before = places < k
        flipped = jnp.where(before, y[k - 1 - places], 0.0)
        alpha = -(r[k] + jnp.where(before, r[k - 1 - places], 0.0) @ y) / beta
        return (y + alpha * flipped).at[k].set(alpha), alpha, beta

    y = jnp.zeros_like(r).at[0].set(-r[0])
    return lax.fori_loop(1, r.shape[0], step, (y, -r[0], jnp.ones((), r.dtype)))[0]


def doitgen_jax(A, C4):
    return A @ C4


def spmv_jax(rows, columns, values, x):
    places = jnp.searchsorted(rows, jnp.arange(values.size), side="right") - 1
    return jax.ops.segment_sum(values * x[columns], places, rows.size - 1)


def floyd_warshall_jax(path):
    def through(k, path):
        return jnp.minimum(path, path[:, k, None] + path[k])

    return lax.fori_loop(0, path.shape[0], through, path)


def floyd_warshall_numba(path):
    n = path.shape[0]
    for k in range(n):
        for i in prange(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])


def _gemver(rng, n):
    return ALPHA, BETA, *uniforms((n, n), *[n] * 8)(rng)


def _toeplitz(rng, n):
    return (rng.normal(size=n) / (10 * n),)


def _sparse(rng, m, n, nonzeros):
    rows = np.sort(rng.integers(0, nonzeros, m - 1))
    rows = np.concatenate([[0], rows, [nonzeros]])
    return rows, rng.integers(0, n, nonzeros), *normals(nonzeros, n)(rng)


def _scaled(*shapes):
    return lambda rng: (ALPHA, BETA, *uniforms(*shapes)(rng))


f = np_forms
PROGRAMS = [
    Program(
        f.gemm,
        lambda rng, m, n, k: _scaled((m, n), (m, k), (k, n))(rng),
        ((1000, 1100, 1200),), (3, 4, 5), jax=gemm_jax,
    ),
    Program(
        f.k2mm,
        lambda rng, m, n, k, j: _scaled((m, k), (k, j), (j, n), (m, n))(rng),
        ((800, 850, 900, 950),), (3, 4, 5, 6), jax=k2mm_jax,
    ),
    Program(
        f.k3mm,
        lambda rng, a, b, c, d, e: uniforms((a, b), (b, c), (c, d), (d, e))(rng),
        ((800, 850, 900, 950, 1000),), (3, 4, 5, 6, 7),
    ),
    Program(f.atax, lambda rng, m, n: uniforms((m, n), n)(rng), ((4000, 5000),), (4, 5)),
    Program(f.bicg, lambda rng, m, n: uniforms((m, n), n, m)(rng), ((5000, 6000),), (4, 5)),
    Program(
        f.mvt, lambda rng, n: uniforms(n, n, n, n, (n, n))(rng), ((5500,),), (5,), jax=mvt_jax
    ),
    Program(
        f.gesummv, lambda rng, n: _scaled((n, n), (n, n), n)(rng), ((2000,),), (5,)
    ),
    Program(f.gemver, _gemver, ((1000,),), (5,), jax=gemver_jax),
    Program(
        f.symm, lambda rng, m, n: _scaled((m, n), (m, m), (m, n))(rng), ((40, 50),), (4, 3),
        jax=symm_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.syrk, lambda rng, m, n: _scaled((n, n), (n, m))(rng), ((50, 70),), (3, 4),
        jax=syrk_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.syr2k, lambda rng, m, n: _scaled((n, n), (n, m), (n, m))(rng), ((35, 50),), (3, 4),
        jax=syr2k_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.trmm, lambda rng, m, n: (ALPHA, *uniforms((m, m), (m, n))(rng)), ((65, 80),), (4, 3),
        jax=trmm_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.trisolv, lambda rng, n: (positive_definite(rng, n), *normals(n, n)(rng)),
        ((2000,),), (5,), jax=trisolv_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.cholesky, lambda rng, n: (positive_definite(rng, n),), ((100,),), (5,),
        jax=cholesky_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.cholesky2, lambda rng, n: (positive_definite(rng, n),), ((1000,),), (5,),
        jax=cholesky2_jax,
    ),
    Program(
        f.lu, lambda rng, n: (positive_definite(rng, n),), ((60,),), (5,),
        jax=lu_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.ludcmp, lambda rng, n: (positive_definite(rng, n), *normals(n)(rng)), ((60,),), (4,),
        jax=ludcmp_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.gramschmidt, lambda rng, m, n: normals((m, n))(rng), ((70, 60),), (5, 3),
        jax=gramschmidt_jax, torch=UNROLLED, loops=True, rtol=1e-7,
    ),
    Program(f.durbin, _toeplitz, ((1000,),), (6,), jax=durbin_jax, torch=UNROLLED, loops=True),
    Program(
        f.doitgen, lambda rng, r, q, p: uniforms((r, q, p), (p, p))(rng), ((60, 60, 128),),
        (2, 3, 4), jax=doitgen_jax, torch=UNROLLED, loops=True,
    ),
    Program(f.spmv, _sparse, ((4096, 4096, 8192),), (4, 6, 7),
        jax=spmv_jax, loops=True,
    ),
    Program(
        f.floyd_warshall, lambda rng, n: (rng.integers(1, 1000, (n, n)),), ((200,),), (5,),
        jax=floyd_warshall_jax, numba=floyd_warshall_numba, loops=True,
    ),
]  # fmt: skip
