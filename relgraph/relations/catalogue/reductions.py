"""Sums, products and means over axes.

An axis parameter is a logic variable: one relation serves every axis.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from relgraph.ir.node import Constant, Variable
from relgraph.numpy.reductions import max, mean, min, prod, sum
from relgraph.ops.elementwise import Elementwise, absolute, add, exp, square, subtract
from relgraph.ops.reductions import reduced_axes
from relgraph.ops.shape import Dim, ExpandDims, Squeeze
from relgraph.relations.catalogue import CANONICAL, relations_in
from relgraph.relations.catalogue.conditions import coefficiento, matrixo
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    Suspended,
    calco,
    checko,
    floato,
)

LINEAR = (*CANONICAL, "local_sum_prod_of_mul_or_div", "sum_scalar_mul")
CHAIN = (*CANONICAL, "local_reduce_chain")


def same_along(c: Any, axis: Any, keepdims: Any, x: Any) -> bool:
    """Return True if ``c`` is the same along reduced axes and fits the reduction of ``x``.

    Parameters
    ----------
    c : Variable
        The operand that is broadcast along the axes.
    axis : tuple of int or None
        The reduced axes of ``x``.
    keepdims : bool
        Whether they stay; if they go, ``c`` must not reach as far.
    x : Variable
        The array to reduce.
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
        The array to reduce.
    """
    every = range(-x.ndim, 0)
    first = set(every) if inner is None else set(inner)
    left = list(every) if keepdims else [axis for axis in every if axis not in first]
    second = left if outer is None else [left[axis] for axis in outer]
    return tuple(sorted(first | set(second)))


def merged_some(inner: Any, outer: Any, keepdims: Any, x: Any) -> tuple[int, ...] | None:
    """Return the merged axes, or None where they are all axes."""
    axes = merged_axes(inner, outer, keepdims, x)
    return axes if len(axes) < x.ndim else None


def merged_all(inner: Any, outer: Any, keepdims: Any, x: Any) -> bool:
    """Return True if two reductions in turn reduce all axes."""
    return bool(len(merged_axes(inner, outer, keepdims, x)) == x.ndim)


def nested(reductions: Any, x: Any, a: Any, b: Any, c: Any, keepdims: Any) -> Any:
    """Yield the pairs: a reduction of a reduction is one reduction, over all axes or over some."""

    def twice(reduce: Any) -> Any:
        return reduce(reduce(x, axis=a, keepdims=keepdims), axis=b, keepdims=keepdims)

    for reduce in reductions:
        every_axis = checko(merged_all, a, b, keepdims, x, label="all axes are reduced")
        yield twice(reduce), reduce(x, axis=None, keepdims=keepdims), every_axis
    for reduce in reductions:
        merged = calco(c, merged_some, a, b, keepdims, x)
        yield twice(reduce), reduce(x, axis=c, keepdims=keepdims), merged


def termwise(laws: Any, x: Any, y: Any, axis: Any, keepdims: Any) -> Any:
    """Yield the pairs: a reduction of a combination is the combination of the reductions."""
    for reduce, inner, outer in laws:
        combined = reduce(inner(x, y), axis=axis, keepdims=keepdims)
        first, second = (reduce(z, axis=axis, keepdims=keepdims) for z in (x, y))
        yield combined, outer(first, second)


@identity(tags=CHAIN, specials="assumes_finite")
def merge_sumo(x, a, b, c, keepdims):
    """sum_b(sum_a(x)) = sum_(a, b)(x).

    Holds modulo 2^n for integers.
    The order of summation differs, within n u sum |x|.  A partial sum may overflow.
    Source: associative and commutative laws; N. J. Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 4.2.
    """
    yield from nested((sum,), x, a, b, c, keepdims)


@identity(tags=CHAIN, specials="assumes_finite")
def merge_prodo(x, a, b, c, keepdims):
    """prod_b(prod_a(x)) = prod_(a, b)(x).

    Holds modulo 2^n for integers.
    The order differs, within n u |prod x|.  A partial product may overflow.
    Source: associative and commutative laws.
    """
    yield from nested((prod,), x, a, b, c, keepdims)


@identity(tags=CHAIN, specials="assumes_finite")
def merge_meano(x, a, b, c, keepdims):
    """mean_b(mean_a(x)) = mean_(a, b)(x).

    Each inner mean is over equally many elements.  The order of summation differs.  A partial sum
    may overflow.
    Source: associative and commutative laws.
    """
    yield from nested((mean,), x, a, b, c, keepdims)


@identity(tags=(*CANONICAL, "local_useless_reduce"))
def remove_reduceo(x):
    """sum(x) over no axes = x, and so for prod, max, min and mean.

    A sum may lose the sign of -0.0.
    Source: a sum of one term is the term.
    """
    for f in (sum, prod, max, min, mean):
        yield f(x, axis=()), x


@identity(tags=(*LINEAR, "local_sum_of_neg_to_neg_of_sum"))
def lift_sum_negativeo(x, axis, keepdims):
    """sum(-x) = -sum(x), and so for the mean.

    Holds modulo 2^n for integers.
    A sum of 0 may change its sign.
    Source: rounding to nearest is symmetric, IEEE 754-2019, section 4.3.1.
    """
    for reduce in (sum, mean):
        yield reduce(-x, axis=axis, keepdims=keepdims), -reduce(x, axis=axis, keepdims=keepdims)


@identity(
    tags=LINEAR,
    where=lambda c, x, axis, keepdims: fixedo(c, axis, keepdims, x),
    specials="assumes_finite",
    broadcast=("c",),
)
def lift_sum_multiplyo(c, x, axis, keepdims):
    """sum(c x) = c sum(x), and so for the mean.

    Holds modulo 2^n for integers.
    A scalar c is the same along every axis.  The error is within n u |c| sum |x|.  0 times an
    infinite sum of finite terms is NaN.
    Source: distributive law.
    """
    for reduce in (sum, mean):
        yield (
            reduce(c * x, axis=axis, keepdims=keepdims),
            c * reduce(x, axis=axis, keepdims=keepdims),
        )


@identity(
    tags=LINEAR,
    where=lambda c, x, axis, keepdims: fixedo(c, axis, keepdims, x),
    specials="assumes_finite",
    broadcast=("c",),
)
def lift_sum_divideo(c, x, axis, keepdims):
    """sum(x / c) = sum(x) / c, and so for the mean.

    Holds for floats.
    A scalar c is the same along every axis.  The error is within n u sum |x / c|.
    Source: distributive law.
    """
    for reduce in (sum, mean):
        yield (
            reduce(x / c, axis=axis, keepdims=keepdims),
            reduce(x, axis=axis, keepdims=keepdims) / c,
        )


def column_along(c: Any, axis: Any) -> bool:
    """Return True if ``c`` has all of the axes, with size 1."""
    return axis is not None and builtins.all(c.ndim >= -a and c.type.shape[a] == 1 for a in axis)


@identity(
    tags=("local_sum_prod_of_mul_or_div", "optional"),
    where=lambda c, axis: checko(column_along, c, axis, label="c has size 1 along the axes"),
    specials="assumes_finite",
    broadcast="c",
)
def lift_sum_columno(c, x, axis):
    """sum_a(c x) = squeeze_a(c) sum_a(x).

    Holds modulo 2^n for integers.
    The error is within n u |c| sum |x|.  No mode runs it: c is to be squeezed.
    Source: distributive law.
    """
    return sum(c * x, axis=axis), Squeeze(axis)(c) * sum(x, axis=axis)


@identity(
    tags=CANONICAL,
    where=lambda c, x, axis, keepdims: (fixedo(c, axis, keepdims, x), floato(x), floato(c)),
    specials="assumes_finite",
    broadcast=("c",),
)
def lift_mean_addo(c, x, axis, keepdims):
    """mean(x + c) = mean(x) + c, mean(x - c) = mean(x) - c, and mean(c - x) = c - mean(x).

    The error is within n u (mean |x| + |c|).
    Source: distributive law.
    """
    reduced = mean(x, axis=axis, keepdims=keepdims)
    yield mean(x + c, axis=axis, keepdims=keepdims), reduced + c
    yield mean(x - c, axis=axis, keepdims=keepdims), reduced - c
    yield mean(c - x, axis=axis, keepdims=keepdims), c - reduced


def elements(axis: Any, x: Any) -> int | None:
    """Return how many elements are reduced to one, None where that is not static."""
    dims = [x.type.shape[a] for a in reduced_axes(axis, x.ndim, "reduce")]
    return math.prod(dims) if builtins.all(isinstance(d, int) for d in dims) else None


def is_count(n: Any, axis: Any, x: Any) -> bool:
    """Return True if a number is how many elements are reduced to one."""
    value = n.uniform if isinstance(n, Constant) else n
    count = elements(axis, x)
    return bool(count and value is not None and value == count)


def is_axis(axis: Any, a: Any, x: Any) -> bool:
    """Return True if ``a`` is the one axis that is reduced."""
    return bool(axis == (a,) or (axis is None and x.ndim == 1))


@identity(
    tags=(*CANONICAL, "mean"),
    where=lambda x: floato(x),
    specials="assumes_finite",
    broadcast=("n",),
)
def divide_sumo(x, axis, keepdims, n, a):
    """sum(x) / n = mean(x), where n is the number of elements.

    n is a constant or the size of the one axis.
    Source: definition.
    """
    total, average = sum(x, axis=axis, keepdims=keepdims), mean(x, axis=axis, keepdims=keepdims)
    yield (
        total / n,
        average,
        (coefficiento(n), checko(is_count, n, axis, x, label="n is the number of elements")),
    )
    yield (
        sum(x, axis=axis) / Dim(a)(x),
        mean(x, axis=axis),
        checko(is_axis, axis, a, x, label="the axis is reduced"),
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

    Source: definition.
    """
    return mean(x, axis=axis, keepdims=keepdims) * n, sum(x, axis=axis, keepdims=keepdims)


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_sum_addo(x, y, axis, keepdims):
    """sum(x + y) = sum(x) + sum(y), and so for the mean.

    Holds where x and y have one shape, modulo 2^n for integers.
    The error is within n u sum (|x| + |y|).
    Source: associative and commutative laws.
    """
    laws = ((sum, add, add), (mean, add, add))
    yield from termwise(laws, x, y, axis, keepdims)


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_sum_subtracto(x, y, axis, keepdims):
    """sum(x - y) = sum(x) - sum(y), and so for the mean.

    Holds where x and y have one shape, modulo 2^n for integers.
    The error is within n u sum (|x| + |y|).
    Source: associative and commutative laws.
    """
    laws = ((sum, subtract, subtract), (mean, subtract, subtract))
    yield from termwise(laws, x, y, axis, keepdims)


MULTIPLY, DIVIDE = Elementwise("multiply"), Elementwise("true_divide")


@identity(tags=(*CANONICAL, "mul_canonical"), specials="assumes_finite")
def distribute_prod_multiplyo(x, y, axis, keepdims):
    """prod(x y) = prod(x) prod(y), and prod(x / y) = prod(x) / prod(y).

    Holds where x and y have one shape.
    The error is within 2 n u |prod(x y)|.
    Source: associative and commutative laws.
    """
    laws = ((prod, MULTIPLY, MULTIPLY), (prod, DIVIDE, DIVIDE))
    yield from termwise(laws, x, y, axis, keepdims)


@identity(tags=CANONICAL, specials="assumes_finite")
def lift_prod_expo(x, axis, keepdims):
    """prod(e^x) = e^sum(x).

    The error of the sum counts |sum(x)| times.  A partial product may overflow or underflow.
    Source: DLMF 4.8.16.
    """
    return prod(exp(x), axis=axis, keepdims=keepdims), exp(sum(x, axis=axis, keepdims=keepdims))


@identity(tags=CANONICAL, where=lambda x: floato(x), rounding="exact")
def lift_prod_absoluteo(x, axis, keepdims):
    """prod(|x|) = |prod(x)|.

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

    The left side loses all digits where the mean is large.  No mode runs it: it takes a second
    pass.
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

    The order of summation differs.  Only the option local_sumsqr2dot runs it: the measure of the
    phases does not count sizes.
    Source: distributive law.
    """
    return (
        sum(square(ExpandDims((-3,))(x) * ExpandDims((-2,))(y)), axis=(-2, -1)),
        square(y) @ sum(square(x), axis=-2),
    )


RELATIONS = relations_in(
    globals(),
    backward=(
        distribute_sum_addo,
        distribute_sum_subtracto,
        distribute_prod_multiplyo,
    ),
)
