"""Sums, products and means over axes.

An axis parameter is a logic variable: one relation serves every axis.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

import builtins
import math
from typing import Any

from relgraph.ir.node import Constant, Variable
from relgraph.numpy.reductions import max, mean, min, prod, sum
from relgraph.ops.elementwise import Elementwise, absolute, add, exp, square, subtract
from relgraph.ops.reductions import reduced_axes
from relgraph.ops.shape import Dim, ExpandDims, Squeeze
from relgraph.relations.catalogue.conditions import coefficiento, matrixo
from relgraph.relations.kanren.goals import (
    Suspended,
    calco,
    checko,
    eq,
    floato,
    lall,
    lany,
)
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
LINEAR = (*CANONICAL, "local_sum_prod_of_mul_or_div", "sum_scalar_mul")
CHAIN = (*CANONICAL, "local_reduce_chain")


def same_along(c: Any, axis: Any, keepdims: Any, x: Any) -> bool:
    """Tell whether ``c`` has one value along reduced axes, and fits beside the reduction of ``x``.

    Parameters
    ----------
    c : Variable
        What is broadcast along the axes.
    axis : tuple of int or None
        The reduced axes of ``x``.
    keepdims : bool
        Whether they stay; if they go, ``c`` must not reach as far.
    x : Variable
        What is reduced.
    """
    axes = range(-x.ndim, 0) if axis is None else axis
    if builtins.any(-a > x.ndim for a in axes):
        return False
    if builtins.all(x.type.shape[a] == 1 for a in axes):
        return False  # nothing is reduced, and either operand would do
    if not isinstance(c, Variable):
        return True
    if keepdims:
        return builtins.all(c.ndim < -a or c.type.shape[a] == 1 for a in axes)
    return builtins.all(c.ndim < -a for a in axes)


def fixedo(c: Any, axis: Any, keepdims: Any, x: Any) -> Suspended:
    """Relate graphs, axes and operands along whose reduced axes the graph does not change."""
    return checko(same_along, c, axis, keepdims, x, label=f"{c!r} is the same along {axis!r}")


def merged_axes(inner: Any, outer: Any, keepdims: Any, x: Any) -> tuple[int, ...]:
    """Return the axes of ``x`` that two reductions in turn reduce, counted from the end.

    Parameters
    ----------
    inner, outer : tuple of int or None
        The axes of the first reduction, and of the second, which counts among those that are left.
    keepdims : bool
        Whether reduced axes stay.
    x : Variable
        What is reduced.
    """
    every = range(-x.ndim, 0)
    first = set(every) if inner is None else set(inner)
    left = list(every) if keepdims else [axis for axis in every if axis not in first]
    second = left if outer is None else [left[axis] for axis in outer]
    return tuple(sorted(first | set(second)))


def merged_some(inner: Any, outer: Any, keepdims: Any, x: Any) -> tuple[int, ...] | None:
    """Return the merged axes, or None where they are all axes."""
    found = merged_axes(inner, outer, keepdims, x)
    return found if len(found) < x.ndim else None


def merged_all(inner: Any, outer: Any, keepdims: Any, x: Any) -> bool:
    """Tell whether two reductions in turn reduce all axes."""
    return bool(len(merged_axes(inner, outer, keepdims, x)) == x.ndim)


def nested(reduce: Any, left: Any, right: Any) -> Any:
    """Relate a reduction of a reduction to one reduction, over some axes or over all."""
    x, a, b, c, keepdims = lvars("x a b c keepdims")
    twice = reduce(reduce(x, axis=a, keepdims=keepdims), axis=b, keepdims=keepdims)
    return lany(
        lall(
            eq(left, twice),
            eq(right, reduce(x, axis=None, keepdims=keepdims)),
            checko(merged_all, a, b, keepdims, x, label="all axes are reduced"),
        ),
        lall(
            eq(left, twice),
            eq(right, reduce(x, axis=c, keepdims=keepdims)),
            calco(c, merged_some, a, b, keepdims, x),
        ),
    )


def termwise(left: Any, right: Any, laws: Any) -> Any:
    """Relate the reduction of a combination to the combination of reductions."""
    x, y, axis, keepdims = lvars("x y axis keepdims")
    return lany(
        *[
            lall(
                eq(left, reduce(inner(x, y), axis=axis, keepdims=keepdims)),
                eq(
                    right,
                    outer(
                        reduce(x, axis=axis, keepdims=keepdims),
                        reduce(y, axis=axis, keepdims=keepdims),
                    ),
                ),
            )
            for reduce, inner, outer in laws
        ]
    )


@relation(tags=CHAIN, specials="assumes_finite")
def merge_sumo(left, right):
    """sum_b(sum_a(x)) = sum_(a, b)(x).

    Holds always, modulo 2^n for integers; rounded (another order of summation, within
    n u sum |x|), assumes_finite (a partial sum may overflow).
    Source: associative and commutative laws; N. J. Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 4.2.
    """
    return nested(sum, left, right)


@relation(tags=CHAIN, specials="assumes_finite")
def merge_prodo(left, right):
    """prod_b(prod_a(x)) = prod_(a, b)(x).

    Holds always, modulo 2^n for integers; rounded (another order, within n u |prod x|),
    assumes_finite (a partial product may overflow).
    Source: associative and commutative laws.
    """
    return nested(prod, left, right)


@relation(tags=CHAIN, specials="assumes_finite")
def merge_meano(left, right):
    """mean_b(mean_a(x)) = mean_(a, b)(x).

    Holds always, the inner means being of equally many elements; rounded (another order of
    summation), assumes_finite (a partial sum may overflow).
    Source: associative and commutative laws.
    """
    return nested(mean, left, right)


@relation(tags=(*CANONICAL, "local_useless_reduce"))
def remove_reduceo(left, right):
    """sum(x) over no axes = x, and so for prod, max, min and mean.

    Holds always; rounded (a sum may lose the sign of -0.0), kept.
    Source: a sum of one term is the term.
    """
    (x,) = lvars("x")
    return lany(*[lall(eq(left, f(x, axis=())), eq(right, x)) for f in (sum, prod, max, min, mean)])


@relation(tags=(*LINEAR, "local_sum_of_neg_to_neg_of_sum"))
def lift_sum_negativeo(left, right):
    """sum(-x) = -sum(x), and so for the mean.

    Holds always, modulo 2^n for integers; rounded (a sum of 0 may change its sign), kept.
    Source: rounding to nearest is symmetric, IEEE 754-2019, section 4.3.1.
    """
    x, axis, keepdims = lvars("x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, reduce(-x, axis=axis, keepdims=keepdims)),
                eq(right, -reduce(x, axis=axis, keepdims=keepdims)),
            )
            for reduce in (sum, mean)
        ]
    )


@relation(tags=LINEAR, specials="assumes_finite", broadcast=("c",))
def lift_sum_multiplyo(left, right):
    """sum(c x) = c sum(x), and so for the mean.

    Holds where c does not change along the axes, such as a scalar, modulo 2^n for integers; rounded
    (within n u |c| sum |x|), assumes_finite (0 times an infinite sum of finite terms is NaN).
    Source: distributive law.
    """
    c, x, axis, keepdims = lvars("c x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, reduce(c * x, axis=axis, keepdims=keepdims)),
                eq(right, c * reduce(x, axis=axis, keepdims=keepdims)),
                fixedo(c, axis, keepdims, x),
            )
            for reduce in (sum, mean)
        ]
    )


@relation(tags=LINEAR, specials="assumes_finite", broadcast=("c",))
def lift_sum_divideo(left, right):
    """sum(x / c) = sum(x) / c, and so for the mean.

    Holds for floats where c does not change along the axes, such as a scalar; rounded (within
    n u sum |x / c|), assumes_finite.
    Source: distributive law.
    """
    c, x, axis, keepdims = lvars("c x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, reduce(x / c, axis=axis, keepdims=keepdims)),
                eq(right, reduce(x, axis=axis, keepdims=keepdims) / c),
                fixedo(c, axis, keepdims, x),
            )
            for reduce in (sum, mean)
        ]
    )


def column_along(c: Any, axis: Any) -> bool:
    """Tell whether ``c`` has all of the axes, with size 1."""
    return axis is not None and builtins.all(c.ndim >= -a and c.type.shape[a] == 1 for a in axis)


@identity(
    tags=("local_sum_prod_of_mul_or_div", "optional"),
    where=lambda c, axis: checko(column_along, c, axis, label="c has size 1 along the axes"),
    specials="assumes_finite",
    broadcast="c",
)
def lift_sum_columno(c, x, axis):
    """sum_a(c x) = squeeze_a(c) sum_a(x).

    Holds where c has size 1 along the axes a, modulo 2^n for integers; rounded (within
    n u |c| sum |x|), assumes_finite.  No mode runs it: c is to be squeezed.
    Source: distributive law.
    """
    return sum(c * x, axis=axis), Squeeze(axis)(c) * sum(x, axis=axis)


@relation(tags=CANONICAL, specials="assumes_finite", broadcast=("c",))
def lift_mean_addo(left, right):
    """mean(x + c) = mean(x) + c, mean(x - c) = mean(x) - c, and mean(c - x) = c - mean(x).

    Holds for floats where c does not change along the axes; rounded (within n u (mean |x| + |c|)),
    assumes_finite.
    Source: distributive law.
    """
    c, x, axis, keepdims = lvars("c x axis keepdims")
    reduced = mean(x, axis=axis, keepdims=keepdims)
    return lany(
        *[
            lall(
                eq(left, mean(form, axis=axis, keepdims=keepdims)),
                eq(right, result),
                fixedo(c, axis, keepdims, x),
                floato(x),
                floato(c),
            )
            for form, result in ((x + c, reduced + c), (x - c, reduced - c), (c - x, c - reduced))
        ]
    )


def elements(axis: Any, x: Any) -> int | None:
    """Return how many elements are reduced to one, None where that is not static."""
    dims = [x.type.shape[a] for a in reduced_axes(axis, x.ndim, "reduce")]
    return math.prod(dims) if builtins.all(isinstance(d, int) for d in dims) else None


def is_count(n: Any, axis: Any, x: Any) -> bool:
    """Tell whether a number is how many elements are reduced to one."""
    value = n.uniform if isinstance(n, Constant) else n
    count = elements(axis, x)
    return bool(count and value is not None and value == count)


def is_axis(axis: Any, a: Any, x: Any) -> bool:
    """Tell whether ``a`` is the one axis that is reduced."""
    return bool(axis == (a,) or (axis is None and x.ndim == 1))


@relation(tags=(*CANONICAL, "mean"), specials="assumes_finite", broadcast=("n",))
def divide_sumo(left, right):
    """sum(x) / n = mean(x), where n is the number of elements.

    Holds for floats where n is a constant or the size of the one axis; rounded, assumes_finite.
    Source: definition.
    """
    x, axis, keepdims, n, a = lvars("x axis keepdims n a")
    total, average = sum(x, axis=axis, keepdims=keepdims), mean(x, axis=axis, keepdims=keepdims)
    return lany(
        lall(
            eq(left, total / n),
            eq(right, average),
            floato(x),
            coefficiento(n),
            checko(is_count, n, axis, x, label="n is the number of elements"),
        ),
        lall(
            eq(left, sum(x, axis=axis) / Dim(a)(x)),
            eq(right, mean(x, axis=axis)),
            floato(x),
            checko(is_axis, axis, a, x, label="the axis is reduced"),
        ),
    )


@identity(
    tags=CANONICAL,
    where=lambda x, n, axis: (
        floato(x),
        coefficiento(n),
        checko(is_count, n, axis, x, label="n is the number of elements"),
    ),
    specials="assumes_finite",
    broadcast="n",
)
def multiply_meano(x, n, axis, keepdims):
    """mean(x) n = sum(x), where n is the number of elements.

    Holds for floats and a constant n; rounded, assumes_finite.
    Source: definition.
    """
    return mean(x, axis=axis, keepdims=keepdims) * n, sum(x, axis=axis, keepdims=keepdims)


@relation(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_sum_addo(left, right):
    """sum(x + y) = sum(x) + sum(y), and so for the mean.

    Holds where x and y have one shape, modulo 2^n for integers; rounded (within
    n u sum (|x| + |y|)), assumes_finite.
    Source: associative and commutative laws.
    """
    return termwise(left, right, ((sum, add, add), (mean, add, add)))


@relation(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_sum_subtracto(left, right):
    """sum(x - y) = sum(x) - sum(y), and so for the mean.

    Holds where x and y have one shape, modulo 2^n for integers; rounded (within
    n u sum (|x| + |y|)), assumes_finite.
    Source: associative and commutative laws.
    """
    return termwise(left, right, ((sum, subtract, subtract), (mean, subtract, subtract)))


MULTIPLY, DIVIDE = Elementwise("multiply"), Elementwise("true_divide")


@relation(tags=(*CANONICAL, "mul_canonical"), specials="assumes_finite")
def distribute_prod_multiplyo(left, right):
    """prod(x y) = prod(x) prod(y), and prod(x / y) = prod(x) / prod(y).

    Holds where x and y have one shape; rounded (within 2 n u |prod(x y)|), assumes_finite.
    Source: associative and commutative laws.
    """
    return termwise(left, right, ((prod, MULTIPLY, MULTIPLY), (prod, DIVIDE, DIVIDE)))


@identity(tags=CANONICAL, specials="assumes_finite")
def lift_prod_expo(x, axis, keepdims):
    """prod(e^x) = e^sum(x).

    Holds always; rounded (the error of the sum counts |sum(x)| times), assumes_finite (a partial
    product may overflow or underflow).
    Source: DLMF 4.8.16.
    """
    return prod(exp(x), axis=axis, keepdims=keepdims), exp(sum(x, axis=axis, keepdims=keepdims))


@identity(tags=CANONICAL, where=lambda x: floato(x), rounding="exact")
def lift_prod_absoluteo(x, axis, keepdims):
    """prod(|x|) = |prod(x)|.

    Holds for floats; exact, kept.
    Source: IEEE 754-2019, section 6.3: rounding does not depend on the sign.
    """
    return (
        prod(absolute(x), axis=axis, keepdims=keepdims),
        absolute(prod(x, axis=axis, keepdims=keepdims)),
    )


# Known forms that no mode runs.


@identity(
    tags=("variance", "optional"),
    where=lambda x: floato(x),
    specials="assumes_finite",
    broadcast="*",
)
def center_varianceo(x):
    """mean(x^2) - mean(x)^2 = mean((x - mean(x))^2).

    Holds for floats; rounded (the left side loses all digits where the mean is large),
    assumes_finite.  No mode runs it: it takes a second pass.
    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 1.9.
    """
    average = mean(x, axis=None, keepdims=True)
    return mean(square(x)) - square(mean(x)), mean(square(x - average))


@identity(
    tags=("local_sumsqr2dot", "optional"),
    where=lambda x, y: (matrixo(x), matrixo(y)),
    specials="assumes_finite",
    broadcast="*",
)
def sum_squareso(x, y):
    """sum_(b, c)((x_bc y_ac)^2) = square(y) sum_b(square(x)), a product of matrix and vector.

    Holds for matrices x and y; rounded (another order of summation), assumes_finite.  Only the
    option local_sumsqr2dot runs it: the measure of the phases does not count sizes.
    Source: distributive law.
    """
    return (
        sum(square(ExpandDims((-3,))(x) * ExpandDims((-2,))(y)), axis=(-2, -1)),
        square(y) @ sum(square(x), axis=-2),
    )


RELATIONS: tuple[Relation, ...] = (
    merge_sumo,
    merge_prodo,
    merge_meano,
    remove_reduceo,
    lift_sum_negativeo,
    lift_sum_multiplyo,
    lift_sum_divideo,
    lift_sum_columno,
    lift_mean_addo,
    divide_sumo,
    multiply_meano,
    distribute_sum_addo.reversed,
    distribute_sum_subtracto.reversed,
    distribute_prod_multiplyo.reversed,
    lift_prod_expo,
    lift_prod_absoluteo,
    center_varianceo,
    sum_squareso,
)
