"""Tuples, lists, dicts and named tuples of arrays: flattening and rebuilding."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any

from relgraph.errors import ArgumentError
from relgraph.ir.node import Variable

STATIC = (str, bytes, type(None), type)

Leaf = Callable[[Any, str], Any]


def is_named_tuple(kind: type) -> bool:
    """Return True for classes made by ``collections.namedtuple``."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def structure_of(value: Any, leaf: Callable[[Any], Hashable]) -> Hashable:
    """Return a key that separates containers of different structure.

    Parameters
    ----------
    value : object
        An argument.
    leaf : callable
        Returns the key of a leaf.

    Returns
    -------
    hashable
        Equal for containers of the same structure whose leaves have equal keys.
    """
    kind = type(value)
    if kind is tuple or kind is list or isinstance(value, tuple | list):
        return (kind, *[structure_of(x, leaf) for x in value])
    if isinstance(value, dict):
        return (dict, tuple(value), *[structure_of(x, leaf) for x in value.values()])
    return leaf(value)


def rebuilt(value: Any, leaf: Leaf, name: str) -> Any:
    """Return a container of the same structure with other leaves.

    Parameters
    ----------
    value : object
        A container, or a leaf.
    leaf : callable
        Takes a leaf and its name, and returns the new leaf.
    name : str
        The name of the container, from which the names of its parts are made.

    Returns
    -------
    object
        Lists, tuples and dicts of other classes become plain ones; named tuples keep theirs.
    """
    kind = type(value)
    if is_named_tuple(kind):
        parts = zip(kind._fields, value, strict=True)
        return kind(*(rebuilt(x, leaf, f"{name}_{field}") for field, x in parts))
    if isinstance(value, tuple | list):
        plain = list if isinstance(value, list) else tuple
        return plain(rebuilt(x, leaf, f"{name}_{i}") for i, x in enumerate(value))
    if isinstance(value, Mapping):
        return {
            key: rebuilt(x, leaf, f"{name}_{key if str(key).isidentifier() else i}")
            for i, (key, x) in enumerate(value.items())
        }
    return leaf(value, name)


def same_parts(first: Any, second: Any) -> bool:
    """Return True if two containers have the same structure, and the same objects as leaves."""
    if isinstance(first, Mapping):
        return list(first) == list(second) and all(
            same_parts(first[key], second[key]) for key in first
        )
    if isinstance(first, tuple | list):
        return len(first) == len(second) and all(map(same_parts, first, second))
    return first is second


def in_order_of(like: Any, value: Any, name: str) -> Any:
    """Return a container with the entries of its dicts in the order of those of another container.

    Dicts with other keys raise ArgumentError.
    """
    if isinstance(like, Mapping) and isinstance(value, Mapping):
        if like.keys() != value.keys():
            raise ArgumentError(
                f"the {name} has other keys than what it belongs to",
                {name: list(value), "expected": list(like)},
                "Pass a dict with the expected keys.",
            )
        return {key: in_order_of(like[key], value[key], name) for key in like}
    sequences = isinstance(like, tuple | list) and isinstance(value, tuple | list)
    if sequences and len(like) == len(value):
        return [in_order_of(x, y, name) for x, y in zip(like, value, strict=True)]
    return value


def why_no_leaf(value: Any) -> str:
    """Return advice for a value that is neither a container nor an array."""
    if isinstance(value, Variable):
        return "Pass arrays; a graph is compiled by rg.function(inputs, outputs)."
    if hasattr(value, "toarray"):
        return 'Pass x.toarray(); rg.function takes it, of an input with layout="csr" or "csc".'
    if is_dataclass(value):
        return "Pass its fields, for instance as the dict dataclasses.asdict(...) or a named tuple."
    return (
        "Pass arrays and numbers; tuples, lists, dicts and named tuples of them; strings or None."
    )


def flattened(value: Any, name: str) -> list[tuple[Any, str]]:
    """Return the leaves of a container, each with its name, as :func:`rebuilt` names them."""
    leaves: list[tuple[Any, str]] = []
    rebuilt(value, lambda leaf, leaf_name: leaves.append((leaf, leaf_name)), name)
    return leaves


def filled(value: Any, leaves: Iterable[Any]) -> Any:
    """Return a container of the same structure with these leaves; None among its own ones stays."""
    rest = iter(leaves)
    return rebuilt(value, lambda leaf, name: None if leaf is None else next(rest), "x")
