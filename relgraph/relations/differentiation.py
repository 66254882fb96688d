"""How derivatives are declared: differentials of ops, and adjoints of linear ones.

Both are identities.  ``d(A @ B) = d(A) @ B + A @ d(B)`` is the differential of a product, and
``<g, A @ X> = <A.mT @ g, X>`` its adjoint by the second factor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from relgraph.ops.elementwise import add
from relgraph.relations.declaration import location_of
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import Suspended, checko
from relgraph.relations.pattern import PatternVariable

_varying: ContextVar[Container[Any] | None] = ContextVar("relgraph_varying", default=None)


@contextmanager
def varying(nodes: Container[Any]) -> Iterator[None]:
    """Let some nodes vary, and take all others for constants."""
    token = _varying.set(nodes)
    try:
        yield
    finally:
        _varying.reset(token)


def varies(x: Any) -> bool:
    """Return True if a node varies; where nothing is said, any may."""
    nodes = _varying.get()
    return nodes is None or x in nodes


def varieso(x: Any) -> Suspended:
    """Relate graphs that vary: an adjoint moves an op from these to the other side."""
    return checko(varies, x, label=f"{x!r} varies")


def differential(function: Any = None, *, where: Any = None, name: str | None = None) -> Any:
    """Declare the differential of an op by a function that states ``d(op(u, ...))`` and its value.

    Parameters
    ----------
    function : callable
        As for :func:`rg.identity`.  The right side is linear in the differentials.
    where : callable, optional
        The side conditions, as for :func:`rg.identity`.
    name : str, optional
        By default the function's.

    Returns
    -------
    Relation
        With the tag ``differential``.
    """
    if function is None:
        return lambda f: differential(f, where=where, name=name)
    return identity(
        function, name=name, where=where, tags=("differential",), specials="assumes_finite",
        broadcast="*",
    )  # fmt: skip


def _fits(g: Any, *others: Any) -> bool:
    """Return True if all nodes hold floats, and the first two have one shape."""
    return g.type.shape == others[0].type.shape and all([x.dtype.kind == "f" for x in (g, *others)])


def adjoint(function: Any = None, *, where: Any = None) -> Any:
    """Declare the adjoint of a linear op by a function that states two inner products.

    Parameters
    ----------
    function : callable
        Returns ``inner_product(g, op(x)), inner_product(h, x)``, where the second may be a sum of
        several.  It holds for floats and for any ``g`` of the shape of ``op(x)``.
    where : callable, optional
        The side conditions, as for :func:`rg.identity`.  If an op is linear in one operand at a
        time, ``varieso(x)`` says in which.

    Returns
    -------
    Relation
        With the tag ``adjoint``.
    """
    if function is None:
        return lambda f: adjoint(f, where=where)

    def pairs(*values: Any) -> Any:
        stated = function(*values)
        for left, right, *more in [stated] if isinstance(stated, tuple) else list(stated):
            g, y = left.args
            moved = [x.args[1] for x in (right.args if right.op is add else (right,))]
            moved = [x for x in moved if isinstance(x, PatternVariable)]
            label = f"floats, and {g!r} has the shape of {y!r}"
            yield left, right, (checko(_fits, g, y, *moved, label=label), *more)

    _like(pairs, function)
    return identity(
        pairs, name=function.__name__, where=where, tags=("adjoint",), specials="assumes_finite",
        broadcast="*", location=location_of(function),
    )  # fmt: skip


def _like(made: Any, function: Callable[..., Any]) -> None:
    """Give a function of any arguments the parameters, the names and the docstring of another."""
    made.__signature__ = inspect.signature(function)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(made, name, getattr(function, name))
