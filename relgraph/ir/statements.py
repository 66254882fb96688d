"""A graph as statements: shared nodes are named once, and each node has its dtype and shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from relgraph.ir.infix import ATOM, infix_text
from relgraph.ir.latex import is_named, latex_of, name_latex, text_latex
from relgraph.viz.document import Element, Facts, Formula, Note

if TYPE_CHECKING:
    from relgraph.ir.node import Variable

WIDTH = 100  # characters of a statement, beyond which a part of it gets a name
SHOWN = 40  # statements of a display
_LAST = 10  # of these, the last ones if there are more
INPUTS = 12  # inputs of a display


class Statement(NamedTuple):
    """A node with its text; an output that no statement reads has no name."""

    name: str
    node: Variable
    text: str


def statements(
    order: Sequence[Variable], outputs: Sequence[Variable], taken: Mapping[Variable, str] = {}
) -> list[Statement]:
    """Return a graph as statements, of which the last ones are the outputs.

    Parameters
    ----------
    order : sequence of Variable
        The nodes, operands first.
    outputs : sequence of Variable
        The results.
    taken : mapping of Variable to str
        Nodes that have names already, which are written by them.

    Returns
    -------
    list of Statement
        A node with several users, or with a text longer than a line, has a name.
    """
    wanted = set(outputs)
    uses: dict[Variable, int] = dict.fromkeys(order, 0)
    for x in order:
        for operand in x.inputs:
            uses[operand] += 1
    texts: dict[Variable, tuple[str, int]] = {}
    lines: list[Statement] = []
    for x in order:
        text = infix_text(x, [texts[i] for i in x.inputs])
        last = x in wanted and uses[x] == 0
        if x in taken and not last:
            text = (taken[x], ATOM)
        elif x.inputs and not last and (uses[x] > 1 or len(text[0]) > WIDTH):
            name = f"t{len(taken) + len(lines)}"
            lines.append(Statement(name, x, text[0]))
            text = (name, ATOM)
        texts[x] = text
    return [*lines, *[Statement("", x, texts[x][0]) for x in outputs]]


def described(order: Sequence[Variable], outputs: Sequence[Variable]) -> list[Element]:
    """Return the display of a graph: its statements with types, and its inputs.

    Parameters
    ----------
    order : sequence of Variable
        The nodes, operands first.
    outputs : sequence of Variable
        The results.

    Returns
    -------
    list of Element
        At most 40 statements and 12 inputs.
    """
    every = statements(order, outputs)
    parts = [every] if len(every) <= SHOWN else [every[: SHOWN - _LAST], every[-_LAST:]]
    elements: list[Element] = []
    for part in parts:
        if elements:
            rest = len(every) - SHOWN
            elements.append(Note(f"... {rest} more statements; rg.pprint(graph) has all of them"))
        elements.append(Formula(latex_lines(part, every, typed=True), _text(part)))
    inputs: list[Any] = [x for x in order if is_named(x)]
    if inputs and not (len(outputs) == 1 and inputs == list(outputs)):
        rows = [(x.name, " ".join([str(x.type), *sorted(x.facts)])) for x in inputs[:INPUTS]]
        elements.append(Facts(tuple(rows)))
    if len(inputs) > INPUTS:
        elements.append(Note(f"... {len(inputs) - INPUTS} more inputs"))
    return elements


def latex(order: Sequence[Variable], outputs: Sequence[Variable]) -> str:
    """Return a graph as LaTeX: the last 40 statements at most."""
    every = statements(order, outputs)
    return Formula(latex_lines(every[-SHOWN:], every), "").latex


def latex_lines(
    kept: Sequence[Statement], every: Sequence[Statement], typed: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return statements as lines of a formula, with types if asked for."""
    names = {x.node: x.name for x in every if x.name}
    lines: list[tuple[str, str]] = []
    for name, node, _ in kept:
        written = latex_of(node, names=names) if name or node not in names else names[node]
        kind = rf" \quad {text_latex(f': {node.type}')}" if typed else ""
        lines.append((f"{name_latex(name)} =" if name else "", written + kind))
    return tuple(lines)


def _text(kept: Sequence[Statement]) -> str:
    texts = [f"{x.name} = {x.text}" if x.name else x.text for x in kept]
    width = min(max(map(len, texts), default=0), WIDTH)
    return "\n".join(
        f"{text:<{width}}  : {x.node.type}" for text, x in zip(texts, kept, strict=True)
    )
