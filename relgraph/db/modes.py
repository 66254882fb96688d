"""Modes: named queries, from the fastest to compile to the fastest to run.

====================== == == == == == ============= ======
what                   o5 o4 o3 o2 o1 stabilization unsafe
====================== == == == == == ============= ======
merge                  x  x  x  x  x                x
constant folding       x  x  x  x  x                x
canonicalize           x  x  x                      x
stabilize              x  x  x        x             x
specialize             x  x  x                      x
linear algebra         x  x  x                      x
cheapest program       x
calls of BLAS          x  x  x                      x
fusion                 x  x  x  x                   x
in-place               x  x
removal of assertions                               x
====================== == == == == == ============= ======

The cheapest program is searched for among all that the laws of sums and products of matrices make
of a graph, by estimated time: see :func:`relgraph.optimize`.

Linear algebra stands for passes over whole graphs: the order of products, structure, and shared
factorisations.  The modes make only the BLAS calls that cost no more than a product and a loop
(``gemm_narrow``); ``including`` adds the others by name: ``gemm``, ``gemv``, ``ger`` and ``syrk``,
or all of them as ``BlasOpt``.

An assertion checks, at each call, sizes that types do not prove equal.  Rewritten, ``(u + v) - v``
is ``u``; only the original graph needs ``u`` and ``v`` to have the same size.  Every mode checks
the sizes that the rewritten graph itself needs to be equal.

``fast_run`` is ``o4`` and ``fast_compile`` is ``o1``.  ``stabilization`` leaves out relations that
assume finite values.  ``excluding("stabilize")`` leaves out every stabilising relation, in all
phases: see :class:`~relgraph.db.query.RewriteDatabaseQuery`.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from relgraph.db.default import default_database
from relgraph.db.names import FAMILIAR, MODE_TAGS
from relgraph.db.query import RewriteDatabaseQuery
from relgraph.errors import ArgumentError, UnknownTagError, checks_arguments


class Mode(RewriteDatabaseQuery):
    """A query to the default database that raises as soon as an unknown name refines it.

    An unusual name triggers building the database.  A name that is not in the database raises where
    you write it, not where the mode is first used.
    """

    __slots__ = ()

    def _with(self, **fields: Any) -> RewriteDatabaseQuery:
        query = super()._with(**fields)
        if not {tag for tag, _ in query.mentioned()} <= FAMILIAR:
            default_database().check(query)
        return query


MODES: dict[str, RewriteDatabaseQuery] = {
    name: Mode(include, exclude=exclude) for name, (include, exclude) in MODE_TAGS.items()
}

NONFINITE = ("assume", "keep")


@checks_arguments
def mode(name: str | RewriteDatabaseQuery, nonfinite: str = "assume") -> RewriteDatabaseQuery:
    """Return a mode's query; it can be refined like any other.

    Parameters
    ----------
    name : str or Query
        One of o1, o2, o3, o4, o5, fast_run, fast_compile, stabilization and unsafe; a query is
        returned unchanged.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only, such as ``x - x = 0``, or to
        preserve infinities and NaN.

    Returns
    -------
    Query
        Selects the mode's entries from :data:`relgraph.optdb`.

    Raises
    ------
    ArgumentError
        For an object that is neither a name nor a query.
    UnknownTagError
        For an unknown mode.  ``including``, ``requiring`` and ``excluding`` of the result raise it
        for names that are not in :data:`relgraph.optdb`.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.mode("o4").excluding("fusion")
    Query(include=['fast_run'], exclude=['fusion'])
    """
    if isinstance(name, RewriteDatabaseQuery):
        query = name
    elif isinstance(name, str) and name.lower() in MODES:
        query = MODES[name.lower()]
    elif isinstance(name, str):
        raise UnknownTagError(
            f"there is no mode {name!r}", {"modes": ", ".join(MODES)}, _instead_of(name)
        )
    else:
        raise ArgumentError(
            f"a mode is a name or a query, not {name!r}",
            {"modes": ", ".join(MODES)},
            "Write mode='o4', mode=rg.mode('o4').excluding('fusion'), or None for no rewriting.",
        )
    return nonfinite_choice(query, nonfinite)


def _instead_of(name: str) -> str:
    """Return the advice for an unknown mode: a similar mode, tag or relation."""
    known = default_database().tags()
    if name in known:
        return f"It is a tag or name: select by it with rg.Query([{name!r}])."
    near = get_close_matches(name.lower(), MODES, 1)
    if not near:
        holding = sorted(
            (x for x in known if name.lower() in x.split("_")), key=lambda x: (len(x), x)
        )[:3]
        if holding and name:
            return f"Names with it: {', '.join(holding)}; select with rg.Query([{holding[0]!r}])."
        tags = get_close_matches(name.lower(), sorted(known), 1, cutoff=0.7)
        if tags:
            return f"Did you mean rg.Query([{tags[0]!r}])?"
        near = get_close_matches(name.lower(), MODES, 1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]!r}?"
    return "Use one of these modes."


def nonfinite_choice(query: RewriteDatabaseQuery, nonfinite: str) -> RewriteDatabaseQuery:
    """Return a query, without relations that assume finite values if ``nonfinite="keep"``."""
    if nonfinite not in NONFINITE:
        raise ArgumentError(
            f"nonfinite is 'assume' or 'keep', not {nonfinite!r}",
            fix="'keep' leaves out relations that hold for finite values only.",
        )
    return query.excluding("assumes_finite") if nonfinite == "keep" else query
