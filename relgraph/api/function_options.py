"""Arguments of ``function`` besides inputs and outputs: default values, givens and updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from relgraph.api.argument_conversion import as_array
from relgraph.api.shared import Shared
from relgraph.errors import ArgumentError, DTypeError, ShapeError, checks_arguments, kind_of
from relgraph.ir.graph import free_inputs, substitute, toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Input, Variable, as_variable, make_input
from relgraph.ir.types import TensorType

Pairs = Mapping[Variable, Any] | Iterable[tuple[Variable, Any]]


class In:
    """An input of a function, with the value that a call may leave out.

    Parameters
    ----------
    variable : Input
        The input.
    value : array-like, optional
        The value for calls that pass none; without it, every call passes one.

    Raises
    ------
    ArgumentError
        For a variable that is not an input, or a value that is not an array.
    DTypeError, NumberRangeError, ShapeError
        For a value that does not fit the input.

    Examples
    --------
    >>> import relgraph as rg
    >>> x, y = rg.scalars("x y")
    >>> f = rg.function([x, rg.In(y, value=10.0)], x + y)
    >>> f(1.0), f(1.0, 2.0), f(1.0, y=3.0)
    (np.float64(11.0), np.float64(3.0), np.float64(4.0))
    """

    __slots__ = ("value", "variable")
    variable: Input
    value: Any

    @checks_arguments
    def __init__(self, variable: Input, value: Any = None) -> None:
        check_caller_input(variable)
        if value is not None:
            value = as_array(variable, value).copy()
            value.flags.writeable = False
            why = variable.type.accepts(value)
            if why is not None:
                raise ShapeError(
                    f"the default value does not fit the input {variable.name!r}: {why}",
                    {"declared": variable.type, "given": f"shape {value.shape}"},
                    "Declare that dimension with a name or None if its size may vary.",
                )
        self.variable = variable
        self.value = value

    def __repr__(self) -> str:
        return f"In({self.variable.name}, value={self.value!r})"


def check_caller_input(node: Any) -> None:
    """Raise ArgumentError for a node that a caller cannot pass, such as a shared variable."""
    if isinstance(node, Shared):
        raise ArgumentError(
            f"the shared variable {node.name!r} is not an argument: a function reads its value",
            fix="Leave it out of the inputs; givens={w: x} puts an input in its place.",
        )
    if not isinstance(node, Input):
        raise ArgumentError(
            f"In takes an input of a graph, not {kind_of(node)}: {node!r:.60}",
            fix='Inputs are made by rg.tensor("x", ...), rg.vector, rg.matrix or rg.scalar.',
        )


def listed_pairs(pairs: Any, what: str) -> list[tuple[Variable, Any]]:
    """Return updates or givens as a list of pairs of a variable and its new value, each once.

    Raises
    ------
    ArgumentError
        For other objects, and for a variable that occurs twice.
    """
    entries = pairs.items() if isinstance(pairs, Mapping) else pairs
    result: dict[Variable, Any] = {}
    if isinstance(entries, str | Variable) or not isinstance(entries, Iterable):
        raise _no_pairs(pairs, what)
    for entry in entries:
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise _no_pairs(entry, what)
        old, new = entry
        if not isinstance(old, Variable):
            raise ArgumentError(
                f"the {what} replace variables, and {old!r:.60} is {kind_of(old)}",
                fix=f"Write {what}={{variable: new value}}.",
            )
        if old in result:
            raise ArgumentError(
                f"{brief(old, 24)} occurs twice in the {what}",
                {"first": f"{result[old]!r:.60}", "second": f"{new!r:.60}"},
                "Give each variable one new value.",
            )
        result[old] = new
    return list(result.items())


def _no_pairs(value: Any, what: str) -> ArgumentError:
    return ArgumentError(
        f"the {what} are a dict or a list of pairs, not {value!r:.60}",
        fix=f"Write {what}={{variable: new value}}.",
    )


def replacements(givens: Pairs) -> dict[Variable, Variable]:
    """Return the nodes that ``givens`` put in place of others, with givens replaced in them too.

    Raises
    ------
    ArgumentError
        If a replacement depends on what it replaces, directly or through others.
    DTypeError, ShapeError
        For a replacement of another dtype or shape.
    """
    direct = {old: _of_type(old, new, "given") for old, new in listed_pairs(givens, "givens")}
    needs = {
        old: [x for x in toposort(new) if x in direct and not (x is old and new is old)]
        for old, new in direct.items()
    }
    result: dict[Variable, Variable] = {}
    while len(result) < len(direct):
        ready = [old for old in direct if old not in result and result.keys() >= set(needs[old])]
        if not ready:
            raise _circular({old: xs for old, xs in needs.items() if old not in result})
        for old in ready:
            (result[old],) = substitute(direct[old], {x: result[x] for x in needs[old]})
    return result


def _circular(needs: Mapping[Variable, Sequence[Variable]]) -> ArgumentError:
    """Return the error for givens that depend on each other in a circle, and name one circle."""
    path = [next(iter(needs))]
    while path.count(path[-1]) == 1:
        path.append(next(x for x in needs[path[-1]] if x in needs))
    circle = path[path.index(path[-1]) :]
    return ArgumentError(
        "the givens depend on each other in a circle",
        {"circle": " needs ".join(brief(x, 12) for x in circle)},
        "Name the old value by an input of its own, or write "
        "rg.FunctionGraph(inputs, outputs).replace_all(pairs), which replaces once.",
    )


def checked_updates(updates: Pairs) -> dict[Shared, Variable]:
    """Return the new value of each shared variable as a graph.

    Raises
    ------
    ArgumentError
        For a variable that is not shared, or occurs twice.
    DTypeError, ShapeError
        For a new value of another dtype or shape.
    """
    result: dict[Shared, Variable] = {}
    for old, new in listed_pairs(updates, "updates"):
        if not isinstance(old, Shared):
            raise ArgumentError(
                f"{brief(old, 24)} is not a shared variable, and only these have updates",
                {"type": old.type},
                "Make it by rg.shared(value, name=...), or return its new value as a result.",
            )
        result[old] = _of_type(old, new, "update")
    return result


def _of_type(old: Variable, value: Any, what: str) -> Variable:
    """Return a new value as a graph, or raise if its type is not that of what it replaces."""
    new = as_variable(value, [old.dtype])
    if new.type.narrows(old.type) or _may_fit(new.type, old.type):
        return new
    types = [
        ("variable", f"{brief(old, 24)} : {old.type}"),
        (what, f"{brief(new, 24)} : {new.type}"),
    ]
    if new.dtype != old.dtype:
        raise DTypeError(
            f"the {what} of {brief(old, 12)} has dtype {new.dtype}, not {old.dtype}",
            types,
            f"Cast it: new.astype({old.dtype.name!r}).",
        )
    raise ShapeError(
        f"the {what} of {brief(old, 12)} does not have its shape",
        types,
        "Broadcast, reshape or sum the new value.",
    )


def _may_fit(new: TensorType, old: TensorType) -> bool:
    """Return True if values of a type may have the sizes of another, which a call then compares."""
    return (
        new.dtype == old.dtype
        and new.layout == old.layout
        and new.ndim == old.ndim
        and all(
            a == b or not (isinstance(a, int) and isinstance(b, int))
            for a, b in zip(new.shape, old.shape, strict=True)
        )
    )


def without_shared(
    outputs: Sequence[Variable], inputs: Sequence[Input]
) -> tuple[tuple[Variable, ...], tuple[Shared, ...], tuple[Input, ...]]:
    """Return the outputs with plain inputs for shared variables, the variables, and these inputs.

    The compiled graph then depends on no value, so the cache can hold its kernels.
    """
    variables = tuple(x for x in free_inputs(outputs) if isinstance(x, Shared))
    taken = {x.name for x in inputs} | {x.name for x in free_inputs(outputs) if x not in variables}
    plain: list[Input] = []
    for x in variables:
        name, number = x.name, 0
        while name in taken:
            number += 1
            name = f"{x.name}_{number}"
        taken.add(name)
        plain.append(make_input(name, x.type, x.facts))
    return substitute(outputs, dict(zip(variables, plain, strict=True))), variables, tuple(plain)


__all__ = ["In", "Pairs", "check_caller_input", "checked_updates", "replacements", "without_shared"]
