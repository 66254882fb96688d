"""Chains of steps that algebra, or a good compiler, would simplify.

``X`` is an array, ``Y`` and ``Z`` broadcast with it, ``P`` is the value of the step before, and
``Q`` that of the step before ``P``.  ``N`` is the last size of ``X``.
"""

from __future__ import annotations

FLOATS = """
np.exp(X); 1 + P; np.log(P)
np.exp(X); np.log1p(P)
np.exp(X); np.log(P)
np.absolute(X); np.log(P); np.exp(P)
np.absolute(X); P + 1; np.log(P); P * 2
X * X; np.sqrt(P)
np.square(X); np.sqrt(P)
np.absolute(X); np.sqrt(P); np.square(P)
np.absolute(X); np.sqrt(P); P ** 2
np.absolute(X); P ** 0.5; P ** 3
np.absolute(X); P ** 2; P ** 0.5
X ** 2; P * X; P / X
X ** 3; P / X
X / Y; P * Y
X / Y; P / Z
X / Y; Z / P
X / 3; P * 3
X / 10; np.floor(P)
X / 2; P - Y
1 / X; P * Y
1 / X; 1 / P
X / X; P + Y
np.exp(X); np.exp(Y); P * Q
np.exp(X); np.exp(Y); Q / P
np.exp(X); 1 / P
np.exp(X); P ** 2
-X; np.exp(P); 1 + P; 1 / P
-X; np.exp(P); P + 1; 1 / P; 1 - P
rg.sigmoid(X); np.log(P)
rg.sigmoid(X); 1 - P; np.log(P)
rg.sigmoid(X); 1 - P; P * Q
np.exp(X); P - 1
np.exp(X); 1 - P
1 + X; np.log(P)
np.exp(X); np.sum(P); Q / P
np.exp(X); np.sum(P); np.log(P)
np.exp(X); np.sum(P, axis=-1, keepdims=True); Q / P; np.log(P)
np.max(X); X - P; np.exp(P); np.sum(P); np.log(P)
np.max(X, axis=-1, keepdims=True); X - P; np.exp(P); np.sum(P, axis=-1, keepdims=True); Q / P
np.mean(X, axis=-1, keepdims=True); X - P; P * P; np.mean(P, axis=-1); np.sqrt(P)
np.square(X); np.mean(P)
np.sin(X); np.square(P); 1 - P
np.sin(X); np.cos(X); Q / P
np.cosh(X); np.sinh(X); Q - P
np.sinh(X); np.arcsinh(P)
np.tanh(X); np.arctanh(P)
np.exp(X); np.exp(Y); P + Q; np.log(P)
np.exp(X); -X; np.exp(P); Q + P
np.log2(X); np.exp2(P)
np.absolute(X); np.log(P); np.log(2.0) + P
rg.erf(X); 1 - P
rg.logsumexp(X, axis=-1); np.exp(P)
rg.log_softmax(X, axis=-1); np.exp(P)
rg.softmax(X, axis=-1); np.log(P)
np.sum(X, axis=-1); np.mean(X, axis=-1); Q / P
np.var(X, axis=-1); np.sqrt(P)
X * 0.1; P * 10
X * 1e200; P * 1e-200
"""

NUMBERS = """
-X; -P
-X; Y - P
-X; P * Y
-X; P - Y
X - Y; -P
X - X; P + Y
X + Y; P - Y
X - Y; P + Y
X * Y; X * Z; P + Q
X * Y; X * Y; P - Q
X * 2; X * 3; P + Q
X + X; P + X
X + 1; P + 2
1 - X; 1 - P
X * 2; P * 3
X * 0; P + Y
X * 1; P + 0
X * -1; P * -1
X ** 1; P * Y
X ** 2; P * X
X ** 0; P * Y
X // 2; P * 2; X - P
X // Y; P * Y
X % 3; P % 3
X * 2; P % 2
np.absolute(X); np.absolute(P)
-X; np.absolute(P)
np.sign(X); np.absolute(X); P * Q
X * Y; np.absolute(P)
np.maximum(X, X); np.minimum(P, X)
np.maximum(X, Y); np.minimum(P, Y)
-X; np.maximum(X, P)
-X; -Y; np.minimum(P, Q)
np.maximum(X, 0); np.minimum(P, 2)
np.clip(X, 0, 3); np.clip(P, 1, 2)
np.clip(X, -1, 2); np.maximum(P, 0)
X > Y; np.logical_not(P)
X > Y; X <= Y; np.logical_or(P, Q)
X > Y; X < Y; P & Q
X - Y; P > 0
X + 1; P > 2
X * 2; P < 1
-X; P < 0
X * -2; P <= 1
X > 0; np.where(P, X, X)
X > 0; np.where(P, X, 0); np.where(Q, P, Y)
X > 0; np.logical_not(P); np.where(P, X, Y)
X > 0; P * X
X > 0; P.astype("float64"); P * Y
X > 0; np.where(P, 1, 0); P > 0
-X; X > 0; np.where(P, X, Q)
np.equal(X, X); np.where(P, X, Y)
np.isnan(X); np.where(P, 0, X)
np.sum(X, axis=0); np.sum(P)
X * 2; np.sum(P)
X * 3; np.sum(P, axis=-1)
-X; np.sum(P)
X + Y; np.sum(P)
X * Y; np.sum(P, axis=-1)
X + 2; np.mean(P)
X * 2; np.prod(P)
X * -2; np.max(P)
-X; np.max(P)
X + 1; np.max(P, axis=0)
X * 2; np.argmax(P)
-X; np.argmin(P)
np.max(X, axis=0); np.max(P)
np.max(X); np.min(P)
X > 0; np.all(P)
X > 0; np.any(P); np.logical_not(P)
X > 0; np.logical_not(P); np.all(P)
X > 0; np.sum(P)
np.broadcast_to(X, (2, *X.shape)); np.sum(P, axis=0)
np.broadcast_to(X, (3, *X.shape)); P * 2; np.max(P)
X.T; np.sum(P)
X.T; P.T
X.T; P * 2; P.T
X.T; np.sum(P, axis=0)
X.ravel(); np.sum(P)
X.ravel(); np.reshape(P, X.shape)
np.expand_dims(X, 0); np.squeeze(P, axis=0)
np.expand_dims(X, -1); P * 2; np.squeeze(P, axis=-1)
np.concatenate([X, X], axis=-1); P[..., :2]
np.concatenate([X, X], axis=0); np.sum(P)
np.concatenate([X, X], axis=-1); np.max(P, axis=-1)
np.concatenate([X, X], axis=0); P * 2
X[:1]; X[1:]; np.concatenate([Q, P])
np.stack([X, X + 1]); P[0]
np.stack([X, X * 2]); P[1]; P + Y
np.stack([X, X]); np.sum(P, axis=0)
X[::-1]; P[::-1]
X[1:]; P[1:]
X[:-1]; P[-1]
X[::2]; P[::-1]
X[1:]; X[:-1]; Q - P
np.flip(X, 0); np.cumsum(P, axis=0); np.flip(P, 0)
np.flip(X, -1); np.sum(P, axis=-1)
np.cumsum(X, axis=-1); P[..., -1]
np.cumsum(X, axis=-1); np.diff(P, axis=-1)
np.cumsum(X, axis=0); P * 2
X * 2; np.cumsum(P, axis=-1)
at(X)[0].set(2); P[0]
at(X)[0].set(2); P[1:]
at(X)[0].set(1); at(P)[0].set(3)
at(X)[1:].add(2); at(P)[1:].add(3)
at(X)[:1].set(X[:1] * 2); np.sum(P)
at(X * 0)[1:].set(X[1:]); P + Y
np.zeros_like(X); at(P)[:2].set(X[:2]); np.sum(P)
np.sort(X, axis=-1); np.sort(P, axis=-1)
np.sort(X, axis=-1); P[..., 0]
np.argsort(X, axis=-1, kind="stable"); np.argsort(P, axis=-1, kind="stable")
np.repeat(X, 2, axis=0); P[::2]
np.repeat(X, 3, axis=-1); np.sum(P)
np.tile(X, 2); np.max(P)
np.pad(X, 1); P[1:-1]
np.pad(X, 1); np.sum(P)
np.ones_like(X); P * Y
np.zeros_like(X); P + Y
np.full_like(X, 3); P * X
X.astype("float64"); P.astype("float32")
X.astype("float32"); P.astype("float64"); P * 3
X.astype("bool"); P.astype("int8"); P + Y
X.astype("bool"); np.logical_not(P); np.sum(P, axis=-1)
np.where(X > 0, 1, X); np.where(X > 0, P, Y)
np.round(X); np.floor(P)
np.floor(X); np.ceil(P); P - X
"""

MATRICES = """
X.T @ X; P.T
X @ X.T; np.trace(P)
X.T @ X; np.diagonal(P); np.sum(P)
X * 2; P.T @ P
X.T; P @ X; P * 2
X @ X.T; X @ X.T; P + Q
X.T @ X; X @ P
X @ (X.T @ X); P + X
np.sum(X, axis=0); X @ P
X[0]; X @ P; X.T @ P
X[0]; X[0] * 2; Q + P; X @ P
X[0]; X @ P; X[0] * 3; X @ P; P + Q[..., :1]
np.diag(X[0]); X @ P
np.diag(X[0]); P @ P
np.outer(X[0], X[0]); X @ P
np.outer(X[0], X[0]); np.trace(P)
X @ np.eye(N)
np.triu(X); np.tril(P)
np.triu(X); P.T
X.T @ X; np.sum(P)
X.T @ X; np.sum(P, axis=0)
X * 0.5; P @ X.T
-X; P @ X.T; -P
np.linalg.norm(X); X / P
np.einsum('ij,kj->ik', X, X); P.T
np.tensordot(X, X, axes=2); P * 2
X.T @ X; P + 3 * np.eye(N); np.linalg.inv(P); P @ X.T
X.T @ X; P + 3 * np.eye(N); np.linalg.inv(P); np.linalg.inv(P)
X.T @ X; P + 3 * np.eye(N); np.linalg.inv(P); P @ Q
X.T @ X; P + 3 * np.eye(N); np.linalg.det(P); np.log(P)
X.T @ X; P + 3 * np.eye(N); np.linalg.solve(P, X.T); X @ P
X.T @ X; P + 3 * np.eye(N); P.T; np.linalg.inv(P); np.trace(P)
X.T @ X; P + 3 * np.eye(N); np.linalg.cholesky(P); P @ P.T
X.T @ X; P + 3 * np.eye(N); P * 2; np.linalg.det(P)
"""


def chains(text: str) -> list[list[str]]:
    """Return the steps of each line."""
    return [[step.strip() for step in line.split(";")] for line in text.strip().splitlines()]
