"""Equal pairs of graphs to prove, and pairs that look like them and are not equal."""

from __future__ import annotations

import relgraph as rg

A, B, C = rg.matrices("A B C", shape=("n", "n"))
S = rg.matrix("S", shape=(4, 4))
U = rg.matrix("U", shape=("n", "k"))
V = rg.matrix("V", shape=("k", "n"))
D = rg.matrix("D", shape=("k", "k"))
X = rg.matrix("X", shape=("n", "k"))
P = rg.matrix("P", shape=("n", "n"), facts=("spd",))
R = rg.matrix("R", shape=("m", "m"), facts=("spd",))
H = rg.matrix("H", shape=("m", "n"))
Q = rg.matrix("Q", shape=("n", "n"), facts=("orthogonal",))
u, v, x, y = rg.vectors("u v x y", shape=("n",))
s, t, lam = rg.scalars("s t lam")

inv, det, outer, trace = rg.inv, rg.det, rg.outer, rg.trace
In, Ik, Im = (rg.eye(M.shape[0]) for M in (A, D, R))
ones = rg.ones(A.shape[0])


def logdet(M):
    """Return log |det(M)|."""
    return rg.numpy.linalg.slogdet(M)[1]


gain = P @ H.T @ inv(H @ P @ H.T + R)
centred = X - rg.mean(X, axis=0)

EQUAL = {
    # Inverses of sums.
    "woodbury": (
        inv(A + U @ D @ V),
        inv(A) - inv(A) @ U @ inv(inv(D) + V @ inv(A) @ U) @ V @ inv(A),
    ),
    "woodbury of another bracketing": (
        inv(A + U @ (D @ V)),
        inv(A) - inv(A) @ (U @ (inv(inv(D) + V @ (inv(A) @ U)) @ (V @ inv(A)))),
    ),
    "push-through": (inv(A + U @ D @ V) @ U @ D, inv(A) @ U @ inv(inv(D) + V @ inv(A) @ U)),
    "sherman-morrison": (
        inv(A + outer(u, v)),
        inv(A) - outer(inv(A) @ u, v @ inv(A)) / (1 + v @ inv(A) @ u),
    ),
    # Searle's identities: The Matrix Cookbook, section 3.2.5.
    "searle 163": (inv(In + inv(A)), A @ inv(A + In)),
    "searle 164": (inv(A + B @ B.T) @ B, inv(A) @ B @ inv(In + B.T @ inv(A) @ B)),
    "searle 165": (inv(inv(A) + inv(B)), A @ inv(A + B) @ B),
    "searle 165 swapped": (inv(inv(A) + inv(B)), B @ inv(A + B) @ A),
    "searle 166": (A - A @ inv(A + B) @ A, B - B @ inv(A + B) @ B),
    "searle 167": (inv(A) + inv(B), inv(A) @ (A + B) @ inv(B)),
    "searle 168": (inv(In + A @ B), In - A @ inv(In + B @ A) @ B),
    "searle 169": (inv(In + A @ B) @ A, A @ inv(In + B @ A)),
    # Estimation.
    "kalman gain by information": (gain, inv(inv(P) + H.T @ inv(R) @ H) @ H.T @ inv(R)),
    "joseph form": (
        (In - gain @ H) @ P,
        (In - gain @ H) @ P @ (In - gain @ H).T + gain @ R @ gain.T,
    ),
    "ridge primal and dual": (
        inv(X.T @ X + lam * Ik) @ X.T @ y,
        X.T @ inv(X @ X.T + lam * In) @ y,
    ),
    "ridge by solve": (
        rg.solve(X.T @ X + lam * Ik, X.T @ y),
        X.T @ rg.solve(X @ X.T + lam * In, y),
    ),
    "squared residual": (rg.sum((A @ x - y) ** 2), x @ A.T @ A @ x - 2 * y @ A @ x + y @ y),
    "weights": (
        rg.solve(X.T @ rg.diag(x) @ X, X.T @ (x * y)),
        inv((X.T * x) @ X) @ (X.T @ (x * y)),
    ),
    # Determinants.
    "det of a rank-one update": (det(A + outer(u, v)), det(A) * (1 + v @ inv(A) @ u)),
    "logdet of a rank-one update": (
        logdet(A + outer(u, v)),
        logdet(A) + rg.log(1 + v @ inv(A) @ u),
    ),
    "logdet of a definite update": (
        logdet(P + outer(u, u)),
        logdet(P) + rg.log(1 + u @ rg.solve(P, u)),
    ),
    "det lemma": (det(A + U @ V), det(A) * det(Ik + V @ inv(A) @ U)),
    "sylvester": (det(In + U @ V), det(Ik + V @ U)),
    "det of a multiple": (det(s * S), s**4 * det(S)),
    "det of an inverse": (det(inv(A) @ B), det(B) / det(A)),
    "logdet of a product": (logdet(A @ B.T), logdet(B) + logdet(A)),
    # Products, traces and sums.
    "distribute": (A @ (B + C), A @ B + A @ C),
    "two brackets": ((A + B) @ (A - B), A @ A - A @ B + B @ A - B @ B),
    "transpose": ((A @ B).T, B.T @ A.T),
    "cycle": (trace(A @ B @ C), trace(C @ A @ B)),
    "trace of a transpose": (trace(A @ B.T), rg.sum(A * B)),
    "frobenius": (rg.sum(rg.square(A)), trace(A.T @ A)),
    "trace of a dyad": (trace(A @ outer(u, v)), v @ A @ u),
    "diagonal of a dyad": (rg.diagonal(outer(x, y)), x * y),
    "quadratic form": (u @ A @ v, v @ A.T @ u),
    "dot": (rg.sum(x * y), x @ y),
    "scaled columns": (A * x, A @ rg.diag(x)),
    "row sums": (rg.sum(A, axis=1), A @ ones),
    "mean of a sum": (rg.mean(x + y), rg.mean(x) + rg.mean(y)),
    "centred squares": (rg.sum((x - rg.mean(x)) ** 2), x @ x - rg.sum(x) ** 2 / x.shape[0]),
    "orthogonal": (inv(Q @ A @ Q.T), Q @ inv(A) @ Q.T),
    "cholesky": (rg.cholesky(P) @ rg.cholesky(P).T, P),
    "reversed sum": ((x + 2 * y)[::-1], x[::-1] + 2 * y[::-1]),
    "variance": (rg.var(x), rg.mean(x**2) - rg.mean(x) ** 2),
    # Elementwise.
    "square of a sum": ((x + y) ** 2, x * x + 2 * x * y + y**2),
    "cancel": (x * y / y, x),
    "sum of reciprocals": (1 / s + 1 / t, (s + t) / (s * t)),
    "quotients": ((x / y) * (y / u), x / u),
    "root": (rg.sqrt(s) * rg.sqrt(s), s),
    "exp of a sum": (rg.exp(x + y), rg.exp(x) * rg.exp(y)),
    "log of a product": (rg.log(x * y), rg.log(x) + rg.log(y)),
    "double angle of tanh": (rg.tanh(2 * s), 2 * rg.tanh(s) / (1 + rg.tanh(s) ** 2)),
    "sinh of a sum": (
        rg.sinh(s + t),
        rg.sinh(s) * rg.cosh(t) + rg.cosh(s) * rg.sinh(t),
    ),
    "sigmoid by tanh": (rg.sigmoid(s), (1 + rg.tanh(s / 2)) / 2),
}  # fmt: skip

# Swapped factors, missing transposes and inverses, signs, powers, and what holds for some values.
UNEQUAL = {
    "products commute": (A @ B, B @ A),
    "floor is ceil": (rg.floor(A), rg.ceil(A)),
    "trunc is rint": (rg.trunc(A), rg.rint(A)),
    "transpose keeps the order": ((A @ B).T, A.T @ B.T),
    "inverse keeps the order": (inv(A @ B), inv(A) @ inv(B)),
    "inverse of a sum": (inv(A + B), inv(A) + inv(B)),
    "woodbury with a plus": (
        inv(A + U @ D @ V),
        inv(A) + inv(A) @ U @ inv(inv(D) + V @ inv(A) @ U) @ V @ inv(A),
    ),
    "woodbury without an inverse": (
        inv(A + U @ D @ V),
        inv(A) - inv(A) @ U @ inv(D + V @ inv(A) @ U) @ V @ inv(A),
    ),
    "push-through swapped": (inv(In + A @ B) @ A, A @ inv(In + A @ B)),
    "push-through of another": (inv(In + A @ B) @ B, B @ inv(In + A @ B)),
    "searle 163 without an inverse": (inv(In + inv(A)), inv(A + In)),
    "searle 165 twice": (inv(inv(A) + inv(B)), A @ inv(A + B) @ A),
    "searle 166 with a plus": (A - A @ inv(A + B) @ A, B + B @ inv(A + B) @ B),
    "kalman gain without noise": (gain, inv(inv(P) + H.T @ H) @ H.T @ inv(R)),
    "joseph form with a minus": (
        (In - gain @ H) @ P,
        (In - gain @ H) @ P @ (In - gain @ H).T - gain @ R @ gain.T,
    ),
    "joseph form without a transpose": (
        (In - gain @ H) @ P,
        (In - gain @ H) @ P @ (In - gain @ H) + gain @ R @ gain.T,
    ),
    "ridge with twice the weight": (
        inv(X.T @ X + lam * Ik) @ X.T @ y,
        X.T @ inv(X @ X.T + 2 * lam * In) @ y,
    ),
    "sherman-morrison without a sign": (
        inv(A + outer(u, v)),
        inv(A) + outer(inv(A) @ u, v @ inv(A)) / (1 + v @ inv(A) @ u),
    ),
    "sherman-morrison with a swap": (
        inv(A + outer(u, v)),
        inv(A) - outer(inv(A) @ u, v @ inv(A)) / (1 + u @ inv(A) @ v),
    ),
    "det of a swapped update": (det(A + outer(u, v)), det(A) * (1 + u @ inv(A) @ v)),
    "det of a sum": (det(A + B), det(A) + det(B)),
    "det of a linear multiple": (det(s * S), s * det(S)),
    "logdet with a minus": (logdet(A + outer(u, v)), logdet(A) + rg.log(1 - v @ inv(A) @ u)),
    "trace of a swap": (trace(A @ B @ C), trace(A @ C @ B)),
    "trace of a product": (trace(A @ B), trace(A) * trace(B)),
    "frobenius without a transpose": (rg.sum(rg.square(A)), trace(A @ A)),
    "quadratic form swapped": (u @ A @ v, v @ A @ u),
    "dyad swapped": (outer(u, v), outer(v, u)),
    "two brackets without a swap": ((A + B) @ (A - B), A @ A - B @ B),
    "scaled rows": (A * x, rg.diag(x) @ A),
    "column sums": (rg.sum(A, axis=0), A @ ones),
    "stretched sums": (rg.sum(A + x), rg.sum(A) + rg.sum(x)),
    "sums of products": (rg.sum(x * y), rg.sum(x) * rg.sum(y)),
    "mean of a product": (rg.mean(x * y), rg.mean(x) * rg.mean(y)),
    "cholesky swapped": (rg.cholesky(P).T @ rg.cholesky(P), P),
    "stretched columns": (rg.sum(rg.outer(x, x) + y), rg.sum(x) ** 2 + rg.sum(y)),
    "reversed product": ((x * y)[::-1], x[::-1] * y),
    "square of a sum": ((x + y) ** 2, x**2 + y**2),
    "root of a square": (rg.sqrt(s**2), s),
    "absolute value": (rg.abs(x), x),
    "reciprocal of a sum": (1 / (s + t), 1 / s + 1 / t),
    "exp of a product": (rg.exp(x * y), rg.exp(x) * rg.exp(y)),
    "log of a sum": (rg.log(x + y), rg.log(x) * rg.log(y)),
    "tanh is odd": (rg.tanh(-s), rg.tanh(s)),
}
