"""A graph as statements: shared nodes are named once, and each node has its dtype and shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from relgraph.ir.bodies import DOTS, argument_names, body_names, parameters, read_operands
from relgraph.ir.infix import ATOM, infix_text
from relgraph.ir.latex import call_latex, is_named, latex_of, name_latex, text_latex
from relgraph.viz.document import Code, Element, Facts, Formula, Note

if TYPE_CHECKING:
    from relgraph.ir.node import Variable

WIDTH = 100  # characters of a statement, beyond which a part of it gets a name
SHOWN = 40  # statements of a display
_LAST = 10  # of these, the last ones if there are more
INPUTS = 12  # inputs of a display
_READ = 20  # characters of an operand of a body, beyond which it gets a name


class Statement(NamedTuple):
    """A node with its text; an output that no statement reads has no name.

    Attributes
    ----------
    definitions : tuple of Definition
        The functions that the text calls: bodies of loops.
    """

    name: str
    node: Variable
    text: str
    definitions: tuple[Definition, ...] = ()


class Definition(NamedTuple):
    """The body of a loop or a choice as a function."""

    name: str
    parameters: str
    lines: list[Statement]
    result: str

    def text(self) -> list[str]:
        """Return the lines of the function."""
        inside = [x for line in self.lines for x in line_text(line)]
        head = f"def {self.name}({self.parameters}):"
        return [head, *[f"    {x}" for x in (*inside, f"return {self.result}")]]


def line_text(line: Statement, name: str | None = None) -> list[str]:
    """Return the lines of a statement, and of the functions that it calls."""
    label = line.name if name is None else name
    before = [x for definition in line.definitions for x in definition.text()]
    return [*before, f"{label} = {line.text}" if label else line.text]


def statements(
    order: Sequence[Variable], outputs: Sequence[Variable], whole: bool = False
) -> list[Statement]:
    """Return a graph as statements, of which the last ones are the outputs.

    Parameters
    ----------
    order : sequence of Variable
        The nodes, operands first.
    outputs : sequence of Variable
        The results.
    whole : bool
        Whether all bodies of loops are written as functions, rather than only long ones.

    Returns
    -------
    list of Statement
        A node with several users, or with a text longer than a line, has a name.
    """
    writer = _Writer(whole)
    lines, texts = writer.written(order, outputs, {})
    ends = {x.node: x for x in lines if not x.name}
    named = [x for x in lines if x.name]
    return [*named, *[ends.get(x, Statement("", x, texts[x][0])) for x in outputs]]


class _Writer:
    """The writer of the statements of a graph and of its bodies, which numbers their names."""

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self._names, self._functions = count(), count()

    def written(
        self,
        order: Sequence[Variable],
        outputs: Sequence[Variable],
        texts: dict[Variable, tuple[str, int]],
        inside: bool = False,
    ) -> tuple[list[Statement], dict[Variable, tuple[str, int]]]:
        """Return the statements of a graph or a body, and the texts of all nodes.

        ``texts`` has those of some inputs.  The results of a body are in one statement, so one that
        occurs twice has a name.
        """
        wanted = set(outputs)
        uses: dict[Variable, int] = dict.fromkeys(order, 0)
        for node in (*[i for x in order for i in x.inputs], *(outputs if inside else ())):
            uses[node] += 1
        lines: list[Statement] = []

        def named(x: Variable, text: str, definitions: tuple[Definition, ...] = ()) -> None:
            name = f"t{next(self._names)}"
            lines.append(Statement(name, x, text, definitions))
            texts[x] = (name, ATOM)

        for x in order:
            if x in texts:
                continue
            op: Any = x.op
            last = x in wanted and uses[x] == inside
            text, rank = infix_text(x, [texts[i] for i in x.inputs])
            if op is not None and op.bodies and (self.whole or DOTS in text or len(text) > WIDTH):
                for operand in read_operands(op, x.inputs):
                    if len(texts[operand][0]) > _READ:
                        named(operand, texts[operand][0])
                functions = self._definitions(op, [texts[i] for i in x.inputs])
                text = op.call([texts[i][0] for i in x.inputs], [d.name for d in functions])
                if not last:
                    named(x, text, functions)
                    continue
                lines.append(Statement("", x, text, functions))
            elif x.inputs and not last and (uses[x] > 1 or len(text) > WIDTH):
                named(x, text)
                continue
            texts[x] = text, rank
        return lines, texts

    def _definitions(self, op: Any, operands: Sequence[tuple[str, int]]) -> tuple[Definition, ...]:
        """Return the bodies of a loop as functions."""
        definitions = []
        number, read = next(self._functions), read_operands(op, operands)
        for name, body in zip(body_names(op), op.bodies, strict=True):
            graph = body.graph
            names = argument_names(op, body, [text for text, _ in read])
            texts = {x: (text, ATOM) for x, text in names.items()}
            texts.update(zip(graph.inputs[op.own :], read, strict=True))
            lines, texts = self.written(graph.toposort(), graph.outputs, texts, inside=True)
            result = op.returned(body, [texts[x][0] for x in graph.outputs])
            definitions.append(
                Definition(f"{name}{number}", parameters(body, names), lines, result)
            )
        return tuple(definitions)


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
    every = statements(order, outputs, whole=True)
    parts = [every] if len(every) <= SHOWN else [every[: SHOWN - _LAST], every[-_LAST:]]
    elements: list[Element] = []
    for part in parts:
        if elements:
            rest = len(every) - SHOWN
            elements.append(Note(f"... {rest} more statements; rg.pprint(graph) has all of them"))
        functions = [x for line in part for d in line.definitions for x in d.text()]
        elements += [Code("\n".join(functions))] if functions else []
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
    every = statements(order, outputs, whole=True)
    return Formula(latex_lines(every[-SHOWN:], every), "").latex


def latex_lines(
    kept: Sequence[Statement], every: Sequence[Statement], typed: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return statements as lines of a formula, with types if asked for."""
    names = {x.node: x.name for x in every if x.name}
    lines: list[tuple[str, str]] = []
    for name, node, _, definitions in kept:
        if definitions:
            written = _call_latex(node, definitions, names)
        else:
            written = latex_of(node, names=names) if name or node not in names else names[node]
        kind = rf" \quad {text_latex(f': {node.type}')}" if typed else ""
        lines.append((f"{name_latex(name)} =" if name else "", written + kind))
    return tuple(lines)


def _call_latex(
    node: Variable, definitions: Sequence[Definition], names: Mapping[Variable, str]
) -> str:
    """Return a loop as a call with the names of its bodies."""
    op: Any = node.op
    operands = node.inputs[: len(node.inputs) - len(read_operands(op, node.inputs))]
    texts = [name_latex(names[x]) if x in names else latex_of(x, names=names) for x in operands]
    arguments = [*[name_latex(d.name) for d in definitions], *texts]
    return call_latex(op.name, [(x, ATOM) for x in arguments], ())[0]


def _text(kept: Sequence[Statement]) -> str:
    texts = [f"{x.name} = {x.text}" if x.name else x.text for x in kept]
    width = min(max(map(len, texts), default=0), WIDTH)
    return "\n".join(
        f"{text:<{width}}  : {x.node.type}" for text, x in zip(texts, kept, strict=True)
    )
