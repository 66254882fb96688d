"""The shapes, dtypes and parameters to try for the variables of a clause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from relgraph.db.catalogue import THEMES, relations_of
from relgraph.errors import ArgumentError, DTypeError
from relgraph.ops.contraction import Einsum, Matmul, Outer
from relgraph.ops.elementwise import Elementwise, Row
from relgraph.ops.indexing.composition import operands_of
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye, Trace, Tril, Triu
from relgraph.ops.reductions import LogSoftmax, Reduction, Softmax
from relgraph.relations.clause import Clause, traits
from relgraph.relations.declaration import axis_kinds
from relgraph.relations.pattern import OpPattern, PatternNode, PatternVariable, Term, subterms
from relgraph.relations.rank_classes import key_operands, takes_key
from relgraph.relations.relation import Relation

EVERY_DTYPE = ("float64", "float32", "int64", "int32", "int8", "uint8", "bool")
FLOAT = np.dtype("float64")
OF_MATRICES = (Matmul, Outer, Einsum, Eye, Diag, Diagonal, Trace, Tril, Triu)
ALONG_AXES = (Reduction, Softmax, LogSoftmax)

Shape = tuple[Any, ...]


@dataclass(frozen=True)
class Shapes:
    """The shapes to draw operands from for one kind of clause.

    Attributes
    ----------
    usual : sequence of tuple
        For graphs of both sides.
    open : sequence of tuple
        For graphs of one side: unknown and named sizes, and sizes that do not fit the other side.
    small : sequence of tuple
        For the smallest counterexample, smallest first.
    side : int
        The size of every axis of ``equal``.
    """

    usual: Sequence[Shape]
    open: Sequence[Shape]
    small: Sequence[Shape]
    side: int = 3

    @property
    def other(self) -> list[Shape]:
        """Other sizes than the usual ones: a relation may contain a size as a number."""
        return [tuple({2: 4, 3: 5}.get(d, d) for d in shape) for shape in self.usual]

    @property
    def equal(self) -> list[Shape]:
        """Sizes that are all equal.

        Types then reveal the least: a relation that confuses axes or transposes a matrix keeps the
        type.
        """
        return [(self.side,) * n for n in (2, 3, 1, 4, 0)]


ELEMENTWISE = Shapes(
    usual=[(3,), (), (0,), (2, 3), (1, 3), (2, 1)],
    open=[(), (None,), (1,), (0,), (3,), ("n",), (None, 3), (1, None), (2, 1)],
    small=[(), (1,), (2,), (1, 2)],
)
REDUCTIONS = Shapes(
    usual=[(2, 3), (3,), (), (0, 3), (1, 3), (2, 1, 3)],
    open=[(), (None,), (1,), (0,), (None, None), (1, None), (2, 3), (None, 1, "n")],
    small=[(), (1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2), (2, 2, 2)],
)
REARRANGEMENTS = Shapes(
    usual=[(2, 3), (6,), (2, 1, 3), (1, 3), (1,), (0, 3), (1, 1, 2)],
    open=[(None,), (1,), (6,), (None, 3), (1, None), (0, 2), (2, 3), (None, 1, None), (1, 1)],
    small=[(1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2), (1, 1, 2), (2, 2, 2)],
)
LINALG = Shapes(
    usual=[(3, 3), (3,), (2, 3, 3), (), (2, 3), (3, 2), (3, 1), (1, 3)],
    open=[
        (None,), (1,), (3,), ("n",), (None, None), (None, None), ("n", "n"), (3, 3), (1, None),
        (None, 1), (0, 0), (3, 1), (1, 1), (2, None, None), (None, 3, 3), (),
    ],
    small=[(), (1,), (2,), (1, 1), (2, 1), (1, 2), (2, 2), (1, 2, 2)],
)  # fmt: skip
INDEXING = Shapes(
    usual=[(4, 3), (3,), (), (4,), (2, 4, 3), (1, 3), (0, 3)],
    open=[(None,), (), (3,), (4, None), (None, 3), (None, None), (1, 3), (2, 4, None)],
    small=[(), (2,), (1,), (2, 2), (4,), (4, 3)],
    side=4,
)
CUMULATIVE = Shapes(
    usual=[(2, 3), (2,), (3,), (4, 3), (2, 4, 3), (1, 3), (0, 3), (2, 1)],
    open=[(None,), (2,), (3,), (2, None), (None, 2), (None, None), (1, 3), (2, 4, None)],
    small=[(1,), (2,), (1, 2), (2, 1), (2, 2), (4,)],
)
# The themes of the catalogue that are not elementwise.
OF_THEME = {
    **dict.fromkeys(("linalg", "products", "structure", "blocks", "decompositions"), LINALG),
    **dict.fromkeys(("shape", "axes", "checks"), REARRANGEMENTS),
    **dict.fromkeys(("indexing", "updates", "masks"), INDEXING),
    "reductions": REDUCTIONS,
    "cumulative": CUMULATIVE,
}
PARAMETERS: dict[str, list[Any]] = {
    "axis": [(-1,), None, (-2,), (-2, -1), (), (-3,)],
    "axes": [(-1,), (-2,), (-1, -2), (-2, -1), (-1, -3, -2), (-2, -3, -1), (-3, -1, -2)],
    "keepdims": [False, True],
    "shape": [(2, 3), (6,), (3, 2), (-1,), (1, 6), (1, 2, 3), (3, -1), (4, 2, 3), (None,),
              (None, 3), (None, None)],
    "dtype": ["float64", "float32", "int64", "int8"],
    "n": [3], "m": [3], "k": [0], "lower": [True, False], "full_matrices": [False, True],
    "mode": ["reduced", "complete"],
    "message": ["it does not hold"],
    "assume": ["general", "symmetric", "spd"],
    "trans": [0, 1], "side": [0, 1], "unit_diagonal": [False, True], "index": [0, 1],
    "facts": [("positive",), ("finite",)], "subscripts": ["ab,bc->ac", "ab->ba", "a,a->"],
    "spec": [
        (("int", 1),), (("slice", None, 2, None),), (("slice", 2, None, None),),
        (("slice", None, None, None), ("int", 1)), (("int", 0),), (),
        (("slice", None, None, None), ("slice", None, 1, None)), (("int", 3), ("int", 2)),
        (("slice", 1, 2, None),), (("dynamic",),), (("slice", None, None, None), ("dynamic",)),
        (("slice", 1, None, 2),), (("array",),), (("slice", 1, None, None),),
        (("slice", None, None, None), ("array",)), (("dynamic",), ("dynamic",)),
        (("slice", None, 1, None),), (("slice", None, None, None), ("slice", 1, None, None)),
        (("mask", 1),), (("mask", 2),),
    ],
}  # fmt: skip
ONE_AXIS: list[Any] = [-1, -2]  # of ops that accept only one, such as softmax


def shapes_of(relation: Relation, clause: Clause) -> Shapes:
    """Return the shapes to try for a clause, by its theme or else by its ops."""
    theme = _themes().get(id(relation.goal))
    if theme in OF_THEME:
        return OF_THEME[theme]
    if is_pointwise(clause):
        return ELEMENTWISE
    nodes = _nodes(clause.left, clause.right)
    classes: list[Any] = [x.op.cls if isinstance(x.op, OpPattern) else type(x.op) for x in nodes]
    if any(cls.conditioned or issubclass(cls, OF_MATRICES) for cls in classes):
        return LINALG
    reduces = theme is not None or any(issubclass(cls, ALONG_AXES) for cls in classes)
    return REDUCTIONS if reduces else REARRANGEMENTS


@cache
def _themes() -> dict[int, str]:
    """Return the theme of each relation of the catalogue, by the identity of its goal."""
    return {id(r.goal): theme for theme in THEMES for r in relations_of(theme)}


def is_pointwise(clause: Clause) -> bool:
    """Return True if both sides are elementwise."""
    return all(traits(x.op).pointwise for x in _nodes(clause.left, clause.right))


def _nodes(*terms: Term) -> list[PatternNode]:
    return [x for term in terms for x in subterms(term) if isinstance(x, PatternNode)]


def dtypes_of(clause: Clause) -> tuple[str, ...]:
    """Return the dtypes of inputs that the ops and conditions of a clause require."""
    nodes = _nodes(clause.left, clause.right)
    rows = [x.op.row for x in nodes if isinstance(x.op, Elementwise)]
    if any(row.theme == "logic and bits" and not _takes_floats(row) for row in rows):
        return "bool", "int64"
    if any(c.label.startswith("integers") for c in clause.conditions):
        return "int64", "int8"
    needs_bool = any(c.label.startswith("bool(") for c in clause.conditions)
    logic = any(row.decides == "condition" or row.theme == "logic and bits" for row in rows)
    return ("bool", "float64") if needs_bool or logic else ("float64",)


def _takes_floats(row: Row) -> bool:
    try:
        row.loop(row.name, (FLOAT,) * row.arity)
    except DTypeError:
        return False
    return True


def parameters_of(*terms: Term) -> dict[PatternVariable, str]:
    """Return the open parameters of patterns, with the ``op.name`` of each."""
    parameters: dict[PatternVariable, str] = {}
    for x in _nodes(*terms):
        if isinstance(x.op, OpPattern):
            for name, value in zip(x.op.cls.parameters, x.op.params, strict=True):
                if isinstance(value, PatternVariable):
                    parameters[value] = f"{x.op.cls.name}.{name}"
    return parameters


def choices_of(clause: Clause, *terms: Term) -> dict[PatternVariable, list[Any]]:
    """Return the values to try for the open parameters of patterns that a clause contains."""
    return {v: _choices(clause, v, field) for v, field in parameters_of(*terms).items()}


def _choices(clause: Clause, v: PatternVariable, field: str) -> list[Any]:
    name = field.partition(".")[2]
    if name == "axis":
        kinds = frozenset.intersection(*axis_kinds(clause)[v].values())
        return [x for x in ONE_AXIS + PARAMETERS[name] if type(x) in kinds]
    choices = PARAMETERS[name] if name in PARAMETERS else _declared(clause, v, name)
    if name == "spec" and "bool" not in dtypes_of(clause):
        choices = [s for s in choices if not any(entry[0] == "mask" for entry in s)]
    # The operands supply the unknown sizes of a shape, and parts of a key.
    nodes = [x for x in _nodes(clause.left, clause.right) if isinstance(x.op, OpPattern)]
    supplied = {
        len(x.args[1:] if traits(x.op).takes_shape else key_operands(x))
        for x in nodes
        if v in x.op.params and (traits(x.op).takes_shape or takes_key(x.op))
    }
    return [s for s in choices if _operands_of(s) in supplied] or choices if supplied else choices


def _declared(clause: Clause, v: PatternVariable, name: str) -> list[Any]:
    """Return the values that the class of an op says a parameter of its own may have."""
    nodes = [x for x in _nodes(clause.left, clause.right) if isinstance(x.op, OpPattern)]
    classes = [x.op.cls for x in nodes if v in x.op.params]
    choices = [x for cls in classes for x in cls.choices.get(name, ())]
    if not choices:
        raise ArgumentError(
            f"rg.check has no values to try for the parameter {name!r} of {classes[0].__name__}",
            {"clause": clause},
            f"Name some in the class of the op: choices = {{{name!r}: [...]}}.",
        )
    return choices


def _operands_of(parameter: Any) -> int:
    """Return how many operands a shape or a key takes."""
    if not all(isinstance(entry, tuple) for entry in parameter):
        return parameter.count(None)  # type: ignore[no-any-return]
    return sum(map(operands_of, parameter))
