"""Graph rewriters: objects that take a graph and return a graph.

One class does the work: :class:`GraphRewriter` applies a selection of relations, to normal form or
once.  The others set its strategy, or compose.  A rewriter of whole graphs that is written in
Python overrides :meth:`GraphRewriter.apply`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

from relgraph.errors import (
    ArgumentError,
    OscillationError,
    RelationError,
    checks_arguments,
    count_of,
    kind_of,
)
from relgraph.ir.graph import FunctionGraph, as_outputs, substitute, with_outputs
from relgraph.ir.node import Variable, apply, graph_of
from relgraph.ir.op import Op
from relgraph.relations import matcher_store
from relgraph.relations.clause import is_ac
from relgraph.relations.decorators import as_relation
from relgraph.relations.relation import Relation
from relgraph.rewriting import loops
from relgraph.rewriting.budgets import CHAIN, time_limit
from relgraph.rewriting.derivation.passes import report_pass
from relgraph.rewriting.driver import RUNNER, collector_paused, normalise
from relgraph.rewriting.interpreter import tracked
from relgraph.rewriting.node_rewriters import (
    FailureCallback,
    NodeRewriter,
    Transform,
    attempt,
    checked_type,
)
from relgraph.rewriting.passes.constant_folding import ConstantFolding
from relgraph.rewriting.selection import Selection, selection_of

Graph = TypeVar("Graph")
Run = Callable[[Any, tuple[Variable, ...]], tuple[Variable, ...]]

# Runs each rewriter of a run, to profile it: given what runs it, the rewriter, and the outputs.
WATCHER: ContextVar[Callable[[Run, Any, tuple[Variable, ...]], tuple[Variable, ...]] | None]
WATCHER = ContextVar("relgraph_watcher", default=None)

STRATEGIES = ("innermost", "once")
ROUNDS = 8  # runs of one selection after the first, each on fewer users


class GraphRewriter:
    """Applies a selection of relations to graphs; override :meth:`apply` to write your own.

    Parameters
    ----------
    selection : Selection, or iterable of relations and rewriters
        Relations, kanren goal constructors, node rewriters and graph rewriters.
    strategy : {"innermost", "once"}
        Rewrite to normal form, or visit each node once, operands first.
    name : str, optional
        The name to print.
    max_use_ratio : float, optional
        How often each relation may fire in one call, as a multiple of the number of applications
        in the graph.  By default only the limits of the driver hold.
    failure_callback : callable, optional
        Called with the exception, the node rewriter and the node if a node rewriter raises; the
        node then stays unchanged.  By default the exception propagates, with a note that names
        rewriter and node.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.identity
    ... def double_addo(x):
    ...     '''x + x = 2 x.'''
    ...     return x + x, 2 * x
    >>> rg.GraphRewriter([double_addo]).rewrite(rg.vector("x") + rg.vector("x"))
    2 * x
    """

    @checks_arguments
    def __init__(
        self,
        selection: Selection | Iterable[Any] = (),
        strategy: str = "innermost",
        *,
        name: str | None = None,
        max_use_ratio: float | None = None,
        failure_callback: FailureCallback | None = None,
    ) -> None:
        if strategy not in STRATEGIES:
            raise ArgumentError(
                f"there is no strategy {strategy!r}",
                {"strategies": ", ".join(STRATEGIES)},
                "Use one of these; 'once' visits each node one time.",
            )
        number = isinstance(max_use_ratio, int | float) and not isinstance(max_use_ratio, bool)
        if max_use_ratio is not None and not (number and max_use_ratio > 0):
            raise ArgumentError(
                f"max_use_ratio is a positive number, not {max_use_ratio!r}",
                fix="Give how often a relation may fire for each node of the graph, or None.",
            )
        self._name = name
        self.strategy = strategy
        self.max_use_ratio = max_use_ratio
        if failure_callback is not None and not callable(failure_callback):
            raise ArgumentError(
                f"failure_callback is a function, not {kind_of(failure_callback)}",
                fix="Write def callback(error, rewriter, node), or leave it out.",
            )
        own = max_use_ratio is not None
        self._parts = _Parts(selection, own, failure_callback, self.thrifty)

    # A subclass that overrides apply need not call __init__.
    _name: str | None = None
    strategy: str = "innermost"
    max_use_ratio: float | None = None
    thrifty: bool = False  # whether relations must not compute what other users need anyway

    @property
    def name(self) -> str:
        """The name to print: by default that of its class."""
        return self._name or type(self).__name__

    @property
    def items(self) -> tuple[Any, ...]:
        """The relations and rewriters it applies."""
        parts = getattr(self, "_parts", None)
        return () if parts is None else parts.items

    @property
    def selections(self) -> tuple[Selection, ...]:
        """The compiled selections it runs; ``source`` of each shows its matchers."""
        parts = getattr(self, "_parts", None)
        return () if parts is None else parts.selections

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the rewritten graph.

        Parameters
        ----------
        graph : FunctionGraph
            The graph, which does not change.

        Returns
        -------
        FunctionGraph
            A graph with the same inputs; the same object if nothing changed.

        Raises
        ------
        ArgumentError
            If the graph is not a FunctionGraph.
        """
        if not isinstance(graph, FunctionGraph):
            raise ArgumentError(
                f"{self.name}.apply takes a FunctionGraph, not {graph!r:.60}",
                fix="Write rewriter.rewrite(graph), which takes Variables and containers too.",
            )
        return with_outputs(graph, self.outputs_of(graph.outputs))

    def rewrite(self, graph: Graph) -> Graph:
        """Return the rewritten graph, as an object of the same kind.

        Parameters
        ----------
        graph : Variable, list or tuple or dict of Variable, or FunctionGraph
            The graph.

        Returns
        -------
        same kind as ``graph``
            The same object if nothing changed.

        Raises
        ------
        OscillationError, BudgetError
            If rewriting does not terminate.
        """
        return map_graph(graph, self)

    def outputs_of(self, outputs: Sequence[Variable]) -> tuple[Variable, ...]:
        """Return the rewritten outputs.

        Parameters
        ----------
        outputs : sequence of Variable
            The outputs of a graph.

        Returns
        -------
        tuple of Variable
            The rewritten outputs, in the same order.
        """
        now = tuple(outputs)
        parts: _Parts | None = getattr(self, "_parts", None)
        steps = parts.steps if parts is not None else []
        if len(steps) == 1 and isinstance(steps[0], Selection):
            after = self._step(steps[0], now)
            for _ in range(ROUNDS):  # what kept a relation from firing may be gone
                if after not in steps[0].unsettled:
                    break
                after = self._step(steps[0], after)
                steps[0].remember(now, after)
            return after
        before: dict[tuple[Variable, ...], None] = {}
        while steps:
            before[now] = None
            after, settled = now, True
            for step in steps:
                reached = self._step(step, after)
                settled &= reached == after
                after = reached
            if settled or self.strategy == "once":
                return after
            if after in before or len(before) > CHAIN:
                raise _undone(list(before), after, self.items)
            now = after
        return now

    def _step(self, step: Any, outputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
        if not isinstance(step, Selection):
            return _run_on()(step, outputs)
        once = self.strategy == "once"
        if self.max_use_ratio is None:
            return _normalised(outputs, step, once)
        nodes = sum([bool(x.inputs) for x in FunctionGraph(None, outputs)])
        most = math.ceil(self.max_use_ratio * max(nodes, 1))
        with step.lock:  # the selection is this rewriter's own, so its budgets are too
            step.budgets = {x: min(most, x.budget or most) for x in step.relations}
            step.budgets.update(dict.fromkeys(step.transforms, most))
            return _normalised(outputs, step, once)

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield its name, and a line for each relation and rewriter that it applies.

        Parameters
        ----------
        indent : str
            The beginning of every line.

        Yields
        ------
        str
            A line.
        """
        how = "to a fixed point" if self.strategy == "innermost" else "once a node"
        yield f"{indent}{self.name} ({how})" if self.items else f"{indent}{self.name}"
        for item in self.items:
            yield f"{indent}  {describe(item)}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {count_of(len(self.items), 'entry')}>"


class _Contextual:
    """One pass of the node rewriters that read the graph around a node."""

    def __init__(
        self, rewriters: Sequence[NodeRewriter], failure_callback: FailureCallback | None = None
    ) -> None:
        self.failure_callback = failure_callback
        self.transforms = [Transform(x) for x in rewriters]
        self.name = ", ".join(x.name for x in self.transforms)

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph after one pass; the rewriters see each node as it was on entry."""
        changes: dict[Variable, Variable] = {}
        tracking: dict[Any, list[Transform]] = {None: []}
        for node in graph:
            op = node.op
            if op not in tracking:
                tracking[op] = [x for x in self.transforms if tracked(x, op)]
            if not tracking[op] or not node.inputs or node in changes:
                continue
            for transform in tracking[op]:
                result = attempt(transform.rewriter, graph, node, self.failure_callback)
                if result is None:
                    continue
                pairs = result if isinstance(result, dict) else {node: result}
                if not all(isinstance(old, Variable) for old in pairs):
                    raise ArgumentError(
                        f"{transform.name}.transform must return a dict of nodes, "
                        f"not {result!r:.60}",
                        {"node": node},
                        "Write {node: replacement}; nodes that stay are left out.",
                    )
                new = {
                    old: checked_type(new, old, transform.name)
                    for old, new in pairs.items()
                    if new is not None and new is not old
                }
                if new:
                    changes |= {old: image for old, image in new.items() if old not in changes}
                    break
        return with_outputs(graph, substitute(graph.outputs, changes)) if changes else graph


class _Parts:
    """What a graph rewriter applies, sorted into steps.

    A step is a selection or an object with ``apply``.  Compiled relations whose head is an
    associative and commutative op see n-ary views, while goals that kanren runs and rewriters
    written in Python see binary nodes, so the two are steps of their own, the latter first: they
    depend on the bracketing, which an n-ary rewrite does not keep.
    """

    def __init__(
        self,
        selection: Selection | Iterable[Any],
        own: bool,
        failure_callback: FailureCallback | None,
        thrifty: bool,
    ) -> None:
        self.steps: list[Any] = []
        if isinstance(selection, Selection):
            self.items: tuple[Any, ...] = (*selection.relations, *selection.transforms)
            self.steps.append(selection)
            self.selections: tuple[Selection, ...] = (selection,)
            return
        items = [as_item(x) for x in flat(selection)]
        self.items = tuple(dict.fromkeys(items))
        relations = [x for x in self.items if isinstance(x, Relation)]
        local = [
            Transform(x, failure_callback) if isinstance(x, NodeRewriter) else x
            for x in self.items
            if not isinstance(x, Relation) and is_transform(x)
        ]
        contextual = [x for x in self.items if isinstance(x, NodeRewriter) and x.contextual]
        make: Callable[..., Selection] = Selection if own else selection_of
        nary, binary = _split(relations, local)
        self.selections = tuple(make(*part, thrifty) for part in (binary, nary) if any(part))
        self.steps += self.selections
        if contextual:
            self.steps.append(_Contextual(contextual, failure_callback))
        self.steps += [
            x for x in self.items if not isinstance(x, Relation | NodeRewriter) and x not in local
        ]


def is_transform(x: Any) -> bool:
    """Return True if an item rewrites one node at a time and reads nothing around it."""
    if isinstance(x, NodeRewriter):
        return not x.contextual
    return callable(getattr(x, "transform", None))


def runs_on_nodes(x: Any) -> bool:
    """Return True if an item is applied node by node, so that it can run with others."""
    return isinstance(x, Relation | NodeRewriter) or is_transform(x)


def _split(relations: list[Relation], transforms: list[Any]) -> tuple[Any, Any]:
    """Return the items that see n-ary views, and those that see binary nodes."""
    collecting = [t for t in transforms if hasattr(t, "fold")]
    compiled = [r for r in relations if not r.interpreted]
    # An op variable stands for a binary sum or product, also for one within others.
    interpreted = [r for r in relations if r.interpreted or r.binds_ops]
    nary_heads = any(is_ac(head) for r in compiled for head in r.heads)
    if not nary_heads and not collecting:
        return (relations, transforms), ((), ())
    # Where constants are collected, no application of two constants is left to fold.
    nary = [
        t for t in transforms if t in collecting or (collecting and isinstance(t, ConstantFolding))
    ]
    binary = [t for t in transforms if t not in nary]
    return (compiled, nary), (interpreted, binary)


def flat(items: Any) -> Iterator[Any]:
    """Yield items of nested lists, in order."""
    if isinstance(items, list | tuple | set | frozenset | Iterator):
        for x in items:
            if isinstance(x, Relation):  # most are
                yield x
            else:
                yield from flat(x)
    else:
        yield items


def as_item(x: Any) -> Any:
    """Return a relation or rewriter as it is, and a goal constructor as a relation.

    Anything else raises ArgumentError.
    """
    if isinstance(x, Relation):
        return x
    if isinstance(x, type):
        raise ArgumentError(
            f"{x.__name__} is a class, not a rewriter", fix=f"Make one: {x.__name__}(...)."
        )
    if runs_on_nodes(x) or callable(getattr(x, "apply", None)):
        return x
    if callable(x) and not isinstance(x, Op):
        return as_relation(x)
    raise ArgumentError(
        f"{x!r} is no relation and no rewriter",
        fix="Declare a relation with @rg.identity or @rg.relation, subclass rg.NodeRewriter or "
        "rg.GraphRewriter, or pass a kanren goal constructor.",
    )


def _undone(
    chain: list[tuple[Variable, ...]], last: tuple[Variable, ...], items: Iterable[Any]
) -> OscillationError:
    names = ", ".join(item_name(x) for x in items)
    start = chain.index(last) if last in chain else -3
    states = [*chain[start:], last]
    error = OscillationError(
        "the rewriters of one phase undo each other",
        [("rewriters", names), *(("graph", ", ".join(map(repr, s))) for s in states)],
        "Exclude one of them, or orient them the same way.",
    )
    error.cycle = tuple((names, a, b) for a, b in pairwise(states))
    return error


def item_name(x: Any) -> str:
    """Return the name of an item: a relation's label, or a rewriter's name."""
    if isinstance(x, Relation):
        return x.label
    return str(getattr(x, "name", type(x).__name__))


def describe(x: Any) -> str:
    """Return an item and what it does, in one line."""
    if isinstance(x, Relation):
        first, *more = str(x).splitlines()
        return f"{first}, and {len(more)} more" if more else first
    doc = (x.__doc__ or "").strip().splitlines()
    return f"{item_name(x)}: {doc[0]}" if doc else item_name(x)


def with_changes(graph: FunctionGraph, changes: Mapping[Variable, Variable]) -> FunctionGraph:
    """Return a graph with nodes replaced; a replacement may itself contain such nodes."""
    if not changes:
        return graph
    images = images_of(graph.outputs, changes)
    return with_outputs(graph, [images[x] for x in graph.outputs])


def images_of(
    roots: Iterable[Variable],
    changes: Mapping[Variable, Variable],
    stays: Callable[[Variable], bool] | None = None,
) -> dict[Variable, Variable]:
    """Return the images of roots, and of all that they need, where some nodes are replaced.

    Nodes for which ``stays`` is true keep their operands, which are not visited.
    """
    images: dict[Variable, Variable] = {}
    stack = list(roots)
    while stack:
        x = stack[-1]
        if x in images:
            stack.pop()
            continue
        target = changes.get(x, x)
        waiting = [y for y in target.inputs if y not in images and not (stays and stays(y))]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        inputs = tuple([images.get(y, y) for y in target.inputs])
        op: Any = target.op
        images[x] = target if op is None or inputs == target.inputs else apply(op, inputs)
    return images


def map_graph(graph: Graph, rewriter: Any) -> Graph:
    """Apply a rewriter to a Variable, a list, tuple or dict of Variables, or a FunctionGraph.

    The result is of the same kind, with the rewritten graphs in the same places.
    """
    with time_limit():
        return _mapped(graph, rewriter)


def _mapped(graph: Graph, rewriter: Any) -> Graph:
    whole = graph if isinstance(graph, FunctionGraph) else None
    if whole is not None:
        graphs = whole.outputs
    elif isinstance(graph, Variable):
        graphs = (graph,)
    elif isinstance(graph, Mapping):
        graphs = as_outputs(graph.values())
    elif isinstance(graph, list | tuple):
        graphs = as_outputs(graph)
    else:
        raise ArgumentError(
            f"this is {kind_of(graph)}, not a graph: {graph!r:.60}",
            fix=graph_of(graph)
            or "Pass a Variable, a list, tuple or dict of Variables, or a FunctionGraph.",
        )
    run = _run_on(whole)
    with collector_paused():
        outputs = loops.rewritten(
            tuple(graphs), partial(run, rewriter), lambda body: _run_on()(rewriter, body)
        )
    matcher_store.write()
    if whole is not None:
        last = run.whole if run.whole is not None and run.whole.inputs == whole.inputs else whole
        return with_outputs(last, outputs)  # type: ignore[return-value]
    if isinstance(graph, Variable):
        return outputs[0]  # type: ignore[return-value]
    if isinstance(graph, Mapping):
        return dict(zip(graph, outputs, strict=True))  # type: ignore[return-value]
    return list(outputs) if isinstance(graph, list) else tuple(outputs)  # type: ignore[return-value]


class _Run:
    """Runs rewriters on outputs; those of whole graphs share one graph while nothing changes."""

    def __init__(self, whole: FunctionGraph | None = None) -> None:
        self.whole = whole

    def __call__(self, rewriter: Any, outputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
        apply = getattr(type(rewriter), "apply", None)
        if apply is GraphRewriter.apply:
            return rewriter.outputs_of(outputs)  # type: ignore[no-any-return]
        if apply is SequentialGraphRewriter.apply:
            return rewriter.in_rounds(self, outputs)  # type: ignore[no-any-return]
        if self.whole is None:
            self.whole = FunctionGraph(None, outputs)
        self.whole = _applied(rewriter, with_outputs(self.whole, outputs))
        return self.whole.outputs


class _Watched(_Run):
    """Lets the watcher run each rewriter."""

    def __call__(self, rewriter: Any, outputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
        watch = WATCHER.get()
        run = super().__call__
        return run(rewriter, outputs) if watch is None else watch(run, rewriter, outputs)


def _run_on(whole: FunctionGraph | None = None) -> _Run:
    return _Run(whole) if WATCHER.get() is None else _Watched(whole)


def _normalised(
    outputs: tuple[Variable, ...], selection: Selection, once: bool
) -> tuple[Variable, ...]:
    """Run a selection; check its steps if ``RELGRAPH_CHECK=1``, unless another run is set."""
    if os.environ.get("RELGRAPH_CHECK") == "1" and RUNNER.get() is None:
        from relgraph.rewriting.derivation.derivation import run_checked

        return run_checked(outputs, selection, once)
    return normalise(outputs, selection, once=once)


def _applied(rewriter: Any, graph: FunctionGraph) -> FunctionGraph:
    """Return the graph that a rewriter returns; its outputs must keep number and types."""
    try:
        result: Any = rewriter.apply(graph)
    except Exception as error:
        if not isinstance(rewriter, _Contextual):
            error.add_note(f"raised by the rewriter {item_name(rewriter)}")
        raise
    if not isinstance(result, FunctionGraph):
        raise ArgumentError(
            f"{item_name(rewriter)}.apply must return a FunctionGraph, not {result!r}",
            fix="Graphs are immutable: return graph.replace(old, new), or the graph itself.",
        )
    if len(result.outputs) != len(graph.outputs):
        raise ArgumentError(
            f"{item_name(rewriter)}.apply returned {count_of(len(result.outputs), 'output')} for "
            f"{len(graph.outputs)}",
            fix="Return a FunctionGraph with an output for each one that was given.",
        )
    for old, new in zip(graph.outputs, result.outputs, strict=True):
        if old is not new and not new.type.narrows(old.type):
            raise RelationError(
                f"{item_name(rewriter)} changed the type of an output",
                [("before", f"{old} : {old.type}"), ("after", f"{new} : {new.type}")],
                "Cast or broadcast the new output.",
            )
    report_pass(item_name(rewriter), graph.outputs, result.outputs)
    return result


class WalkingGraphRewriter(GraphRewriter):
    """Visits each node once, operands first, and applies its rewriters to it.

    Parameters
    ----------
    *rewriters : relation, goal constructor or NodeRewriter
        Tried in this order at every node.
    name : str, optional
        The name to print.
    failure_callback : callable, optional
        As in :class:`GraphRewriter`.
    """

    @checks_arguments
    def __init__(
        self,
        *rewriters: Any,
        name: str | None = None,
        failure_callback: FailureCallback | None = None,
    ) -> None:
        super().__init__(rewriters, "once", name=name, failure_callback=failure_callback)


class EquilibriumGraphRewriter(GraphRewriter):
    """Applies its rewriters until nothing changes.

    Parameters
    ----------
    rewriters : iterable of relations and rewriters
        Relations, goal constructors, node rewriters and graph rewriters.
    max_use_ratio : float, optional
        How often each relation may fire in one call, as a multiple of the number of applications
        in the graph; beyond it :class:`relgraph.errors.BudgetError` is raised.
    name : str, optional
        The name to print.
    failure_callback : callable, optional
        As in :class:`GraphRewriter`.
    """

    @checks_arguments
    def __init__(
        self,
        rewriters: Iterable[Any],
        *,
        max_use_ratio: float | None = None,
        name: str | None = None,
        failure_callback: FailureCallback | None = None,
    ) -> None:
        super().__init__(
            rewriters,
            "innermost",
            name=name,
            max_use_ratio=max_use_ratio,
            failure_callback=failure_callback,
        )


class SequentialGraphRewriter(GraphRewriter):
    """Applies rewriters in sequence.

    Parameters
    ----------
    *rewriters : relation, rewriter, or list of them
        A relation or node rewriter stands for the rewriter that applies it to normal form.
    name : str, optional
        The name to print.
    """

    rounds: ClassVar[int] = 1  # how often the sequence runs at most

    @checks_arguments
    def __init__(self, *rewriters: Any, name: str | None = None) -> None:
        super().__init__(name=name)
        items = [as_item(x) for x in flat(rewriters)]
        self.rewriters: tuple[Any, ...] = tuple(
            GraphRewriter([x]) if runs_on_nodes(x) else x for x in items
        )

    @property
    def items(self) -> tuple[Any, ...]:
        """The rewriters, in order."""
        return self.rewriters

    @property
    def selections(self) -> tuple[Selection, ...]:
        """The compiled selections it runs, in order."""
        return tuple(s for x in self.rewriters for s in getattr(x, "selections", ()))

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph after all rewriters."""
        return with_outputs(graph, _run_on(graph)(self, graph.outputs))

    def in_rounds(self, run: Run, outputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
        """Return what ``run`` makes of outputs with each rewriter in turn, in rounds.

        A round ends early where every rewriter has seen the graph since it last changed.

        Parameters
        ----------
        run : callable
            Takes a rewriter and outputs, and returns the rewritten outputs.
        outputs : tuple of Variable
            The outputs of a graph.

        Returns
        -------
        tuple of Variable
            The rewritten outputs.
        """
        last = None  # the rewriter that made the last change
        for _ in range(self.rounds):
            for i, rewriter in enumerate(self.rewriters):
                if i == last:
                    return outputs
                result = run(rewriter, outputs)
                if result != outputs:
                    outputs, last = result, i
            if last is None:
                break
        return outputs

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield the rewriters, each with what it applies."""
        yield f"{indent}{self.name}"
        for x in self.rewriters:
            if isinstance(x, GraphRewriter):
                yield from x.lines(indent + "  ")
            else:
                yield f"{indent}  {describe(x)}"
