"""Derivations: every firing of a run, printed as a chain of equal graphs, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from relgraph.errors import VerifyError
from relgraph.ir.cost import flops
from relgraph.ir.node import Variable, apply_chain
from relgraph.ir.printing import brief
from relgraph.relations.view import Firing
from relgraph.rewriting.driver import RUNNER, normalise
from relgraph.rewriting.entailment import Entailment
from relgraph.rewriting.packing import (
    Packing,
    Unpacking,
    packed_selection,
    unpacked_selection,
)
from relgraph.rewriting.replay import Checker, closed_in
from relgraph.rewriting.selection import Selection, relation_of


@dataclass(frozen=True)
class Step:
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

    def __str__(self) -> str:
        times = f" x{self.uses}" if self.uses > 1 else ""
        return (
            f"{', '.join(self.relations)}{times}\n    {brief(self.before)}\n  = {brief(self.after)}"
        )


@dataclass(frozen=True)
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
    """

    before: tuple[Variable, ...]
    after: tuple[Variable, ...]
    steps: tuple[Step, ...]
    selection: Selection

    def __reduce__(self) -> tuple[Any, ...]:
        packing = Packing()
        data = _packed(self, packing)
        return _unpickled_phase, (packing.nodes(), data)

    def __copy__(self) -> Phase:
        return self

    def __deepcopy__(self, memo: object) -> Phase:
        return self

    def _uses(self) -> Iterator[tuple[Firing, Variable]]:
        """Yield the uses of relations on parts of sums and products, with what they took."""
        for step in self.steps:
            for firing in step.firings:
                taken = firing.taken
                whole = taken[0]
                if len(taken) > 1:
                    if relation_of(firing.rewrite) is None:
                        continue
                    pattern: Any = firing.rewrite.pattern
                    whole = apply_chain(pattern.op, taken)
                if whole is not step.before and firing.result.type.narrows(whole.type):
                    yield firing, whole

    def check(self) -> None:
        """Replay the steps; see :meth:`Derivation.check`."""
        checker = Checker(self.selection)
        for number, step in enumerate(self.steps, 1):
            checker.step(number, step)
        closed = closed_in(self.before)
        # What was proved for finite values only may cancel what is added on both sides as well.
        sources = [relation_of(f.rewrite) for step in self.steps for f in step.firings]
        finite = any([r is not None and r.specials == "assumes_finite" for r in sources])
        equations = [(step.before, step.after) for step in self.steps]
        if not finite:  # then what a step carries along cannot be taken away from its equation
            equations += [(whole, f.result) for f, whole in self._uses()]
        known = Entailment(equations, finite)
        for start, end in zip(self.before, self.after, strict=True):
            reached = checker.replay(start, closed, self.steps)
            # The same steps may lead on from what is a part elsewhere and a result here.
            if checker.same(reached, end):
                continue
            again = checker.replay(end, closed, self.steps)
            # Or they lead there from sums that were grouped otherwise when the engine met them.
            if not checker.same(reached, again) and not known.holds(reached, again):
                raise VerifyError(
                    "the steps do not lead from the graph to the result",
                    {"graph": start, "reached": reached, "result": end},
                )


@dataclass(frozen=True)
class Derivation:
    """How a graph became another one: a chain of equal graphs, with the relation of each step.

    Attributes
    ----------
    before, after : tuple of Variable
        The outputs as they were and as they are.
    phases : tuple of Phase
        Runs of selections, in order.  Between two of them a rewriter written in Python may have
        changed the graph; it gives no reasons.
    """

    before: tuple[Variable, ...]
    after: tuple[Variable, ...]
    phases: tuple[Phase, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        packing = Packing()
        ends = packing.packed((self.before, self.after))
        data = tuple([_packed(phase, packing) for phase in self.phases])
        return _unpickled, (packing.nodes(), ends, data)

    def __copy__(self) -> Derivation:
        return self

    def __deepcopy__(self, memo: object) -> Derivation:
        return self

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in order."""
        return tuple(step for phase in self.phases for step in phase.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        lines = [f"    {brief(x)}" for x in self.before]
        reached, number = self.before, 0
        for phase in self.phases:
            if phase.before != reached:
                lines.append("   a rewriter written in Python")
                lines.extend(f"  = {brief(x)}" for x in phase.before)
            for step in phase.steps:
                number += 1
                lines.append(f"{number}. {step}")
            reached = phase.after
        cost = f"{flops(self.before)} -> {flops(self.after)} flops"
        lines.append(f"result, {number} step{'s' * (number != 1)}, {cost}")
        lines.extend(f"    {brief(x)}" for x in self.after)
        return "\n".join(lines)

    def to_html(self, path: str) -> None:
        """Write the derivation to a self-contained HTML page.

        Parameters
        ----------
        path : str
            The file to write.
        """
        from html import escape

        rows = "\n".join(
            f"<tr><td>{number}</td><td>{escape(', '.join(step.relations))}</td>"
            f"<td><code>{escape(brief(step.before))}</code></td>"
            f"<td><code>{escape(brief(step.after))}</code></td></tr>"
            for number, step in enumerate(self.steps, 1)
        )
        graphs = " ; ".join(escape(brief(x)) for x in self.before)
        results = " ; ".join(escape(brief(x)) for x in self.after)
        text = (
            "<!doctype html><meta charset='utf-8'><title>derivation</title>"
            "<style>body{font-family:sans-serif}td{padding:.3em .8em;vertical-align:top}"
            "code{white-space:pre-wrap}</style>"
            f"<p><code>{graphs}</code></p><table><tr><th></th><th>relation</th><th>from</th>"
            f"<th>to</th></tr>\n{rows}</table><p><code>{results}</code></p>\n"
        )
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def check(self) -> None:
        """Replay the steps independently of the engine.

        Raises
        ------
        VerifyError
            When a firing is no answer of its relation, a sum or product gains or loses a term, a
            type is not preserved, or the steps do not lead from the graph to the result.
        """
        for phase in self.phases:
            phase.check()


def _packed(phase: Phase, packing: Packing) -> tuple[Any, ...]:
    """Return a phase as data."""
    steps = tuple([
        (
            packing.packed((step.before, step.after)),
            tuple([packing.firing(x, phase.selection) for x in step.firings]),
        )
        for step in phase.steps
    ])  # fmt: skip
    return packing.packed((phase.before, phase.after)), steps, packed_selection(phase.selection)


def _unpacked(data: tuple[Any, ...], unpacking: Unpacking) -> Phase:
    """Return the phase that was packed."""
    ends, packed_steps, parts = data
    selection = unpacked_selection(parts)
    steps = []
    for pair, firings in packed_steps:
        before, after = unpacking.unpacked(pair)
        steps.append(Step(before, after, tuple([unpacking.firing(x, selection) for x in firings])))
    before, after = unpacking.unpacked(ends)
    return Phase(before, after, tuple(steps), selection)


def _unpickled_phase(nodes: tuple[Any, ...], data: tuple[Any, ...]) -> Phase:
    return _unpacked(data, Unpacking(nodes))


def _unpickled(nodes: tuple[Any, ...], ends: Any, data: tuple[Any, ...]) -> Derivation:
    unpacking = Unpacking(nodes)
    before, after = unpacking.unpacked(ends)
    return Derivation(before, after, tuple([_unpacked(phase, unpacking) for phase in data]))


def run_recorded(outputs: Sequence[Variable], selection: Selection, once: bool = False) -> Phase:
    """Normalise a graph and record every step.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    selection : Selection
        What to apply.
    once : bool
        Visit each node once.
    """
    steps: list[Step] = []

    def log(before: Variable, after: Variable, firings: Sequence[Firing]) -> None:
        steps.append(Step(before, after, tuple(firings)))

    after = normalise(outputs, selection, log=log, once=once)
    return Phase(tuple(outputs), after, tuple(steps), selection)


@contextmanager
def recording() -> Iterator[list[Phase]]:
    """Record all rewriting inside the block; yields the list that the phases are put into."""
    phases: list[Phase] = []

    def run(outputs: Sequence[Variable], selection: Selection, once: bool) -> tuple[Variable, ...]:
        phase = run_recorded(outputs, selection, once)
        phases.append(phase)
        return phase.after

    token = RUNNER.set(run)
    try:
        yield phases
    finally:
        RUNNER.reset(token)
