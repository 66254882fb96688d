"""``rg.benchmark``: a graph as written against the same graph rewritten, and against peers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from relgraph.api.function import function
from relgraph.api.rewrite import DEFAULT_MODE, selected
from relgraph.checking.rounding.running_error import error_bounds
from relgraph.costs.program import cost
from relgraph.errors import ArgumentError, RelgraphError, kind_of
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import FunctionGraph, substitute
from relgraph.ir.node import Variable
from relgraph.ir.records import record, replace
from relgraph.measurement.arguments import (
    drawn_arrays,
    given_arrays,
    graph_of,
    points_of,
    sizes_of,
)
from relgraph.measurement.peers import PEERS, Call
from relgraph.measurement.results import REWRITTEN, WRITTEN, Benchmark, Measured, Point
from relgraph.measurement.windows import Plan, Ratio, Timing, measure, ratio
from relgraph.rewriting.derivation.derivation import Phase, recording
from relgraph.rewriting.rewriters import map_graph
from relgraph.viz.progress import note

ROUNDS = 21
WINDOW = 0.03  # seconds of a window, at most
STEPS = 12  # graphs between the first and the last
_COMPARED = 0.15  # the share of the budget that bounds of rounding errors may take


@record(eq=False)
class _Form:
    """One form of the graph: its name, its program, and the seconds that it took to make."""

    name: str
    graph: FunctionGraph
    program: Any
    seconds: float


@traceable
def benchmark(
    graph: Any,
    *relations: Any,
    mode: Any = DEFAULT_MODE,
    arrays: Any = None,
    sizes: Mapping[str, int | Iterable[int]] | None = None,
    steps: bool = False,
    peers: str | Iterable[str] = (),
    budget: float = 10.0,
) -> Benchmark:
    """Time a graph as written against the same graph rewritten, in turns.

    Parameters
    ----------
    graph : Variable, list or tuple or dict of Variable, FunctionGraph, Function, or callable
        The graph, or a NumPy function, whose arguments are ``arrays``.
    *relations : relation or rewriter
        The rewrites.  Without any, those of ``mode``.
    mode : str, Query, relation, rewriter, or list of them
        The rewrites, as in :func:`function`; they run after the relations that you pass.
    arrays : list of array-like, or dict of array-like by name, optional
        A value for each input.  Without them, arrays are drawn that have the facts of the inputs.
    sizes : dict of str to int or list of int, optional
        Values of sizes with names, for the arrays that are drawn.  A list gives a curve.
    steps : bool
        Whether to time the graph after steps of the derivation too, at most 12 of them.
    peers : str or iterable of str
        Other libraries to run the graph as written, from its :func:`source`: "numpy", "jax",
        "torch", "torch.compile" or "pytensor".
    budget : float
        The time limit in seconds.  Only a call in progress and a compilation may exceed it; a peer
        is left out if half of the time has passed before its turn.

    Returns
    -------
    Benchmark
        It prints as a table with a verdict, and has ``ratio``, ``rows``, ``crossover``, ``plot()``
        and ``to_json()``.

    Raises
    ------
    ArgumentError
        For arrays or sizes that do not fit the inputs, and for an unknown peer.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, B = rg.matrices("A B", shape=("n", "n"))
    >>> x = rg.vector("x", shape=("n",))
    >>> result = rg.benchmark((A @ B) @ x, sizes={"n": 300}, budget=1)
    >>> result["as written"].flops, result["rewritten"].flops
    (54180000, 360000)
    >>> bool(result["rewritten"].speedup.value > 1)
    True
    """
    start = time.perf_counter()
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise ArgumentError(
            f"the budget must be a positive number of seconds, not {budget!r:.60}",
            fix="Give a number.",
        )
    names = _peers(peers)
    whole = graph_of(graph, arrays, "Pass them in a list: arrays=[a, b].")
    if arrays is not None and sizes is not None:
        raise ArgumentError(
            "arrays have their own sizes", fix="Leave out sizes=, or arrays= to draw arrays."
        )
    points = [{}] if arrays is not None else points_of(whole, sizes)
    given = None if arrays is None else given_arrays(whole, arrays)
    drawn = [given or drawn_arrays(whole, point) for point in points]
    spec = mode if not relations else [*relations, *([] if mode == DEFAULT_MODE else [mode])]
    forms = _forms(whole, spec, steps)
    left_out: dict[str, str] = {}
    measured = []
    for i, values in enumerate(drawn):
        left = start + budget - time.perf_counter()
        deadline = time.perf_counter() + left / (len(drawn) - i)
        contest = _Contest(forms, values, left_out)
        for name in names:
            contest.invite(name, start + budget / 2 if i == 0 else inf)
        rows = contest.rows(deadline, _COMPARED * budget / len(drawn))
        measured.append(Point(sizes_of(whole.inputs, values), tuple(rows)))
        forms = [replace(x, seconds=0.0) for x in forms]  # they are compiled by now
    seconds = time.perf_counter() - start
    result = Benchmark(tuple(measured), len(forms) > 1, left_out, float(budget), seconds)
    note("benchmark of %.1f s, budget %.1f s: %s", seconds, budget, result.verdict)
    return result


def _peers(peers: str | Iterable[str]) -> list[str]:
    names = list(peers) if isinstance(peers, Iterable) and not isinstance(peers, str) else [peers]
    for name in names:
        if not isinstance(name, str) or name not in PEERS:
            shown = f"called {name!r:.60}" if isinstance(name, str) else f"that is {kind_of(name)}"
            raise ArgumentError(
                f"there is no peer {shown}", {"peers": ", ".join(PEERS)}, "Use some of these."
            )
    return names


def _forms(graph: FunctionGraph, spec: Any, steps: bool) -> list[_Form]:
    """Return the graph as written and, if rewriting changes it, rewritten and in between."""
    start = time.perf_counter()
    written = function(graph.inputs, list(graph.outputs), mode=None)
    forms = [_Form(WRITTEN, graph, written, time.perf_counter() - start)]
    start = time.perf_counter()
    rewritten = function(graph.inputs, list(graph.outputs), mode=spec)
    seconds = time.perf_counter() - start
    if _same(rewritten.graph.outputs, graph.outputs):
        return forms
    forms.append(_Form(REWRITTEN, rewritten.graph, rewritten, seconds))
    for name, outputs in _between(graph, spec) if steps else ():
        start = time.perf_counter()
        program = function(graph.inputs, list(outputs), mode=None)
        forms.append(_Form(name, program.graph, program, time.perf_counter() - start))
    return forms


def _between(graph: FunctionGraph, spec: Any) -> list[tuple[str, tuple[Variable, ...]]]:
    """Return the graphs after steps of the derivation, without the first and the last."""
    rewriter, _ = selected(spec, "assume")
    with recording() as phases:
        last = graph if rewriter is None else map_graph(graph, rewriter)
    found: list[tuple[str, tuple[Variable, ...]]] = []
    current, number = graph.outputs, 0
    for phase in phases:
        if not isinstance(phase, Phase):
            continue
        current = phase.before if len(phase.before) == len(current) else current
        for step in phase.steps:
            number += 1
            after = substitute(current, {step.before: step.after})
            if not _same(after, current) and not _same(after, last.outputs):
                found.append((f"step {number}: {', '.join(step.relations)}", after))
            current = after
    if len(found) <= STEPS:
        return found
    return [found[round(i * (len(found) - 1) / (STEPS - 1))] for i in range(STEPS)]


def _same(one: Sequence[Variable], two: Sequence[Variable]) -> bool:
    return len(one) == len(two) and all(x is y for x, y in zip(one, two, strict=True))


class _Contest:
    """The forms of a graph, and its peers, on one set of arrays.

    Parameters
    ----------
    forms : list of _Form
        As written first.
    arrays : list of array
        A value for each input.
    left_out : dict of str and str
        The peers that do not run, with the reasons; others are added.
    """

    def __init__(self, forms: list[_Form], arrays: list[Any], left_out: dict[str, str]) -> None:
        self._forms = {x.name: x for x in forms}
        self._arrays = arrays
        self._left_out = left_out
        self._calls: dict[str, Call] = {}
        self._results: dict[str, list[Any]] = {}
        self._first: dict[str, float] = {}
        for form in forms:
            self._begin(form.name, partial(form.program, *arrays), form.seconds)

    def _begin(self, name: str, call: Call, seconds: float) -> None:
        """Make the first call."""
        start = time.perf_counter()
        value = call()
        self._first[name] = seconds + time.perf_counter() - start
        self._results[name] = list(value) if isinstance(value, list | tuple) else [value]
        self._calls[name] = call

    def invite(self, name: str, latest: float) -> None:
        """Add a peer, unless it cannot run or it is too late."""
        start = time.perf_counter()
        if name in self._left_out:
            return
        if start > latest:
            self._left_out[name] = "half of the budget had passed before it was its turn"
            return
        try:
            call = PEERS[name](self._forms[WRITTEN].graph, self._arrays)
            self._begin(name, call, time.perf_counter() - start)
        except ImportError as error:
            self._left_out[name] = f"it is not installed ({error})"
        except RelgraphError as error:
            self._left_out[name] = str(error).replace("\n", "; ")
        except Exception as error:  # whatever a library raises, the others are measured
            lines = str(error).splitlines() or [""]
            self._left_out[name] = f"it raised {type(error).__name__}: {lines[0]}"

    def rows(self, deadline: float, compared: float) -> list[Measured]:
        """Measure until a deadline, of which bounds of errors may take a part."""
        now = time.perf_counter()
        left = max(deadline - compared - now, 0.0)
        window = min(WINDOW, max(left / (1.6 * ROUNDS * len(self._calls)), 1e-4))
        plan = Plan(ROUNDS, window, attempts=2, patience=0.2 * left, deadline=now + left)
        timings = measure(self._calls, plan)
        affordable = 60 * timings[WRITTEN].seconds * len(self._forms) < compared
        bounds = self._bounds() if affordable else {}
        return [self._row(name, timings, bounds) for name in timings]

    def _bounds(self) -> dict[str, list[Any] | None]:
        inputs = self._forms[WRITTEN].graph.inputs
        values: dict[Variable, Any] = dict(zip(inputs, self._arrays, strict=True))
        return {x.name: error_bounds(x.graph.outputs, values) for x in self._forms.values()}

    def _row(
        self, name: str, timings: dict[str, Timing], bounds: dict[str, list[Any] | None]
    ) -> Measured:
        timing, written = timings[name], timings[WRITTEN]
        first = name == WRITTEN
        own = bounds.get(name if name in self._forms else WRITTEN)
        ulps, bound, within = _difference(
            self._results[WRITTEN], self._results[name], bounds.get(WRITTEN), own
        )
        return Measured(
            name,
            timing.median,
            timing.spread,
            Ratio(1.0, 0.0) if first else ratio(written, timing),
            self._first[name],
            len(timing.turns),
            max(len(timing.turns) - len(timing.kept), 0),
            ulps=None if first else ulps,
            bound=None if first else bound,
            within=within,
            **self._counts(name),
        )

    def _counts(self, name: str) -> dict[str, int]:
        """Return what a form computes and moves, if the named sizes determine it."""
        if name not in self._forms:
            return {}
        graph = self._forms[name].graph
        counted = cost(graph)
        sizes = sizes_of(graph.inputs, self._arrays).items()
        counted = counted.at({k: v for k, v in sizes if k in counted.names})
        measures = ("flops", "bytes", "kernels", "library_calls")
        values = {k: getattr(counted, k) for k in measures}
        return {k: v for k, v in values.items() if isinstance(v, int)}


def _difference(
    expected: list[Any], results: list[Any], one: list[Any] | None, two: list[Any] | None
) -> tuple[float | None, float | None, bool]:
    """Return the largest difference in ULP, its bound, and whether all are within the bounds."""
    worst, bound, within = 0.0, None, True
    for i, (a, b) in enumerate(zip(expected, results, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind != "f" or not a.size:
            within &= bool(np.array_equal(a, b))
            continue
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            away = np.where(same, 0.0, np.abs(a.astype("float64") - b.astype("float64")))
        finite = np.abs(a[np.isfinite(a)])
        unit = float(np.spacing(finite.max())) if finite.size else 1.0
        worst = max(worst, float(np.nan_to_num(away, nan=np.inf, posinf=np.inf).max()) / unit)
        if one is not None and two is not None:
            allowed = np.asarray(one[i]) + np.asarray(two[i])
            within &= bool((same | (away <= allowed)).all())
            bound = max(bound or 0.0, float(np.max(allowed)) / unit)
    return worst, bound, within


__all__ = ["benchmark"]
