"""Python's ``if`` in traced functions: both branches are traced if the condition is not known.

:mod:`.python_source` makes each branch a function.  :func:`choose` runs the one that is taken, or
both, and determines their results: names that they assign, and arrays from outside that they write
to.  These are then the results of an application of ``cond``; of ``where``, if they are numbers
that elementwise ops compute.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from relgraph.api.tracing.arguments import node_of
from relgraph.api.tracing.storage import BODY, OutsideWrite, Storage
from relgraph.api.tracing.tracer import Tracer, is_weak, running, type_of, values_of, weak, wrap
from relgraph.api.tracing.weak_scalar import WeakNode, WeakScalar
from relgraph.errors import ArgumentError
from relgraph.ir.graph import substitute, toposort
from relgraph.ir.node import Constant, Variable, fresh_input
from relgraph.ir.op import GetItem
from relgraph.ops.elementwise import Cast, not_equal, where
from relgraph.ops.loops import Cond, closed, results_of
from relgraph.ops.shape import broadcast_to, reshape

TRIALS = 24  # of one statement, each of which finds something else that it changes
MOST_BOTH = 16  # elementwise ops of numbers of which both branches are computed

NUMBERS = (bool, int, float, WeakScalar, np.generic)


_T = TypeVar("_T")
Branch = Callable[..., Sequence[Any]]  # of the values of names, returning their next values


class _Nothing:
    """What a name without a value stands for."""

    def __repr__(self) -> str:
        return "a name without a value"


NOTHING = _Nothing()


class Names(NamedTuple):
    """The names of a statement.

    Attributes
    ----------
    all : sequence of str
        Those that it assigns; the index of a loop first.
    own : sequence of str
        Those that each iteration assigns before it reads them.
    later : sequence of str
        Those that are read outside of the loop.
    changed : mapping of str to object
        What it assigns elements of, or changes by ``+=`` and the like, by their names.
    """

    all: Sequence[str]
    own: Sequence[str]
    later: Sequence[str]
    changed: Mapping[str, Any]

    def not_traced(self) -> str | None:
        """Return the name of something that it changes and that is not a traced array, or None."""
        for name, x in self.changed.items():
            if x is not NOTHING and not is_immutable(x):
                return name
        return None


class Saved:
    """The state of a storage before a loop or a choice."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.state = storage._body, storage._node, storage._value, storage._writes

    def restore(self) -> None:
        """Give the storage this state."""
        x = self.storage
        x._body, x._node, x._value, x._writes = self.state


def attempt(storages: list[Storage], run: Callable[[], _T]) -> _T | None:
    """Run a trial of a statement, and give the arrays that it writes to their elements again.

    Return None if it writes to another array from outside: that one is then among the storages,
    and the trial is to be run again.
    """
    saved = [Saved(x) for x in storages]
    try:
        return run()
    except OutsideWrite as error:
        if error.storage in storages:
            raise
        found = error.storage
    finally:
        for x in saved:
            x.restore()
    found.forget_values()
    storages.append(found)
    return None


def is_array(x: Any) -> bool:
    """Return True for arrays and numbers."""
    return isinstance(x, (Tracer, np.ndarray, *NUMBERS))


def choose(
    test: Any,
    then: Branch,
    other: Branch,
    values: Sequence[Any] = (),
    names: Names | None = None,
) -> Sequence[Any]:
    """Run an ``if`` statement.

    Parameters
    ----------
    test : object
        Its condition.
    then, other : callable
        The branches: each takes the names that either assigns, and returns their next values.
    values : tuple
        Their values before the statement.
    names : Names, optional
        Of the statement; by default, it is an expression with one value.

    Raises
    ------
    ArgumentError
        If the truth is not known, and the branches give values of different types, or assign an
        element of an object that is not an array.
    """
    node = truth(test)
    if node is None:
        return (then if as_truth(test) else other)(*values)
    other_object = names.not_traced() if names else None
    if other_object is not None:
        raise ArgumentError(
            f"an if statement changes {other_object!r}, which is not a traced array, and its "
            "condition is not known while tracing",
            {"condition": node},
            "Assign to a name, or to an array that the function makes with np.zeros or the like.",
        )
    return _Choice(node, (then, other), values, names).traced()


def either(test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """Return the value of a conditional expression."""
    return choose(test, lambda: (then(),), lambda: (other(),))[0]


def as_truth(test: Any) -> Any:
    """Return a condition as a bool, if it is known while tracing."""
    if truth(test) is not None:
        return test
    constant = type(test) is Tracer and isinstance(test.node, Constant)
    return bool(test.node.value) if constant else bool(test)


def truth(test: Any) -> Variable | None:
    """Return a condition as a node, or None if its truth is known while tracing."""
    if type(test) is not Tracer or values_of(test) is not None:
        return None
    kind = type_of(test)
    if any([n != 1 for n in kind.shape]) or isinstance(test.node, Constant):
        return None
    node = reshape(test.node, ()) if kind.ndim else test.node
    return node if node.dtype.kind == "b" else not_equal(node, 0)


class _Choice:
    statement = "an if statement"

    def __init__(
        self,
        test: Variable,
        branches: Sequence[Branch],
        values: Sequence[Any],
        names: Names | None,
    ) -> None:
        self.test, self.branches, self.values, self.names = test, branches, values, names
        self.storages: list[Storage] = []  # that a branch writes to

    def traced(self) -> Sequence[Any]:
        """Return the values of the names after the statement."""
        for _ in range(TRIALS):
            then, other = self.branches
            one = attempt(self.storages, partial(self._run, then))
            two = attempt(self.storages, partial(self._run, other)) if one is not None else None
            if one is not None and two is not None:
                return self._applied(one, two)
        raise ArgumentError(
            f"an if statement writes to more than {TRIALS} arrays",
            fix="Write to fewer arrays, or choose with np.where.",
        )

    def _run(self, branch: Branch) -> _Result:
        """Return what a branch gives."""
        token = BODY.set(self)
        try:
            for storage in self.storages:
                storage._body, storage._writes = self, None
            results = branch(*self.values)
            nodes = [_node(x) if is_array(x) else None for x in results]
            return _Result(results, nodes, [x.node for x in self.storages])
        finally:
            BODY.reset(token)

    def _applied(self, then: _Result, other: _Result) -> Sequence[Any]:
        """Return the values of the names, and give arrays their new elements."""
        after = list(then.values)
        places, pairs = [], []
        for k, (a, b) in enumerate(zip(then.values, other.values, strict=True)):
            if a is b or _are_equal(a, b):
                continue
            later = self.names is None or self.names.all[k] in self.names.later
            if a is NOTHING or b is NOTHING or not later:
                after[k] = NOTHING
                continue
            places.append(k)
            pairs.append(self._pair(then, other, k))
        elements = list(zip(then.written, other.written, strict=True))
        differing = [pair for pair in elements if pair[0] is not pair[1]]
        results = self._chosen([*pairs, *differing])
        rest = iter(results[len(places) :])
        for storage, (a, b) in zip(self.storages, elements, strict=True):
            new = a if a is b else next(rest)
            if new is not storage.node:
                storage.check_body()
                storage.store(new)
        for k, x in zip(places, results, strict=False):
            sources = [then.values[k], other.values[k]]
            after[k] = weak(x) if all(map(is_weak, sources)) else shared(sources, wrap(x), self)
        return after

    def _pair(self, then: _Result, other: _Result, k: int) -> tuple[Variable, Variable]:
        """Return two values of one name with one type."""
        a, b, one, two = then.values[k], other.values[k], then.nodes[k], other.nodes[k]
        what = f"the name {self.names.all[k]!r}" if self.names else "a conditional expression"
        if one is None or two is None:
            raise ArgumentError(
                f"{what} is not an array or a number in one branch, and the condition is not known "
                "while tracing",
                {"values": f"{a!r} and {b!r}"},
                "Choose between arrays and numbers, or make the condition a Python number.",
            )
        if is_weak(a) != is_weak(b):
            one, two = (_like(one, two), two) if is_weak(a) else (one, _like(two, one))
        dtype = np.result_type(one.dtype, two.dtype).name
        one, two = [x if x.dtype.name == dtype else Cast(dtype)(x) for x in (one, two)]
        if one.type.shape != two.type.shape:
            raise ArgumentError(
                f"{what} has two shapes, and which branch is taken is not known while tracing",
                {"shapes": f"{one.type.shape} and {two.type.shape}"},
                "Give it one shape in both branches.",
            )
        return one, two

    def _chosen(self, pairs: Sequence[tuple[Variable, Variable]]) -> list[Variable]:
        """Return one of each pair."""
        known = set(toposort([self.test, *self._known()]))
        sides = [x for pair in pairs for x in pair]
        order = toposort(sides)
        known.update([x for x in order if isinstance(x.op, GetItem) and x.inputs[0] in known])
        new = [x for x in order if x not in known and x.op is not None]
        numbers = all([x.ndim == 0 for x in sides])
        if numbers and len(new) <= MOST_BOTH and all(map(_is_of_numbers, new)):
            return [where(self.test, *pair) for pair in pairs]
        read = dict.fromkeys([y for x in new for y in x.inputs if y in known])
        read |= dict.fromkeys([x for pair in pairs for x in pair if x in known])
        operands = [x for x in read if not isinstance(x, Constant)]
        inputs = [fresh_input("argument", x.type) for x in operands]
        images = dict(zip(operands, inputs, strict=True))
        graphs = [(inputs, substitute(side, images)) for side in zip(*pairs, strict=True)]
        names = [f"argument_{i}" for i in range(len(operands))]
        (one, two), captured = closed(graphs, names, whole=True)
        return results_of(Cond(one, two)(self.test, *operands, *captured))

    def _known(self) -> list[Variable]:
        """Return nodes that are computed before the statement."""
        cells = [
            cell for branch in self.branches for cell in getattr(branch, "__closure__", None) or ()
        ]
        values = [*self.values, *[x for x in map(_contents, cells)]]
        known = [x.node for x in values if type(x) is Tracer and values_of(x) is None]
        return [*known, *[x.node for x in self.storages]]


class _Result(NamedTuple):
    """What a branch gives: values of names, those of arrays as nodes, and elements of arrays."""

    values: Sequence[Any]
    nodes: Sequence[Variable | None]
    written: Sequence[Variable]


def shared(sources: Sequence[Any], result: Any, statement: object) -> Any:
    """Mark a result and the arrays that it may be in NumPy: writing to one of them then raises."""
    for x in sources:
        if type(x) is Tracer and not x._scalar and x._storage._body is not statement:
            x._storage.unsure.add(result._storage)
            result._storage.unsure.add(x._storage)
    return result


def is_immutable(x: Any) -> bool:
    """Return True for traced arrays, and for what has no elements to assign."""
    return isinstance(x, (Tracer, *NUMBERS, str, tuple, type(None), FunctionType))


def side_effect(statement: str, function: Any) -> ArgumentError:
    """Return the error for a call that may change something other than arrays."""
    name = getattr(function, "__name__", str(function))
    return ArgumentError(
        f"{statement} calls {name!r} for its side effects, and cannot be traced with them",
        fix="Call it outside of the statement, or let it change arrays only.",
    )


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # of a name without a value
        return None


def _node(x: Any) -> Variable:
    return node_of(x, "a value of a choice")


def _is_of_numbers(x: Variable) -> bool:
    return x.op is not None and x.op.pointwise and x.ndim == 0


def _like(number: Variable, array: Variable) -> Variable:
    """Return a Python number with the dtype that it has beside an array, and its shape."""
    node = WeakNode(number).__relgraph_operand__([array.dtype])
    shape = array.type.shape
    sized = bool(shape) and all([isinstance(n, int) for n in shape])
    return broadcast_to(node, shape) if sized else node


def _are_equal(a: Any, b: Any) -> bool:
    """Return True for equal numbers and strings, and for tuples of these."""
    if type(a) is tuple and type(b) is tuple and len(a) == len(b):
        return all([x is y or _are_equal(x, y) for x, y in zip(a, b, strict=True)])
    return type(a) is type(b) and isinstance(a, bool | int | float | str) and repr(a) == repr(b)


# Functions of Python that a traced number has no value for.


def extreme(greater: bool) -> Callable[..., Any]:
    """Return the function that returns what Python's ``max`` or ``min`` returns."""
    ufunc, better = (np.maximum, operator.gt) if greater else (np.minimum, operator.lt)

    def best(*values: Any) -> Any:
        first, *rest = values[0] if len(values) == 1 else values
        numbers = all(map(is_weak, (first, *rest)))
        for x in rest:
            whole = np.result_type(_node(x).dtype, _node(first).dtype).kind in "biu"
            # Python compares: a NaN is not better than another number.
            first = ufunc(first, x) if whole else np.where(better(x, first), x, first)
        return weak(first.node) if numbers else first

    return best


def converted(dtype: str) -> Callable[[Any], Any]:
    """Return the function that converts a traced number to the dtype of a Python number."""

    def convert(x: Any) -> Any:
        return weak(Cast(dtype)(reshape(x.node, ())))

    return convert


_BUILTINS: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (max, extreme(True)),
    (min, extreme(False)),
    (int, converted("int64")),
    (float, converted("float64")),
    (bool, converted("bool")),
)


def builtin(function: Any) -> Any:
    """Return a function of Python that takes traced numbers too, or None for another function."""
    traced = next((call for name, call in _BUILTINS if name is function), None)
    if traced is None or not running():
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        numbers = args[0] if len(args) == 1 and type(args[0]) in (tuple, list) else args
        unknown = [x for x in numbers if type(x) is Tracer and values_of(x) is None]
        known = not unknown or any([n != 1 for x in unknown for n in type_of(x).shape])
        return function(*args, **kwargs) if known or kwargs else traced(*args)

    return call


__all__ = [
    "NOTHING",
    "NUMBERS",
    "TRIALS",
    "Branch",
    "Names",
    "Saved",
    "as_truth",
    "attempt",
    "builtin",
    "choose",
    "either",
    "is_array",
    "is_immutable",
    "shared",
    "side_effect",
    "truth",
]
