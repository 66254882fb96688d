"""The display of a derivation: for each step what changed, in its context, shared nodes named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from relgraph.errors import count_of
from relgraph.ir.cost import compared_flops
from relgraph.ir.graph import substitute, toposort
from relgraph.ir.infix import brief
from relgraph.ir.latex import latex_of, name_latex
from relgraph.ir.node import Variable
from relgraph.rewriting.derivation.changes import change_of
from relgraph.rewriting.derivation.passes import Pass
from relgraph.viz.document import Element, Formula, Heading, Note, text

if TYPE_CHECKING:
    from relgraph.rewriting.derivation.derivation import Derivation, Phase, Step

Outputs = tuple[Variable, ...]

LINES = 200  # of a display
HOLE = "[.]"  # what stands for the changed part in its context
_NODES = 40  # of a line
_WIDTH = 72  # characters of a line, beyond which its unchanged parts get names
_SHORT = 12  # characters of a part that gets no name
_OUTPUTS = 8  # of a graph
_DETAILS = 12  # lines of a pass
_DEFINITIONS = 6  # of names before one line
_LEVELS = 3  # of a context
_FOLLOWED = 250_000  # visits of nodes to find the contexts of all steps


class Frame(NamedTuple):
    """A step with the graph that it changes, if that is known."""

    number: int
    step: Step
    before: Outputs | None
    after: Outputs | None


def described(derivation: Derivation, lines: int | None = LINES) -> list[Element]:
    """Return the display of a derivation.

    Parameters
    ----------
    derivation : Derivation
        The derivation.
    lines : int, optional
        How many lines to show; None for all steps.

    Returns
    -------
    list of Element
        The graph, the steps, the result, and what was not used.
    """
    names = Names()
    cost = compared_flops(derivation.before, derivation.after)
    count = len(derivation.steps)
    start = names.graph(derivation.before, "before")
    end: list[Element] = [
        Heading(f"result, {count_of(count, 'step')}, {cost}"),
        *names.graph(derivation.after, "after"),
        *[Note(f"not used: {name}, {reason}") for name, reason in derivation.unused],
    ]
    spare = None if lines is None else lines - _height([*start, *end])
    return [*start, *_shown(derivation, names, spare), *end]


def frames(phase: Phase, first: int = 1) -> Iterator[Frame]:
    """Yield the steps of a phase with the graphs before and after each, as far as they are known.

    A step is known in its graph if the node that it replaces is there; sums and products may be
    rearranged before that.
    """
    nodes = len(toposort(phase.before))
    followed = nodes * len(phase.steps) <= _FOLLOWED
    graph = phase.before
    for number, step in enumerate(phase.steps, first):
        if followed and step.before in set(toposort(graph)):
            after = substitute(graph, {step.before: step.after})
            yield Frame(number, step, graph, after)
            graph = after
        else:
            yield Frame(number, step, None, None)


def entries(derivation: Derivation) -> Iterator[Frame | Pass]:
    """Yield the steps of a derivation in their graphs, and the passes between them."""
    number = 1
    for phase in derivation.phases:
        if isinstance(phase, Pass):
            yield phase
        else:
            yield from frames(phase, number)
            number += len(phase.steps)


def _shown(derivation: Derivation, names: Names, spare: int | None) -> Iterator[Element]:
    """Yield the entries that fit into the lines that are left, and what the others were."""
    left = Counter(_uses(derivation))
    budget = 0 if spare is None else spare - 1
    for entry in entries(derivation):
        elements = names.entry(entry)
        height = _height(elements)
        if spare is not None and height > budget:
            break
        budget -= height
        left.subtract(_relations(entry))
        yield from elements
    left = +left
    if left:
        most = [f"{name} x{n}" for name, n in left.most_common(6)]
        more = f", {len(left) - 6} others" if len(left) > 6 else ""
        yield Note(
            f"... {count_of(left.total(), 'more use')}: {', '.join(most)}{more}; "
            "derivation.text(lines=None) shows all steps"
        )


def _uses(derivation: Derivation) -> Iterator[str]:
    """Yield the relations of each step, and the names of passes."""
    for phase in derivation.phases:
        if isinstance(phase, Pass):
            yield phase.name
        else:
            yield from [name for step in phase.steps for name in step.relations]


def _relations(entry: Frame | Pass) -> tuple[str, ...]:
    return (entry.name,) if isinstance(entry, Pass) else entry.step.relations


def _height(elements: Iterable[Element]) -> int:
    return len(text(elements).splitlines())


class Names:
    """The names of the nodes that a display has named so far, each of which it defines once."""

    def __init__(self) -> None:
        self._names: dict[Variable, str] = {}

    def graph(self, outputs: Outputs, which: str) -> list[Element]:
        """Return whole graphs, with their shared nodes named where they are long."""
        elements: list[Element] = []
        for x in outputs[:_OUTPUTS]:
            defined = self._name(_repeated(toposort(x))) if len(brief(x)) > _WIDTH else []
            elements += [*defined, self._line("    ", "", x)]
        if len(outputs) > _OUTPUTS:
            rest = len(outputs) - _OUTPUTS
            elements.append(Note(f"    ... {count_of(rest, 'more output')} {which}"))
        return elements

    def entry(self, entry: Frame | Pass) -> list[Element]:
        """Return a step or a pass."""
        if isinstance(entry, Pass):
            cost = compared_flops(entry.before, entry.after)
            elements: list[Element] = [Heading(f"   {entry.name}, a pass: {cost}")]
            if entry.details:
                details = entry.details[:_DETAILS]
                return [*elements, *[Note(x) for x in details]]
            pairs = [(x, y) for x, y in zip(entry.before, entry.after, strict=True) if x is not y]
            for old, new in pairs[:_OUTPUTS]:
                elements += self.change(old, new)
            return elements
        return self.step(entry.step, f"{entry.number}. ", context(entry, self._names))

    def step(self, step: Step, number: str = "", place: str = "") -> list[Element]:
        """Return a step: its relations, the place in the graph, and what changed."""
        times = f" x{step.uses}" if step.uses > 1 else ""
        where = f", in {place}" if place else ""
        heading = Heading(f"{number}{', '.join(step.relations)}{times}{where}")
        return [heading, *self.change(step.before, step.after)]

    def change(self, before: Variable, after: Variable) -> list[Element]:
        """Return two equal graphs; what both contain is named where they are long."""
        defined: list[Element] = []
        if max(len(brief(x, _NODES, self._names)) for x in (before, after)) > _WIDTH:
            change = change_of(before, after)
            repeated = _repeated([*reversed(change.removed), *reversed(change.added)])
            defined = self._name([x for x in (*change.kept, *repeated) if x.inputs])
        sides = [brief(x, _NODES, self._names) for x in (before, after)]
        left, right = [latex_of(x, _NODES, self._names) for x in (before, after)]
        formula = Formula((("", left), ("=", right)), f"    {sides[0]}\n  = {sides[1]}")
        return [*defined, formula]

    def _name(self, nodes: Iterable[Variable]) -> list[Element]:
        """Name nodes that are long and have no name, and return the definitions."""
        elements: list[Element] = []
        for x in nodes:
            if x in self._names or len(brief(x, _NODES, self._names)) <= _SHORT:
                continue
            name = f"t{len(self._names)}"
            elements.append(self._line("    ", name, x))
            self._names[x] = name
            if len(elements) == _DEFINITIONS:
                break
        return elements

    def _line(self, indent: str, name: str, node: Variable) -> Element:
        written = brief(node, _NODES, self._names)
        label = f"{name} = " if name else ""
        left = f"{name_latex(name)} =" if name else ""
        latex = latex_of(node, _NODES, self._names)
        return Formula(((left, latex),), f"{indent}{label}{written}")


def _repeated(nodes: Iterable[Variable]) -> list[Variable]:
    """Return the nodes that have several users among some nodes, which come operands first."""
    uses: Counter[Variable] = Counter()
    for x in nodes:
        uses.update(x.inputs)
    return [x for x, count in uses.items() if x.inputs and count > 1]


def context(frame: Frame, names: Mapping[Variable, str]) -> str:
    """Return what surrounds the node that a step replaces; "" for a whole output."""
    if frame.before is None:
        return ""
    node = top = frame.step.before
    known = {**names, node: HOLE}
    for _ in range(_LEVELS):
        users = [x for x in toposort(frame.before) if top in x.inputs]
        if len(users) != 1 or top in frame.before:
            break
        wider = brief(users[0], _NODES // 3, known)
        if HOLE not in wider:
            break
        top = users[0]
    return "" if top is node else brief(top, _NODES // 3, known)
