"""Graphs in which a relation just fails to fire, each with the reason and how it fires.

Each is made from a graph in which the relation fires by one change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import relgraph as rg

x, y, z = rg.vectors("x y z")
v, w = rg.vectors("v w", shape="n")
s, t = rg.scalars("s t")
p = rg.vector("p", facts=("positive",))
q = rg.scalar("q", facts=("nonzero",))
whole = rg.vector("whole", facts=("integer",))
known = rg.vector("known", facts=("not_nan",))
i, j = rg.vectors("i j", dtype="int64")
bytes_ = rg.vector("bytes_", dtype="uint8")
A, B, C = rg.matrices("A B C", shape=("n", "n"))
P, Q = rg.matrices("P Q")  # of unknown sizes
S = rg.matrix("S", shape=("n", "n"), facts=("symmetric",))
D = rg.matrix("D", shape=("n", "n"), facts=("spd",))
M = rg.matrix("M", shape=(3, 4))


@dataclass(frozen=True)
class Miss:
    """A graph on which a relation nearly fires, the expected reason, and a graph on which it fires.

    ``mended`` is the graph in which the relation fires, by default the same; ``how`` has the
    arguments that change, the relation among them.
    """

    relation: Any
    kind: str
    graph: Any
    words: str
    mended: Any = None
    asked: dict[str, Any] = field(default_factory=dict)
    how: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}-{getattr(self.relation, 'label', self.relation)}"


def forward(name):
    """Return a relation of the catalogue as it is declared."""
    return rg.catalogue(name).relations[0].forward


def backward(name):
    """Return a relation of the catalogue with its sides swapped."""
    return forward(name).reversed


e = rg.exp(x)
O4 = {"mode": "o4"}

MISSES = [
    # A fact that is not declared.
    Miss("cancel_exp_logo", "fact", rg.exp(rg.log(x)), "x is nonnegative", rg.exp(rg.log(p))),
    Miss("lower_log_powero", "fact", rg.log(x**y), "x is positive", rg.log(p**y)),
    Miss("cancel_divide_sqrto", "fact", x / rg.sqrt(x), "x is positive", p / rg.sqrt(p)),
    Miss("log_prodo", "fact", rg.log(rg.prod(x)), "x is positive", rg.log(rg.prod(p))),
    Miss("remove_transpose_symmetrico", "fact", A.mT, "A is symmetric", S.mT),
    Miss("log_det_spdo", "fact", rg.log(rg.det(A)), "A is spd", rg.log(rg.det(D))),
    Miss("divide_absoluteo", "fact", s / rg.abs(s), "s is nonzero", q / rg.abs(q)),
    Miss("remove_roundingo", "fact", rg.floor(x), "x is integer", rg.floor(whole)),
    Miss("decide_testo", "fact", rg.isnan(x), "x is not_nan", rg.isnan(known)),
    # Another dtype.
    Miss("cancel_divide_selfo", "dtype", i / i, "float(x)", x / x),
    Miss(
        "multiply_sign_absoluteo", "dtype", rg.sign(i) * rg.abs(i), "float(x)",
        rg.sign(x) * rg.abs(x),
    ),
    Miss("extract_negativeo", "dtype", x / -i, "float(y)", x / -y),
    Miss("absorb_subtract_negativeo", "dtype", i - -bytes_, "uint8", i - -j),
    # An operand that is broadcast.
    Miss(forward("transpose_addo"), "broadcast", (A + v).mT, "v: float64[n]", (A + B).mT),
    Miss(forward("distribute_matmul_addo"), "broadcast", A @ (v + s), "s: float64", A @ (v + w)),
    Miss("distribute_trace_addo", "broadcast", rg.trace(A + s), "s: float64", rg.trace(A + B)),
    # Sizes that are not known to be equal.
    Miss("trace_matmulo", "shape", rg.trace(P @ Q), "P * Q.mT", rg.trace(A @ B)),
    Miss(
        backward("distribute_matmul_addo"), "shape", A @ (B @ x) + A @ y, "y is float64[?]",
        A @ (B @ x) + A @ v,
    ),
    # Another axis of an array, or another number of axes.
    Miss("lift_multiply_matmulo", "rank", (v * A) @ B, "scalar(s)", (s * A) @ B),
    Miss("lift_trace_multiplyo", "rank", rg.trace(v * A), "scalar(s)", rg.trace(s * A)),
    Miss("sum_diagonalo", "parameter", rg.sum(rg.diagonal(A, 1)), "k=1", rg.sum(rg.diagonal(A))),
    Miss("diagonal_matmulo", "parameter", rg.diagonal(A @ B, 1), "k=1", rg.diagonal(A @ B)),
    # Another number.
    Miss("log1p_addo", "number", rg.log(2 + x), "2", rg.log(1 + x)),
    Miss("square_powero", "number", x**3, "3", x**2),
    Miss("half_angle_coso", "number", 2 - rg.cos(x), "2", 1 - rg.cos(x)),
    # Two graphs where the pattern has one variable.
    Miss("quotient_sin_coso", "operand", rg.sin(x) / rg.cos(y), "y", rg.sin(x) / rg.cos(x)),
    Miss("cancel_subtract_addo", "operand", x + y - z, "z", x + y - y),
    Miss(
        "join_extremeo", "operand", rg.maximum(x, y) + rg.minimum(x, z), "z",
        rg.maximum(x, y) + rg.minimum(y, x),
    ),
    # Another op.
    Miss("cancel_arcsinh_sinho", "op", rg.arcsinh(rg.sin(x)), "sin(x)", rg.arcsinh(rg.sinh(x))),
    Miss("softplus_log1po", "op", rg.log1p(rg.expm1(x)), "expm1(x)", rg.log1p(rg.exp(x))),
    # A sign, and a term too many.
    Miss(
        "pythagoras_circularo", "sign", rg.square(rg.sin(x)) - rg.square(rg.cos(x)), "cos(x)",
        rg.square(rg.sin(x)) + rg.square(rg.cos(x)),
    ),
    Miss(
        "hypot_sqrto", "terms", rg.sqrt(rg.square(x) + rg.square(y) + rg.square(z)), "3 operands",
        rg.sqrt(rg.square(x) + rg.square(y)),
    ),
    # Brackets.
    Miss(
        "cancel_matmul_invo", "bracketing", rg.inv(A) @ (A @ B), "inv(A) @ A",
        (rg.inv(A) @ A) @ B,
    ),
    # The other direction.
    Miss(
        forward("distribute_matmul_addo"), "direction", A @ v + A @ w, "A @ (v + w)",
        how={"relation": backward("distribute_matmul_addo")},
    ),
    Miss(
        backward("distribute_log_multiplyo"), "direction", rg.log(p * y), "log(p) + log(y)",
        how={"relation": forward("distribute_log_multiplyo")},
    ),
    # A node with other users.
    Miss("square_expo", "sharing", [rg.square(e), e], "exp(x)", asked=O4,
         how={"relation": forward("square_expo"), "mode": None}),
    Miss("halve_sqrt_expo", "sharing", [rg.sqrt(e), e], "exp(x)", asked=O4,
         how={"relation": forward("halve_sqrt_expo"), "mode": [forward("halve_sqrt_expo"), "o4"]}),
    # What the mode selects.
    Miss("log1p_addo", "mode", rg.log(1 + x), "stabilize", asked=O4 | {"exclude": ["stabilize"]},
         how={"exclude": []}),
    Miss("log1p_addo", "mode", rg.log(1 + x), "includes none", asked={"mode": "o1"},
         how={"include": ["log1p_addo"]}),
    Miss("associate_matmulo", "mode", A @ B @ v, "no phase", asked=O4, how={"mode": None}),
    Miss("cancel_divide_selfo", "nonfinite", x / x, "keep", asked=O4 | {"nonfinite": "keep"},
         how={"nonfinite": "assume"}),
    # Another relation that fires first.
    Miss("reciprocal_divideo", "order", 1 / rg.exp(x), "reciprocal_expo", asked=O4,
         how={"mode": [forward("reciprocal_divideo"), "o4"]}),
    Miss("switch_exp_logo", "order", rg.exp(rg.log(p)), "cancel_exp_logo", asked=O4,
         how={"mode": [forward("switch_exp_logo"), "o4"]}),
]  # fmt: skip


# What cost newcomers the most time, in relations of their own.


@rg.identity(specials="assumes_finite")
def shift_expo(a):
    """exp(a - max(a)) = exp(a) / exp(max(a))."""
    return rg.exp(a - rg.max(a)), rg.exp(a) / rg.exp(rg.max(a))


@rg.identity(specials="assumes_finite", broadcast="*")
def shift_stretched_expo(a):
    """exp(a - max(a)) = exp(a) / exp(max(a))."""
    return rg.exp(a - rg.max(a)), rg.exp(a) / rg.exp(rg.max(a))


@rg.identity
def sum_of_twelveo(a):
    """The sum of the twelve elements of an array."""
    return rg.sum(rg.reshape(a, (12,))), rg.sum(a)


@rg.identity
def sum_ravelo(a):
    """The sum of the elements of an array."""
    return rg.sum(rg.reshape(a, (-1,))), rg.sum(a)


@rg.identity(specials="assumes_finite")
def double_expmo(X):
    """exp(X) exp(X) = exp(2 X), of matrices."""
    return rg.expm(X) @ rg.expm(X), rg.expm(2 * X)


NEWCOMERS = [
    Miss(shift_expo, "broadcast", rg.exp(x - rg.max(x)), "max(x)",
         how={"relation": shift_stretched_expo}),
    Miss(sum_of_twelveo, "parameter", rg.sum(rg.ravel(M)), "shape=(-1,)",
         how={"relation": sum_ravelo}),
    Miss(
        double_expmo, "bracketing", rg.expm(A) @ (rg.expm(A) @ v), "bracketed in another way",
        (rg.expm(A) @ rg.expm(A)) @ v,
    ),
]  # fmt: skip
