"""Derivations: every firing of a run, printed as a chain of equal graphs, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from relgraph.errors import ArgumentError, VerifyError, count_of, kind_of
from relgraph.ir.node import Variable
from relgraph.ir.records import record
from relgraph.relations.operand_index import Firing
from relgraph.rewriting.derivation.display import Names, described
from relgraph.rewriting.derivation.packing import Packing, Unpacking
from relgraph.rewriting.derivation.passes import LISTENER, Pass
from relgraph.rewriting.derivation.replay import FIX, Checker
from relgraph.rewriting.driver import RUNNER, normalise
from relgraph.rewriting.selection import Selection, selection_of
from relgraph.viz.display import Displayed
from relgraph.viz.document import Element, text


@record
class Step(Displayed):
    """One step: a node of the graph, what replaced it, and the firings that justify it.

    Attributes
    ----------
    before, after : Variable
        The node replaced and its replacement.  For a sum or product, the whole of it.
    firings : tuple of Firing
        Uses of relations; their operands and results are subsets of a sum's terms.
    """

    before: Variable
    after: Variable
    firings: tuple[Firing, ...]

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the relations used, each once."""
        return tuple(dict.fromkeys(f.rewrite.relation for f in self.firings))

    @property
    def uses(self) -> int:
        """How many uses of a binary relation the step stands for: k terms gathered are k - 1."""
        return sum(max(len(f.taken) - 1, 1) for f in self.firings)

    def __repr__(self) -> str:
        return text(self._document())

    def _document(self) -> list[Element]:
        return Names().step(self)


@record
class Total:
    """What became of a sum or product in a graph, by some of the steps.

    Attributes
    ----------
    node, result : Variable
        The node as it stands in the graph, and its normal form.
    parts : tuple of (Variable, bool)
        Its operands, and whether they are taken away.
    history : tuple of (int, tuple)
        The indices of the steps, each with the operands that the step brought in; the next one sees
        their normal forms.
    """

    node: Variable
    parts: tuple[tuple[Variable, bool], ...]
    history: tuple[tuple[int, tuple[tuple[Variable, bool], ...]], ...]
    result: Variable


@record
class Phase:
    """What one selection of relations did to a graph.

    Attributes
    ----------
    before, after : tuple of Variable
        The outputs as they were and as they are.
    steps : tuple of Step
        In the order in which they were made.
    selection : Selection
        The relations.
    totals : tuple of Total
        What became of sums and products, in the order in which they became normal.
    """

    before: tuple[Variable, ...]
    after: tuple[Variable, ...]
    steps: tuple[Step, ...]
    selection: Selection
    totals: tuple[Total, ...] = ()

    def __repr__(self) -> str:
        return f"<phase of {count_of(len(self.steps), 'step')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        packing = Packing()
        data = _packed(self, packing)
        return _unpickled_phase, (packing.nodes(), data)

    def __copy__(self) -> Phase:
        return self

    def __deepcopy__(self, memo: object) -> Phase:
        return self

    def check(self) -> None:
        """Replay the steps; see :meth:`Derivation.check`."""
        checker = Checker(self.selection)
        for number, step in enumerate(self.steps, 1):
            checker.step(number, step)
        checker.learn(self.steps, self.totals)
        for start, end in zip(self.before, self.after, strict=True):
            reached = checker.image(start)
            # In a single pass, the same steps may lead on from what is a result here.
            if not checker.same(reached, end) and not checker.same(reached, checker.image(end)):
                raise VerifyError(
                    "the steps do not lead from the graph to the result",
                    {"graph": start, "reached": reached, "result": end},
                    FIX,
                )


@record
class Derivation(Displayed):
    """How a graph became another one: a chain of equal graphs, with the relation of each step.

    Attributes
    ----------
    before, after : tuple of Variable
        The outputs as they were and as they are.
    phases : tuple of Phase and Pass
        Runs of selections, in order, and between them the passes written in Python that changed
        the graph; these give no reasons.
    unused : tuple of (str, str)
        Relations that fired nowhere although they were passed, each with the reason.
    """

    before: tuple[Variable, ...]
    after: tuple[Variable, ...]
    phases: tuple[Phase | Pass, ...]
    unused: tuple[tuple[str, str], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        packing = Packing()
        ends = packing.packed((self.before, self.after))
        data = tuple([_packed(phase, packing) for phase in self.phases])
        return _unpickled, (packing.nodes(), ends, data, self.unused)

    def __copy__(self) -> Derivation:
        return self

    def __deepcopy__(self, memo: object) -> Derivation:
        return self

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        return tuple(step for phase in self.phases for step in phase.steps)

    @property
    def unreplayed(self) -> tuple[str, ...]:
        """The rewriters written in Python whose changes :meth:`check` takes as they are."""
        names: dict[str, None] = {}
        for phase in self.phases:
            if isinstance(phase, Pass):
                names[phase.name] = None
            else:
                transforms = phase.selection.transforms
                fired = [f.rewrite for step in phase.steps for f in step.firings]
                names |= {x.relation: None for x in fired if any([x is t for t in transforms])}
        return tuple(names)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def text(self, lines: int | None = 200) -> str:
        """Return the chain of equal graphs as text, which names shared parts once.

        Parameters
        ----------
        lines : int, optional
            How many lines to write; the rest is counted by relation.  None writes all steps.

        Returns
        -------
        str
            For each step its relations, the place (``[.]`` stands for what changed), and the parts
            of the graph that changed.

        Examples
        --------
        >>> import relgraph as rg
        >>> x = rg.vector("x", "n")
        >>> print(rg.explain(rg.log(rg.exp(x)) + 1, include=["canonicalize"]).text())
            log(exp(x)) + 1
        1. cancel_log_expo, in [.] + 1
            log(exp(x))
          = x
        result, 1 step, 5376 -> 256 flops at n = 256
            x + 1
        """
        return text(described(self, lines))

    def _document(self) -> list[Element]:
        return described(self)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write the derivation to one HTML file, which fetches nothing.

        A slider, and the arrow keys, go through the steps.  Each shows the relation in mathematics,
        the values of its variables and conditions, costs, and pictures of what it replaced (red)
        and what is new (green).

        Parameters
        ----------
        path : str or Path
            The file to write.

        Raises
        ------
        ArgumentError
            If ``path`` is not a path.
        """
        if not isinstance(path, str | PathLike):
            raise ArgumentError(
                f"to_html takes the path of a file, not {kind_of(path)}",
                fix='Write derivation.to_html("rewrite.html").',
            )
        from relgraph.rewriting.derivation.page import page

        with open(path, "w", encoding="utf-8") as file:
            file.write(page(self))

    def check(self) -> None:
        """Replay the steps independently of the engine.

        Each use of a relation is asked of kanren.  What rewriters written in Python did is taken
        as it is, since they state no relation; :attr:`unreplayed` names them.

        Raises
        ------
        VerifyError
            If a firing is not an answer of its relation, a sum or product gains or loses a term, a
            type is not preserved, or the steps do not lead from the graph to the result.
        """
        for phase in self.phases:
            phase.check()


def _packed(phase: Phase | Pass, packing: Packing) -> tuple[Any, ...]:
    """Return a phase as data; a pass has its name in the place of steps."""
    if isinstance(phase, Pass):
        return packing.packed((phase.before, phase.after)), (phase.name, phase.details), None
    steps = tuple([
        (
            packing.packed((step.before, step.after)),
            tuple([packing.firing(x, phase.selection) for x in step.firings]),
        )
        for step in phase.steps
    ])  # fmt: skip
    totals = tuple([
        packing.packed((x.node, x.parts, x.history, x.result)) for x in phase.totals
    ])  # fmt: skip
    ends = packing.packed((phase.before, phase.after))
    selection = phase.selection
    return ends, (steps, totals), (selection.relations, selection.transforms)


def _unpacked(data: tuple[Any, ...], unpacking: Unpacking) -> Any:
    """Return the phase or pass that was packed."""
    ends, packed_steps, parts = data
    if parts is None:
        before, after = unpacking.unpacked(ends)
        name, details = packed_steps
        return Pass(name, before, after, details)
    selection = selection_of(*parts)
    steps: list[Step] = []
    packed_steps, packed_totals = packed_steps
    for pair, firings in packed_steps:
        before, after = unpacking.unpacked(pair)
        steps.append(Step(before, after, tuple([unpacking.firing(x, selection) for x in firings])))
    totals = [Total(*unpacking.unpacked(x)) for x in packed_totals]
    before, after = unpacking.unpacked(ends)
    return Phase(before, after, tuple(steps), selection, tuple(totals))


def _unpickled_phase(nodes: tuple[Any, ...], data: tuple[Any, ...]) -> Any:
    return _unpacked(data, Unpacking(nodes))


def _unpickled(
    nodes: tuple[Any, ...], ends: Any, data: tuple[Any, ...], unused: tuple[tuple[str, str], ...]
) -> Derivation:
    unpacking = Unpacking(nodes)
    before, after = unpacking.unpacked(ends)
    return Derivation(before, after, tuple([_unpacked(phase, unpacking) for phase in data]), unused)


def run_recorded(outputs: Sequence[Variable], selection: Selection, once: bool = False) -> Phase:
    """Normalise a graph, or visit each node once, and record every step."""
    log = _Recorder()
    after = normalise(outputs, selection, log=log, once=once)
    return Phase(tuple(outputs), after, tuple(log.steps), selection, tuple(log.totals))


class _Recorder:
    """The log that keeps everything."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.totals: list[Total] = []

    def step(self, before: Variable, after: Variable, firings: Sequence[Firing]) -> int:
        """Keep a step, and return its index."""
        self.steps.append(Step(before, after, tuple(firings)))
        return len(self.steps) - 1

    def total(self, node: Variable, parts: Any, history: Any, result: Variable) -> None:
        """Keep what became of a sum or product."""
        self.totals.append(Total(node, tuple(parts), tuple(history), result))


def run_checked(
    outputs: Sequence[Variable], selection: Selection, once: bool
) -> tuple[Variable, ...]:
    """Normalise a graph as ``RELGRAPH_CHECK=1`` asks for: replay every step of the derivation."""
    phase = run_recorded(outputs, selection, once)
    phase.check()
    return phase.after


@contextmanager
def recording() -> Iterator[list[Phase | Pass]]:
    """Record all rewriting inside the block; yields the list that is filled, in order."""
    phases: list[Phase | Pass] = []

    def run(outputs: Sequence[Variable], selection: Selection, once: bool) -> tuple[Variable, ...]:
        phase = run_recorded(outputs, selection, once)
        phases.append(phase)
        return phase.after

    def passed(change: Pass) -> None:
        if not phases or phases[-1].after != change.after:  # or else it was recorded inside of it
            phases.append(change)

    token, listening = RUNNER.set(run), LISTENER.set(passed)
    try:
        yield phases
    finally:
        RUNNER.reset(token)
        LISTENER.reset(listening)
