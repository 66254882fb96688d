"""Facts: three-valued statements about a value, proved before the graph runs.

A fact is proved true, proved false, or unknown.  It describes the *computed* value, including
rounding and overflow: ``exp(x)`` is nonnegative, not positive (it underflows) and not finite (it
overflows).  Facts of sign and integrality mean "every element is NaN or ...".  Facts of matrices
describe the exact value, which the computed one approximates: the inverse of a symmetric matrix is
symmetric, although its last bits may differ.  So ``spd``, symmetric and positive definite, promises
that the exact matrix has a Cholesky factor.  The computed matrix has one too, unless its smallest
eigenvalue is as small as the rounding errors, about ``n u`` times the largest.  The Cholesky
factorisation of such a matrix raises, whereas an elimination would return meaningless digits.
``psd``, positive semidefinite, promises no factor; with ``invertible`` it is ``spd``.  Facts are
declared on inputs, where they belong to the input's identity, and inferred through ops by each op's
own rule, lazily and once a node.

References
----------
S. M. Rump, Verification of positive definiteness, BIT Numerical Mathematics 46 (2006), 433-452.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from relgraph.errors import ArgumentError, DomainError, kind_of
from relgraph.ir.types import TensorType

if TYPE_CHECKING:
    from relgraph.ir.node import Constant, Variable
    from relgraph.ir.op import Op

VALUE_FACTS = (
    "positive", "nonnegative", "negative", "nonpositive", "nonzero", "integer", "finite",
    "not_nan",
)  # fmt: skip
MATRIX_FACTS = (
    "square", "symmetric", "lower_triangular", "upper_triangular", "diagonal", "orthogonal",
    "spd", "psd", "invertible", "permutation", "selection",
)  # fmt: skip
NAMES = (*VALUE_FACTS, *MATRIX_FACTS)
BIT = {name: 1 << i for i, name in enumerate(NAMES)}

_IMPLIES = {
    "positive": ("nonnegative", "nonzero"),
    "negative": ("nonpositive", "nonzero"),
    "finite": ("not_nan",),
    "symmetric": ("square",),
    "lower_triangular": ("square",),
    "upper_triangular": ("square",),
    "diagonal": ("square", "symmetric", "lower_triangular", "upper_triangular"),
    "orthogonal": ("square", "invertible"),
    "spd": ("square", "symmetric", "invertible", "psd"),
    "psd": ("square", "symmetric"),
    "invertible": ("square",),
    "permutation": ("orthogonal", "selection"),
}


@cache
def _closure(mask: int) -> int:
    while True:
        grown = mask
        for name, others in _IMPLIES.items():
            if grown & BIT[name]:
                for other in others:
                    grown |= BIT[other]
        if grown & BIT["lower_triangular"] and grown & BIT["upper_triangular"]:
            grown |= BIT["diagonal"]
        if grown & BIT["psd"] and grown & BIT["invertible"]:
            grown |= BIT["spd"]
        if grown == mask:
            return mask
        mask = grown


class Facts(NamedTuple):
    """The known facts of a value: two sets, as bit masks.

    ``true`` holds the proved facts, ``false`` the disproved ones.
    """

    true: int = 0
    false: int = 0

    def holds(self, name: str) -> bool | None:
        """Return True, False, or None if the fact is unknown."""
        bit = BIT[name]
        return True if self.true & bit else (False if self.false & bit else None)

    def names(self) -> tuple[str, ...]:
        """Return the names of the facts proved true."""
        return tuple(name for name in NAMES if self.true & BIT[name])

    def __or__(self, other: object) -> Facts:
        if not isinstance(other, Facts):
            return NotImplemented
        return Facts(_closure(self.true | other.true), self.false | other.false)


NOTHING = Facts()


@cache
def proved(*names: str) -> Facts:
    """Return these facts and all facts that they imply, proved true."""
    mask = 0
    for name in names:
        mask |= BIT[name]
    return Facts(_closure(mask))


def kept(operand: Facts, *names: str) -> Facts:
    """Return the named facts that are proved for ``operand``."""
    return proved(*(name for name in names if operand.true & BIT[name]))


def shared(operands: Iterable[Facts]) -> Facts:
    """Return the facts that are proved for every operand."""
    common = -1
    for x in operands:
        common &= x.true
    return Facts(common)


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
    from relgraph.ir.node import Constant, Variable, set_facts

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
            set_facts(x, _of_elementwise(x, op, Constant))
        else:
            set_facts(x, _of_any(x, op))
    return cast(Facts, node._facts)


def fact(node: Variable, name: str) -> bool | None:
    """Return whether a fact is proved true (True), proved false (False), or unknown (None).

    Parameters
    ----------
    node : Variable
        Of any type.
    name : str
        Such as "positive" or "symmetric".

    Returns
    -------
    bool or None
        None if neither is proved.

    Raises
    ------
    DomainError
        For a fact that does not exist.
    """
    if not isinstance(name, str) or name not in BIT:
        raise unknown_fact(name)
    return facts_of(node).holds(name)


_pointwise: dict[Any, Facts] = {}


def _of_leaf(node: Variable) -> Facts:
    from relgraph.ir.node import Constant, Input

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


def _of_elementwise(node: Variable, op: Op, constant: type[Constant]) -> Facts:
    """Return the facts of a node that depend only on types, facts and equal operands."""
    key: list[Any] = [op]
    for x in node.inputs:
        if x.__class__ is constant:  # its value matters
            return _of_any(node, op)
        key += (x.type, x._facts)
    if len(node.inputs) > 1:
        key.append(len(set(node.inputs)))
    known = tuple(key)
    found = _pointwise.get(known)
    if found is None:
        if len(_pointwise) >= 4096:
            _pointwise.clear()
        found = _pointwise[known] = _of_any(node, op)
    return found


@lru_cache(4096)
def of_type(type_: TensorType) -> Facts:
    """Return the facts that the dtype and shape alone prove."""
    names = []
    kind = type_.dtype.kind
    if kind in "biu":
        names += ["integer", "finite"]
    if kind in "bu":
        names.append("nonnegative")
    square = None
    if type_.ndim >= 2:
        rows, columns = type_.shape[-2:]
        if rows is not None and rows == columns:
            names.append("diagonal" if rows == 1 else "square")
        elif isinstance(rows, int) and isinstance(columns, int):
            square = False
    else:
        square = False
    return proved(*names) | Facts(0, BIT["square"] if square is False else 0)


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
    false = 0
    for name, result in tests.items():
        if not result:
            false |= BIT[name]
    found = proved(*(name for name, result in tests.items() if result)) | Facts(0, false)
    return found | proved("spd") if tests.get("symmetric") and _is_definite(value) else found


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


def check_declared(name: str, type_: TensorType, facts: Iterable[str]) -> frozenset[str]:
    """Return declared facts as a set, or raise DomainError for one that cannot hold."""
    if not isinstance(facts, Iterable):
        raise ArgumentError(
            f"the facts of {name!r} are names, not {facts!r:.60}",
            {"facts": ", ".join(NAMES)},
            'Write facts=("positive",), or leave it out.',
        )
    given = (facts,) if isinstance(facts, str) else tuple(facts)
    for one in given:
        if not isinstance(one, str) or one not in BIT:
            raise unknown_fact(one)
    declared = frozenset(given)
    check_possible(f"the input {name!r}", type_, declared)
    return declared


def check_possible(what: str, type_: TensorType, facts: Iterable[str]) -> None:
    """Raise an error for facts that no value of a type can have.

    Parameters
    ----------
    what : str
        The subject of the facts, for the error.
    type_ : TensorType
        Its type.
    facts : iterable of str
        The facts.

    Raises
    ------
    DomainError
        For a fact of square matrices and a type of another shape.
    """
    for one in sorted(facts):
        oblong = one == "selection" and type_.ndim >= 2  # one 1 in each row, zeros elsewhere
        if (
            one in MATRIX_FACTS
            and not oblong
            and (type_.ndim < 2 or of_type(type_).holds("square") is False)
        ):
            raise DomainError(
                f"{what} cannot be {one}",
                {"type": type_},
                'Only square matrices can; give it a shape such as ("n", "n").',
            )


def check_consistent(what: str, facts: Iterable[str]) -> None:
    """Raise an error for two facts that no array containing a number can have.

    Parameters
    ----------
    what : str
        The subject of the facts, for the error.
    facts : iterable of str
        Facts that exist.

    Raises
    ------
    DomainError
        For mutually exclusive facts.
    """
    given = set(facts)
    for one, other in combinations(sorted(given, key=NAMES.index), 2):
        known = proved(one, other)
        for sign, opposite in (("positive", "nonpositive"), ("negative", "nonnegative")):
            if known.holds(sign) and known.holds(opposite):
                raise DomainError(
                    f"{what} cannot be {one} and {other}",
                    {"facts": ", ".join(sorted(given))},
                    "Leave one of them out.",
                )


def unknown_fact(name: object) -> DomainError:
    """Return the error for a fact that does not exist."""
    from difflib import get_close_matches

    near = get_close_matches(str(name), NAMES, 1)
    return DomainError(
        f"there is no fact {name!r}",
        {"facts": ", ".join(NAMES)},
        f"Did you mean {near[0]!r}?" if near else "Use one of these facts.",
    )
