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

from relgraph.errors import checks_arguments
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
    """Relate graphs that vary: an adjoint moves an op from these to the other side.

    Parameters
    ----------
    x : logic variable
        An operand in which the op is linear while the others are constant.

    Returns
    -------
    goal
        It holds if the operand depends on the nodes to differentiate with respect to.
    """
    return checko(varies, x, label=f"{x!r} varies")


@checks_arguments
def differential(function: Any = None, *, where: Any = None, name: str | None = None) -> Any:
    """Declare the differential of an op: an identity ``d(op(x)) = ...``.

    Parameters
    ----------
    function : callable
        Its parameters are logic variables.  It returns ``rg.d(op(x, ...))`` and the right side,
        which is linear in ``rg.d(x)``, ...; or it yields several such pairs, as for
        :func:`relgraph.identity`.
    where : callable, optional
        The side conditions, as for :func:`relgraph.identity`.
    name : str, optional
        By default the function's.

    Returns
    -------
    Relation
        With the tag ``differential``.  It takes effect where ``derivatives()`` of the op returns
        it.

    References
    ----------
    J. R. Magnus and H. Neudecker, Matrix Differential Calculus, 3rd ed., 2019, chapter 5.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.differential
    ... def d_sino(x):
    ...     '''d(sin(x)) = cos(x) d(x).'''
    ...     return rg.d(rg.sin(x)), rg.cos(x) * rg.d(x)
    >>> bool(rg.check(d_sino))
    True
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


@checks_arguments
def adjoint(function: Any = None, *, where: Any = None) -> Any:
    """Declare the adjoint of a linear op: an identity ``<g, op(x)> = <op*(g), x>``.

    Parameters
    ----------
    function : callable
        Its parameters are logic variables.  It returns ``rg.inner_product(g, op(x))`` and
        ``rg.inner_product(h, x)``, or a sum of several such products, or a variable that
        ``rg.calco`` sets to such a sum.  The identity holds for floats, and for any ``g`` of the
        shape of ``op(x)``.
    where : callable, optional
        The side conditions, as for :func:`relgraph.identity`.  If an op is linear in one operand at
        a time, ``rg.varieso(x)`` selects that operand.

    Returns
    -------
    Relation
        With the tag ``adjoint``.  It takes effect where ``derivatives()`` of the op returns it.

    References
    ----------
    A. Radul, A. Paszke, R. Frostig, M. J. Johnson and D. Maclaurin, You only linearize once:
    tangents transpose to gradients, POPL 2023.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.adjoint(where=lambda x: rg.varieso(x))
    ... def pair_multiplyo(g, x, v):
    ...     '''<g, v x> = <g v, x>.'''
    ...     return rg.inner_product(g, v * x), rg.inner_product(g * v, x)
    >>> print(pair_multiplyo)
    pair_multiplyo: inner_product(g, v * x) = inner_product(g * v, x)  where x varies, ...
    """
    if function is None:
        return lambda f: adjoint(f, where=where)

    def pairs(*values: Any) -> Any:
        stated = function(*values)
        for left, right, *more in [stated] if isinstance(stated, tuple) else list(stated):
            g, y = left.args
            products = right.args if getattr(right, "op", None) is add else (right,)
            operands = [x.args[1] for x in products if not isinstance(x, PatternVariable)]
            operands = [x for x in operands if isinstance(x, PatternVariable)]
            label = f"floats, and {g!r} has the shape of {y!r}"
            yield left, right, (checko(_fits, g, y, *operands, label=label), *more)

    _like(pairs, function)
    return identity(
        pairs, name=function.__name__, where=where, tags=("adjoint",), specials="assumes_finite",
        broadcast="*", location=location_of(function),
    )  # fmt: skip


def _like(wrapper: Any, function: Callable[..., Any]) -> None:
    """Give a function of any arguments the parameters, the names and the docstring of another."""
    wrapper.__signature__ = inspect.signature(function)
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(wrapper, name, getattr(function, name))
