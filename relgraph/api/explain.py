"""Derivations and profiles of :func:`rewrite_graph`: its steps, and their cost."""

from __future__ import annotations

from typing import Any

from relgraph.api.rewrite import leaves_out, rewrite_graph
from relgraph.checking.diagnosis.firing import unfired
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import outputs_of
from relgraph.relations.relation import Relation
from relgraph.rewriting.derivation.derivation import Derivation, recording
from relgraph.rewriting.profile import RewriteProfile, profiling
from relgraph.rewriting.rewriters import as_item, flat

REASONS = 8  # passed relations to look at if they did not fire, which takes a few runs for each


@traceable
def explain(graph: Any, *relations: Any, **options: Any) -> Derivation:
    """Rewrite a graph and return the derivation: every step with its relation.

    Parameters
    ----------
    graph : Variable, sequence of Variable, or FunctionGraph
        The graph.
    *relations, **options
        As for :func:`rewrite_graph`.

    Returns
    -------
    Derivation
        Prints as a chain of equal graphs; ``check()`` replays it without the engine, and
        ``to_html(path)`` writes a page.  Of the first eight relations that you pass, ``unused`` has
        those that fired nowhere, each with the reason; :func:`why_not` says more.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity(specials="assumes_finite")
    ... def cancel_log_expo(x):
    ...     '''log(exp(x)) = x.'''
    ...     return rg.log(rg.exp(x)), x
    >>> x = rg.vector("x", shape=(4,))
    >>> derivation = rg.explain(rg.log(rg.exp(x)) + 1, cancel_log_expo)
    >>> derivation.check()
    >>> print(derivation)
        log(exp(x)) + 1
    1. cancel_log_expo, in [.] + 1
        log(exp(x))
      = x
    result, 1 step, 84 -> 4 flops
        x + 1
    """
    with recording() as phases:
        result = rewrite_graph(graph, *relations, **options)
    before, after = outputs_of(graph), outputs_of(result)
    used = {name for phase in phases for step in phase.steps for name in step.relations}
    passed = [x for x in map(as_item, flat(relations)) if isinstance(x, Relation)]
    unused: dict[str, str] = {}
    for relation in passed[:REASONS]:
        if leaves_out(relation, options.get("nonfinite", "assume")):
            unused[relation.label] = 'nonfinite="keep" leaves out what assumes finite values'
        elif relation.label not in used:
            unused[relation.label] = str(unfired(relation, before, after, phases)[0])
    return Derivation(before, after, tuple(phases), tuple(unused.items()))


@traceable
def profile_rewrites(graph: Any, *relations: Any, **options: Any) -> RewriteProfile:
    """Profile the rewriting of a graph, as :func:`profile` does, and compile nothing.

    Parameters
    ----------
    graph : Variable, sequence of Variable, or FunctionGraph
        The graph.
    *relations, **options
        As for :func:`rewrite_graph`.

    Returns
    -------
    RewriteProfile
        ``counts`` by relation, and the ``whole`` with its phases and passes; prints as a tree of
        what fired, and ``text(every=True)`` as one of all.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity
    ... def double_addo(x):
    ...     '''x + x = 2 x.'''
    ...     return x + x, 2 * x
    >>> x = rg.vector("x")
    >>> rg.profile_rewrites(rg.exp(x) + rg.exp(x), double_addo).counts["double_addo"].fired
    1
    """
    with profiling() as profile:
        rewrite_graph(graph, *relations, **options)
    return profile
