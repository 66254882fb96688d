"""Derivations: every firing of a run, and a checker that replays them without the engine.

The checker knows nothing of matchers, views or memos.  It takes the recorded steps as ground
equations, rewrites the original graph with them alone, and asks kanren whether each firing is an
answer of its relation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

from relgraph.errors import VerifyError
from relgraph.ir.cost import flops
from relgraph.ir.graph import toposort
from relgraph.ir.node import Apply, Variable, apply
from relgraph.ir.op import Op
from relgraph.ir.printing import brief
from relgraph.relations.ac_matcher import Firing
from relgraph.relations.pattern import Block
from relgraph.relations.relation import Relation
from relgraph.rewriting.driver import RUNNER, normalise
from relgraph.rewriting.interpreter import answer
from relgraph.rewriting.selection import Selection


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

    def check(self) -> None:
        """Replay the steps; see :meth:`Derivation.check`."""
        relations = {r.label: r for r in self.selection.relations}
        for number, step in enumerate(self.steps, 1):
            _check_types(number, step)
            _check_balance(number, step)
            for firing in step.firings:
                _check_firing(number, firing, relations)
        rules = {_canonical(s.before): s.after for s in self.steps}
        for start, end in zip(self.before, self.after, strict=True):
            reached = _replay(start, rules)
            if _canonical(reached) != _canonical(end):
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


def derive(outputs: Sequence[Variable], selection: Selection, once: bool = False) -> Derivation:
    """Normalise a graph under one selection and return the derivation.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    selection : Selection
        What to apply.
    once : bool
        Visit each node once.
    """
    phase = run_recorded(outputs, selection, once)
    return Derivation(phase.before, phase.after, (phase,))


def _flat(node: Variable) -> list[Variable]:
    """Return all operands of nested applications of one associative op, shared ones too."""
    found: list[Variable] = []
    stack = list(node.inputs)
    while stack and len(found) < 100_000:
        x = stack.pop()
        if x.op is node.op and x.type.dtype == node.type.dtype and x.type.dtype.kind != "b":
            stack.extend(x.inputs)
        else:
            found.append(x)
    return found


def _is_ac(op: Op | None) -> bool:
    return op is not None and op.associative and op.commutative


def _canonical(node: Variable) -> Any:
    """Return a key that is equal for nodes equal up to bracketing and order at their root."""
    if _is_ac(node.op):
        return (node.op, frozenset(Counter(_flat(node)).items()))
    return node


def _check_types(number: int, step: Step) -> None:
    if not step.after.type.narrows(step.before.type):
        raise VerifyError(
            f"step {number} changes a type",
            [("before", step.before.type), ("after", step.after.type)],
        )


def _check_balance(number: int, step: Step) -> None:
    """Check that a step on a sum or product replaces just the terms it says."""
    if not _is_ac(step.before.op) or step.before in [f.taken[0] for f in step.firings]:
        return
    op = step.before.op
    left = Counter(_flat(step.before))
    for firing in step.firings:
        for x in firing.taken:
            left.subtract(_flat(x) if x.op is op else [x])
        result = firing.result
        left.update(_flat(result) if result.op is op else [result])
    after = step.after
    if +left != Counter(_flat(after) if after.op is op else [after]):
        raise VerifyError(
            f"step {number} gains or loses a term", {"before": step.before, "after": after}
        )


def _check_firing(number: int, firing: Firing, relations: Mapping[str, Relation]) -> None:
    """Check that kanren relates what a firing took to what it made."""
    relation = relations.get(firing.rewrite.relation)
    if relation is None:
        return  # a transform written in Python has no relation to be asked
    taken = firing.taken
    if len(taken) == 1:
        candidates = [taken[0]] if not _is_ac(taken[0].op) else list(_orders(taken[0]))
        candidates = [y for x in candidates for y in _inner_orders(x)]
    else:
        # Terms gathered together are gathered in pairs: every two neighbours are an instance.
        op = _common_op(firing)
        gathered = isinstance(firing.rewrite.pattern, Block)
        pairs = list(pairwise(taken)) if gathered else [taken]
        for pair in pairs:
            if not any(_answers(relation, x) for x in _nested_orders(op, pair)):
                raise _no_answer(number, firing)
        return
    if not any(_answers(relation, x) for x in candidates):
        raise _no_answer(number, firing)


def _common_op(firing: Firing) -> Op:
    pattern = firing.rewrite.pattern
    op: Op = pattern.op
    return op


def _answers(relation: Relation, node: Variable) -> bool:
    return answer(relation, node) is not None


def _nested_orders(op: Op, operands: Sequence[Variable]) -> Iterator[Variable]:
    """Yield every order and both bracketings of up to three operands."""
    for order in permutations(operands):
        left = order[0]
        for x in order[1:]:
            left = apply(op, (left, x))
        yield from _inner_orders(left)
        if len(order) == 3:
            yield apply(op, (order[0], apply(op, order[1:])))


def _orders(node: Variable) -> Iterator[Variable]:
    assert node.op is not None
    operands = _flat(node)
    if len(operands) <= 3:
        yield from _nested_orders(node.op, operands)
    yield node


def _inner_orders(node: Variable, depth: int = 3) -> Iterator[Variable]:
    """Yield a node with the operands of its inner commutative applications in every order."""
    if depth == 0 or not isinstance(node, Apply):
        yield node
        return
    choices: list[list[Variable]] = []
    for x in node.inputs:
        options: dict[Variable, None] = {x: None}
        if isinstance(x, Apply):
            for y in list(_inner_orders(x, depth - 1))[:12]:
                options[y] = None
                if y.op is not None and y.op.commutative and len(y.inputs) == 2:
                    options[apply(y.op, y.inputs[::-1])] = None
                    if _is_ac(y.op) and 2 < len(_flat(y)) <= 4:
                        options.update(dict.fromkeys(_first_and_rest(y)))
        choices.append(list(options))
    count = 0
    stack: list[tuple[Variable, ...]] = [()]
    while stack and count < 256:
        chosen = stack.pop()
        if len(chosen) == len(choices):
            count += 1
            yield apply(node.op, chosen)
            if node.op.commutative and len(chosen) == 2:
                yield apply(node.op, chosen[::-1])
        else:
            stack.extend((*chosen, x) for x in reversed(choices[len(chosen)]))


def _first_and_rest(node: Variable) -> Iterator[Variable]:
    """Yield the ways to split a sum or product into one operand and the combined rest."""
    assert node.op is not None
    operands = _flat(node)
    for i, first in enumerate(operands):
        others = operands[:i] + operands[i + 1 :]
        for order in permutations(others):
            rest = order[0]
            for x in order[1:]:
                rest = apply(node.op, (rest, x))
            yield apply(node.op, (first, rest))
            yield apply(node.op, (rest, first))


def _no_answer(number: int, firing: Firing) -> VerifyError:
    return VerifyError(
        f"step {number}: kanren has no answer for this use of {firing.rewrite.relation}",
        [
            ("taken", ", ".join(map(brief, firing.taken))),
            ("made", brief(firing.result)),
            ("relation", firing.rewrite),
        ],
    )


def _replay(start: Variable, rules: Mapping[Any, Variable]) -> Variable:
    """Rewrite with ground equations only, innermost first."""
    done: dict[Variable, Variable] = {}
    stack = [start]
    budget = 1000 * (len(rules) + len(toposort(start)) + 1)
    while stack and budget:
        budget -= 1
        x = stack[-1]
        waiting = [y for y in x.inputs if y not in done]
        if x in done:
            stack.pop()
        elif waiting:
            stack.extend(waiting)
        else:
            inputs = tuple(done[y] for y in x.inputs)
            rebuilt = apply(x.op, inputs) if x.op is not None and inputs != x.inputs else x
            target = rules.get(_canonical(rebuilt), rebuilt)
            if target is x or target in done:
                done[x] = done.get(target, target)
                stack.pop()
            else:
                stack.append(target)
    return done.get(start, start)
