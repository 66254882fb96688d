"""Immutable records: classes of named fields, which are fast to define.

:func:`record` does what ``dataclass(frozen=True)`` does for classes without ``field()``, in a tenth
of its time.  A first call defines some forty of them, and their definition was a fifth of it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...


@overload
def record(*, eq: bool = True) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True)
def record(cls: Any = None, /, *, eq: bool = True) -> Any:
    """Give a class the fields that it annotates: constructor, ``==``, hash and text.

    Parameters
    ----------
    cls : type
        The class.  A field with a value in the class has it as its default.
    eq : bool
        Whether records are equal if their fields are; otherwise if they are one object.
    """
    if cls is None:
        return lambda x: record(x) if eq else _with_fields(x)
    _with_fields(cls)
    names = cls.__match_args__
    if names:
        fields: Callable[[Any], Any] = attrgetter(*names)
    else:
        fields = type
    cls.__eq__ = lambda self, other: (
        fields(self) == fields(other) if other.__class__ is self.__class__ else NotImplemented
    )
    cls.__hash__ = lambda self: hash(fields(self))
    return cls


def _with_fields(cls: Any) -> Any:
    """Add the constructor and the text of a record."""
    own = [name for name, kind in vars(cls).get("__annotations__", {}).items() if _is_field(kind)]
    names = tuple(dict.fromkeys((*getattr(cls, "__match_args__", ()), *own)))
    defaults = {name: getattr(cls, name) for name in names if hasattr(cls, name)}
    parameters = [f"{x}=defaults[{x!r}]" if x in defaults else x for x in names]
    lines = [f"    fields[{x!r}] = {x}" for x in names]
    head = f"def __init__(self, {', '.join(parameters)}):"
    check = ["    self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    source = "\n".join([head, "    fields = self.__dict__", *lines, *check])
    scope: dict[str, Any] = {"defaults": defaults}
    exec(source, scope)
    cls.__init__ = scope["__init__"]
    cls.__match_args__ = names  # type: ignore[misc]
    if "__repr__" not in vars(cls):
        cls.__repr__ = _text
    cls.__setattr__ = cls.__delattr__ = _frozen
    return cls


def _is_field(kind: Any) -> bool:
    return not str(kind).startswith(("ClassVar", "typing.ClassVar"))


def _text(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({fields})"


def _frozen(self: Any, name: str, *_: Any) -> None:
    raise AttributeError(f"{type(self).__qualname__} is immutable: {name} cannot be changed")


def replace(value: T, **changes: Any) -> T:
    """Return a record with some fields changed.

    Parameters
    ----------
    value : record
        The record, which does not change.
    **changes
        New values by name.
    """
    names: tuple[str, ...] = type(value).__match_args__  # type: ignore[attr-defined]
    return type(value)(**{name: getattr(value, name) for name in names} | changes)
