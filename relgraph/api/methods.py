"""Traced methods: the attributes of their object are further arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from relgraph.api.call_source import OTHER
from relgraph.api.pytrees import is_named_tuple
from relgraph.api.tracing.arguments import Leaves
from relgraph.api.tracing.python_source import traceable
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
        result = traceable(method)(stand_in, *args, **kwargs)
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


def attributes_of(instance: Any, name: str) -> Callable[[Any], Any]:
    """Return the function that reads the attributes of objects of the class of an object.

    For objects whose attributes cannot be passed as arguments, it raises ArgumentError.  ``name``
    is that of the method.
    """
    if is_named_tuple(type(instance)):
        return lambda instance: instance
    if hasattr(instance, "__dict__") and not isinstance(instance, tuple | list | dict | type):
        return vars

    def attributes(instance: Any) -> Any:
        raise ArgumentError(
            f"the traced method {name} belongs to {kind_of(instance)}, whose "
            "attributes cannot be passed as arguments",
            fix=_ADVICE,
        )

    return attributes


class BoundMethod:
    """A traced method of one object.

    Parameters
    ----------
    jit : Jit
        The method, as a function of attributes.
    attributes : callable
        Reads them of the object, at each call.
    instance : object
        The object.
    """

    def __init__(self, jit: Jit, attributes: Callable[[Any], Any], instance: Any) -> None:
        self._jit = jit
        self._attributes = attributes
        self.__self__ = instance
        self.__doc__ = jit.__doc__

    @property
    def __name__(self) -> str:
        return self._jit.__name__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the method."""
        attributes = self._attributes(self.__self__)
        jit = self._jit
        if not jit.looks_first:
            result = jit.last((attributes, *args), kwargs)
            if result is not OTHER:
                return result
        try:
            return jit(attributes, *args, **kwargs)
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
        return self._jit.graph(self._attributes(self.__self__), *args, **kwargs)

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
