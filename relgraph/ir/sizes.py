"""Unknown sizes: where each is read, and which ones a graph needs to be equal.

A *size* is an int, a name, or a :class:`Place`: the dimension in which an unknown size first
occurs.  Ops need not declare this (:meth:`Op.ties` is for the few that must); their type rules
reveal it when they receive names: two different names raise an error exactly if the op needs the
sizes to be equal, and a name in the result type shows which operand a size comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple
from weakref import WeakKeyDictionary

from relgraph.errors import RelgraphError
from relgraph.ir.fact_inference import fact
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.op import Op
from relgraph.ir.records import record
from relgraph.ir.types import Dim, Shape, TensorType, Type

At = tuple[int, int]  # an operand, and its axis counted from the end


class Place(NamedTuple):
    """An unknown size: that of a node along an axis, counted from the end."""

    node: Variable
    axis: int


Size = int | str | Place


@record
class Given:
    """A size that is the value of an operand, a scalar."""

    operand: int


class Tie(NamedTuple):
    """Two dimensions of operands that an op needs to be equal, or one with a prescribed size."""

    first: At  # an unknown dimension
    second: At | Given | int  # another dimension, an operand that is the size, or the size


class Rule(NamedTuple):
    """The effect of an op on the sizes of operands of certain types."""

    ties: tuple[Tie, ...]  # the dimensions that must be equal
    origins: tuple[At | None, ...]  # the dimension of an operand that each axis of the result has
    complete: bool = True  # whether these are all ties


TAG = "__unknown_"


def tag(number: int) -> str:
    """Return a name that stands for an unknown size in a call of a type rule."""
    return f"{TAG}{number}"


def _is_tag(dim: Dim) -> bool:
    return isinstance(dim, str) and dim.startswith(TAG)


@lru_cache(4096)
def rule_of(op: Op, types: tuple[Type, ...]) -> Rule:
    """Return the effect of an op on sizes, from its type rule alone.

    It has no ties if every size has a number or a name.
    """
    shapes = [x.shape if isinstance(x, TensorType) else () for x in types]
    ties, complete = op.ties(shapes), True
    if ties is None:
        if not any(None in shape for shape in shapes):
            return Rule((), _origins(op, types, {}))
        ties = _elementwise(shapes)
        if not op.pointwise:
            ties, complete = _asked(op, types, shapes)
    return Rule(tuple(ties), _origins(op, types, _classes(shapes, ties)), complete)


def _elementwise(shapes: Sequence[Shape]) -> list[Tie]:
    """Return the ties of an elementwise op: along each axis, the operands not stretched."""
    ties = []
    for axis in range(-max(map(len, shapes), default=0), 0):
        spanning = [i for i, s in enumerate(shapes) if len(s) >= -axis and s[axis] != 1]
        unknown = [i for i in spanning if shapes[i][axis] is None]
        known = [i for i in spanning if shapes[i][axis] is not None]
        if known and unknown:
            ties.append(Tie((unknown[0], axis), (known[0], axis)))
        ties += [Tie((unknown[0], axis), (i, axis)) for i in unknown[1:]]
    return ties


def _asked(op: Op, types: Sequence[Type], shapes: Sequence[Shape]) -> tuple[list[Tie], bool]:
    """Return the ties that a type rule reveals by raising for different names, and if all do."""
    dims = {(i, axis): s[axis] for i, s in enumerate(shapes) for axis in range(-len(s), 0)}
    unknown = [at for at, dim in dims.items() if dim is None]
    known = dict.fromkeys(dim for dim in dims.values() if dim is not None)
    ties, complete = [], True
    alone = [at for at in unknown if _takes(op, types, {at: tag(0)})]
    for at in unknown:
        if at in alone:
            continue
        fitting = [dim for dim in known if _takes(op, types, {at: dim})]
        # Along batch axes, a 1 is stretched and fits any other size.
        exact = [dim for dim in fitting if dim != 1] or fitting
        places = [other for other, dim in dims.items() if dim in exact]
        # If only a 1 fits, it may be stretched to a size that no operand has.
        is_tied = exact != [1] or _takes(op, types, dict.fromkeys((at, *places), tag(0)))
        if len(exact) == 1 and is_tied:
            ties.append(Tie(at, max(places, key=lambda other: other[0] != at[0])))
        else:
            complete = False
    for first, second in combinations(alone, 2):
        if not _takes(op, types, {first: tag(0), second: tag(1)}):
            ties.append(Tie(first, second))
    return ties, complete


@lru_cache(4096)
def stretched(op: Op, types: tuple[Type, ...]) -> tuple[tuple[At, At], ...]:
    """Return the axes that an op needs to be equal, but would stretch if one of them is 1.

    Only a comparison of array sizes can enforce these ties: like NumPy, an op stretches an
    undeclared size of 1.
    """
    ties = rule_of(op, types).ties
    shapes = [x.shape if isinstance(x, TensorType) else () for x in types]
    classes = _classes(shapes, ties)

    def stretches(one: At) -> bool:
        """Return True if a dimension may be 1 while all dimensions tied to it have another size."""
        given: dict[At, Dim] = {at: tag(0) for at, dim in classes.items() if dim == classes[one]}
        return _takes(op, types, given | {one: 1})

    pairs = [(a, b) for a, b in ties if isinstance(b, tuple)]
    return tuple([(a, b) for a, b in pairs if stretches(a) or stretches(b)])


def _takes(op: Op, types: Sequence[Type], dims: dict[At, Dim]) -> bool:
    try:
        op.infer(*_with(types, dims))
    except (RelgraphError, ValueError, TypeError):
        return False
    return True


def _with(types: Sequence[Type], dims: dict[At, Dim]) -> list[Type]:
    """Return types with some of their dimensions replaced."""
    return [
        x.with_shape([dims.get((i, axis - x.ndim), dim) for axis, dim in enumerate(x.shape)])
        if isinstance(x, TensorType)
        else x
        for i, x in enumerate(types)
    ]


def _classes(shapes: Sequence[Shape], ties: Iterable[Tie]) -> dict[At, Dim]:
    """Return a name or size for each unknown dimension, the same for those that are tied."""
    classes = {(i, axis): s[axis] for i, s in enumerate(shapes) for axis in range(-len(s), 0)}
    unknown = [at for at, dim in classes.items() if dim is None]
    for number, at in enumerate(unknown):
        classes[at] = tag(number)
    for first, second in ties:
        if isinstance(second, Given):
            continue
        old, new = classes[first], classes[second] if isinstance(second, tuple) else second
        keep, drop = (new, old) if _is_tag(old) else (old, new)
        for at in unknown:
            if classes[at] == drop:
                classes[at] = keep
    return classes


def _origins(op: Op, types: Sequence[Type], named: dict[At, Dim]) -> tuple[At | None, ...]:
    """Return the origin of each dimension of the result, by its name."""
    try:
        result = op.infer(*_with(types, named))
    except (RelgraphError, ValueError, TypeError):
        result = op.infer(*types)
        named = {}
    if not isinstance(result, TensorType):
        return ()
    first: dict[Dim, At] = {}
    for at, dim in named.items():
        first.setdefault(dim, at)
    return tuple([first.get(dim) if _is_tag(dim) else None for dim in result.shape])


_PLACES: WeakKeyDictionary[Variable, dict[int, Size]] = WeakKeyDictionary()


def size_at(node: Variable, axis: int) -> Size:
    """Return the size of a tensor along an axis, read as deep in the graph as possible.

    The axis counts from the end.  If single ops imply that two sizes are equal, the results are.
    """
    path: list[tuple[Variable, int]] = []
    while True:
        dim = node.type.shape[axis]
        size: Size | None = dim if dim is not None else _PLACES.get(node, {}).get(axis)
        if size is None:
            below = _below(node, axis)
            if below is not None:
                path.append((node, axis))
                node, axis = below
                continue
            size = Place(node, axis)
        for x, at in path:
            _PLACES.setdefault(x, {})[at] = size
        return size


def _below(node: Variable, axis: int) -> tuple[Variable, int] | None:
    """Return the operand and axis that a dimension of a node equals, if any."""
    op = node.op
    if op is None:
        return None
    types = tuple([x.type for x in node.inputs])
    origin = rule_of(op, types).origins[axis]
    if origin is None:
        squares = tuple([i for i, x in enumerate(node.inputs) if _is_open_square(x)])
        origin = _origins_of_squares(op, types, squares)[axis] if squares else None
    if origin is not None:
        return node.inputs[origin[0]], origin[1]
    if op.takes_shape:
        sizes = iter(node.inputs[1:])
        given = [None if isinstance(entry, int) else next(sizes) for entry in op.params[0]]
        size = given[axis]
        if size is not None and size.op is not None and size.op.reads_shape:
            return size.inputs[0], size.op.params[0]
    return None


def _is_open_square(x: Variable) -> bool:
    """Return True for square matrices whose side has neither a number nor a name."""
    if not isinstance(x.type, TensorType) or x.ndim < 2:
        return False
    return x.type.shape[-2:] == (None, None) and fact(x, "square") is True


@lru_cache(4096)
def _origins_of_squares(
    op: Op, types: tuple[Type, ...], squares: tuple[int, ...]
) -> tuple[At | None, ...]:
    """Return the origins of the result's sizes where some operands are square matrices."""
    return _origins(op, types, {(i, axis): tag(i) for i in squares for axis in (-2, -1)})


class Equalities:
    """Sizes that are known to be equal, because computed nodes need them to be.

    Examples
    --------
    >>> import relgraph as rg
    >>> x, y, z = rg.vectors("x y z")
    >>> known = Equalities()
    >>> known.learn(x + y)
    >>> known.implies(x * y), known.implies(x * z)
    (True, False)
    """

    def __init__(self) -> None:
        self._same: dict[Size, Size] = {}

    def find(self, size: Size) -> Size:
        """Return the representative of all sizes known to be equal."""
        while size in self._same:
            size = self._same[size]
        return size

    def join(self, a: Size, b: Size) -> bool:
        """Record that two sizes are equal; return True if that was not known."""
        keep, drop = sorted((self.find(a), self.find(b)), key=_rank)
        if keep == drop:
            return False
        self._same[drop] = keep
        return True

    def learn(self, node: Variable) -> None:
        """Record the sizes that a computed node needs to be equal, from operands and facts."""
        if node.op is not None:
            for first, second in rule_of(node.op, tuple([x.type for x in node.inputs])).ties:
                self.join(_size(node.inputs, first), _size(node.inputs, second))
        type_ = node.type
        matrices = isinstance(type_, TensorType) and type_.ndim >= 2
        if matrices and None in type_.shape[-2:] and fact(node, "square"):
            self.join(size_at(node, -2), size_at(node, -1))

    def together(self, nodes: Sequence[Variable]) -> None:
        """Record that nodes are operands of one elementwise op."""
        for first, second in _elementwise([x.type.shape for x in nodes]):
            self.join(_size(nodes, first), _size(nodes, second))

    def implies(self, node: Variable) -> bool:
        """Return True if all sizes that an application needs to be equal are known to be equal."""
        op = node.op
        if op is None:
            return True
        types = tuple([x.type for x in node.inputs])
        ties, _, complete = rule_of(op, types)
        find = self.find
        for first, second in ties:
            if find(_size(node.inputs, first)) != find(_size(node.inputs, second)):
                return False
        return complete or self._named(op, node.inputs)

    def _named(self, op: Op, operands: Sequence[Variable]) -> bool:
        """Call a type rule with a name for each unknown size, one name for equal sizes."""
        names: dict[Size, str] = {}
        dims: dict[At, Dim] = {}
        for i, x in enumerate(operands):
            for axis in range(-x.ndim if isinstance(x.type, TensorType) else 0, 0):
                size = self.find(size_at(x, axis))
                dims[i, axis] = (
                    names.setdefault(size, tag(len(names))) if isinstance(size, Place) else size
                )
        return _takes(op, [x.type for x in operands], dims)


def _size(operands: Sequence[Variable], at: At | Given | int) -> Size:
    if isinstance(at, Given):
        return given_by(operands[at.operand])
    return size_at(operands[at[0]], at[1]) if isinstance(at, tuple) else at


def given_by(scalar: Variable) -> Size:
    """Return the size that a scalar denotes: that of an array, a number, or a new size.

    If the scalar is computed, the size is a Place of the scalar.
    """
    if isinstance(scalar, Constant):
        return int(scalar.value)
    if scalar.op is not None and scalar.op.reads_shape:
        return size_at(scalar.inputs[0], scalar.op.params[0])
    return Place(scalar, 0)


class Meeting(NamedTuple):
    """Two sizes, readable from the inputs, that a graph needs to be equal."""

    node: Variable  # the application that needs the equality
    tie: Tie  # the dimensions of its operands
    sizes: tuple[Size, Size]  # each a Place in an input, a name or an int


def meetings(nodes: Iterable[Variable]) -> list[Meeting]:
    """Return the equalities that a graph needs of the unknown sizes of its inputs, each once.

    ``nodes`` are all nodes, operands before their clients.  Equalities of sizes that the graph
    computes are left out.

    Examples
    --------
    >>> import relgraph as rg
    >>> x, y, z = rg.vectors("x y z")
    >>> [str(m.node) for m in meetings([x, y, x + y, rg.exp(x), x * y])]
    ['x + y']
    """
    equalities = Equalities()
    result = []
    for node in nodes:
        if node.op is None:
            continue
        for tie in rule_of(node.op, tuple([x.type for x in node.inputs])).ties:
            sizes = [equalities.find(_size(node.inputs, at)) for at in tie]
            if equalities.join(*sizes) and not any(map(_computed, sizes)):
                result.append(Meeting(node, tie, (sizes[0], sizes[1])))
    return result


def _computed(size: Size) -> bool:
    return isinstance(size, Place) and not (isinstance(size.node, Input) and size.node.ndim > 0)


def _rank(size: Size) -> int:
    """Order sizes: known ones first, then those read from an input."""
    if isinstance(size, Place):
        return 2 if isinstance(size.node, Input) else 3
    return 0 if isinstance(size, int) else 1
