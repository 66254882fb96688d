"""The facts of nodes, inferred through each op's own rule, lazily and once for each node.

References
----------
S. M. Rump, Verification of positive definiteness, BIT Numerical Mathematics 46 (2006), 433-452.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from relgraph.errors import ArgumentError, kind_of
from relgraph.ir.facts import BIT, NOTHING, Facts, is_fact, of_type, proved, unknown_fact, within
from relgraph.ir.intervals import EXACT, Interval
from relgraph.ir.node import Constant, Input, Variable, set_facts
from relgraph.ir.types import TensorType

if TYPE_CHECKING:
    from relgraph.ir.op import Op


def facts_of(node: Variable) -> Facts:
    """Return the facts of a node; inferred once, without recursion.

    Parameters
    ----------
    node : Variable
        Any node of a graph.

    Returns
    -------
    Facts
        The facts proved true and those proved false; ``names()`` lists the former.

    Raises
    ------
    ArgumentError
        For an object that is not a node.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> rg.facts(rg.exp(x)).names()
    ('nonnegative',)
    """
    if not isinstance(node, Variable):
        raise ArgumentError(
            f"facts are of graphs, and {node!r:.60} is {kind_of(node)}",
            fix="Pass a Variable; rg.constant(...) wraps an array.",
        )
    if node._facts is not None:
        return cast(Facts, node._facts)
    stack = [node]
    while stack:
        x = stack[-1]
        if x._facts is not None:
            stack.pop()
            continue
        waiting = [i for i in x.inputs if i._facts is None]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        op = x.op
        if op is None:
            set_facts(x, _of_leaf(x))
        elif op.pointwise and x.type.__class__ is TensorType:
            set_facts(x, _of_elementwise(x, op))
        else:
            set_facts(x, _of_any(x, op))
    return cast(Facts, node._facts)


def fact(node: Variable, name: str) -> bool | None:
    """Return True for a fact that is proved, False for one that is disproved, None otherwise.

    Parameters
    ----------
    node : Variable
        Of any type.
    name : str
        Such as "positive" or "symmetric", or an interval such as "[0, 1]".

    Returns
    -------
    bool or None
        None if neither is proved.

    Raises
    ------
    DomainError
        For a fact that does not exist.
    """
    if not is_fact(name):
        raise unknown_fact(name)
    return facts_of(node).holds(name)


_pointwise: dict[Any, Facts] = {}


def _of_leaf(node: Variable) -> Facts:
    if not isinstance(node.type, TensorType):
        return NOTHING
    known = of_type(node.type)
    if isinstance(node, Constant):
        return known | of_constant(node)
    return known | proved(*node.facts) if isinstance(node, Input) else known


def _of_any(node: Variable, op: Op) -> Facts:
    if not isinstance(node.type, TensorType):
        return NOTHING
    return of_type(node.type) | op.facts(tuple([x._facts for x in node.inputs]), node)


def _of_elementwise(node: Variable, op: Op) -> Facts:
    """Return the facts of a node that depend only on types, facts and equal operands."""
    key: list[Any] = [op]
    for x in node.inputs:
        if x.__class__ is Constant:  # its value matters
            return _of_any(node, op)
        key += (x.type, x._facts)
    if len(node.inputs) > 1:
        key.append(len(set(node.inputs)))
    case = tuple(key)
    facts = _pointwise.get(case)
    if facts is None:
        if len(_pointwise) >= 4096:
            _pointwise.clear()
        facts = _pointwise[case] = _of_any(node, op)
    return facts


def of_constant(node: Constant) -> Facts:
    """Return the facts of a constant, from its values."""
    value = node.value
    with np.errstate(invalid="ignore"):
        tests = {
            "positive": bool((~(value <= 0)).all()),
            "nonnegative": bool((~(value < 0)).all()),
            "negative": bool((~(value >= 0)).all()),
            "nonpositive": bool((~(value > 0)).all()),
            "nonzero": bool((value != 0).all()),
            "integer": bool((np.isnan(value) | (value == np.floor(value))).all()),
            "finite": bool(np.isfinite(value).all()),
            "not_nan": not bool(np.isnan(value).any()),
        }
    if value.ndim == 2 and value.shape[0] == value.shape[1]:
        tests["symmetric"] = bool((value == value.T).all())
        tests["lower_triangular"] = not bool(np.triu(value, 1).any())
        tests["upper_triangular"] = not bool(np.tril(value, -1).any())
        tests["tridiagonal"] = not bool(np.triu(value, 2).any() or np.tril(value, -2).any())
        if tests["lower_triangular"] and tests["upper_triangular"]:
            tests["identity"] = bool(value.size and (value.diagonal() == 1).all())
    false = 0
    for name, result in tests.items():
        if not result:
            false |= BIT[name]
    facts = proved(*(name for name, result in tests.items() if result)) | Facts(0, false)
    if tests.get("symmetric") and _is_definite(value):
        facts |= proved("spd")
    return _bounded(facts, value)


def _bounded(facts: Facts, value: Any) -> Facts:
    """Return the facts of a constant of numbers with the interval of its elements."""
    if value.dtype.kind not in "fiu" or not value.size or np.isnan(value).any():
        return facts
    bounds = Interval(float(value.min()), float(value.max()))
    exact = value.dtype.kind == "f" or bounds.within(EXACT)
    return facts | within(bounds) if exact else facts


_LARGEST = 128  # the largest constant matrix that is factored to test definiteness


def _is_definite(value: Any) -> bool:
    """Return True if a symmetric matrix of numbers is certainly positive definite.

    Subtract a multiple of the identity that exceeds the rounding errors: then the Cholesky
    factorisation succeeds only if the matrix is positive definite (Rump).
    """
    matrix = np.asarray(value, np.float64)
    side, diagonal = len(matrix), matrix.diagonal()
    if side == 0 or not (np.isfinite(matrix).all() and (diagonal > 0).all()):
        return False
    if np.count_nonzero(matrix) == side:
        return True
    if side > _LARGEST:
        return False
    info = np.finfo(np.float64)
    shift = 4 * (side + 2) * info.eps * diagonal.sum() + info.tiny
    try:
        np.linalg.cholesky(matrix - shift * np.eye(side))
    except np.linalg.LinAlgError:
        return False
    return True
