"""Traced methods: the attributes of their object are further arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relgraph.api.pytrees import is_named_tuple
from relgraph.api.tracing.arguments import Leaves
from relgraph.errors import ArgumentError, kind_of

if TYPE_CHECKING:
    from relgraph.api.jit import Jit
    from relgraph.ir.graph import FunctionGraph

_ADVICE = (
    "Write a function of the arrays and numbers that it needs, compile that with rg.jit, and call "
    "it from the method."
)


def on_attributes(method: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """Return a method as a function of the attributes of an object, instead of the object.

    Parameters
    ----------
    method : callable
        As written in a class.
    kind : type
        The class of the object.

    Returns
    -------
    callable
        Its first argument is a dict of attributes; for named tuples, the tuple itself.
    """
    if is_named_tuple(kind):
        return method

    @functools.wraps(method)
    def called(attributes: dict[str, Any], /, *args: Any, **kwargs: Any) -> Any:
        stand_in: Any = object.__new__(kind)
        vars(stand_in).update(attributes)
        result = method(stand_in, *args, **kwargs)
        after = vars(stand_in)
        for name in (*attributes, *after):
            if after.get(name, called) is not attributes.get(name, called):
                raise ArgumentError(
                    f"the traced method {method.__name__} assigns the attribute {name!r}",
                    {"class": kind.__name__},
                    "Return the new value, and assign it where the method is called.",
                )
        return result

    return called


class BoundMethod:
    """A traced method of one object.

    Parameters
    ----------
    jit : Jit
        The method, as a function of attributes.
    instance : object
        The object; its attributes are read at each call.
    """

    def __init__(self, jit: Jit, instance: Any) -> None:
        self._jit = jit
        self.__self__ = instance
        self.__name__ = jit.__name__
        self.__doc__ = jit.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        attributes = self._attributes()
        try:
            return self._jit(attributes, *args, **kwargs)
        except ArgumentError:
            self._check(attributes)
            raise

    def graph(self, /, *args: Any, **kwargs: Any) -> FunctionGraph:
        """Return the graph that the method builds for these arguments, as traced.

        Parameters
        ----------
        *args, **kwargs
            As in a call.

        Returns
        -------
        FunctionGraph
            Attributes that are arrays are inputs too.
        """
        return self._jit.graph(self._attributes(), *args, **kwargs)

    def _attributes(self) -> Any:
        instance = self.__self__
        kind = type(instance)
        if is_named_tuple(kind):
            return instance
        attributes = getattr(instance, "__dict__", None)
        if attributes is None or isinstance(instance, tuple | list | dict | type):
            raise ArgumentError(
                f"the traced method {self.__name__} belongs to {kind_of(instance)}, whose "
                "attributes cannot be passed as arguments",
                fix=_ADVICE,
            )
        return attributes

    def _check(self, attributes: Any) -> None:
        """Raise for an attribute that cannot be traced, naming it."""
        for name, value in attributes.items() if isinstance(attributes, dict) else ():
            try:
                Leaves().signature((value,), {})
            except ArgumentError as error:
                raise ArgumentError(
                    f"the traced method {self.__name__} has its object's attributes as arguments, "
                    f"and {name!r} is {kind_of(value)}, which cannot be traced",
                    error.facts,
                    _ADVICE,
                ) from None

    def __repr__(self) -> str:
        return f"<bound {self._jit!r} of {self.__self__!r}>"
