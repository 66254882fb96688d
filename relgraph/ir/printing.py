"""Printing whole graphs: infix statements, and a tree.  Shared nodes are named once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from relgraph.ir.bodies import body_names
from relgraph.ir.graph import outputs_of, toposort
from relgraph.ir.infix import infix_text
from relgraph.ir.node import Variable
from relgraph.viz.display import Displayed, Text


def pprint(outputs: Any, names: Iterable[str] | None = None) -> Text:
    """Return a graph as infix statements.

    A node with several users, or with a text longer than a line, gets a name.

    Parameters
    ----------
    outputs : Variable, iterable or dict of Variable, FunctionGraph or Function
        What to print; the last statements are the outputs.
    names : iterable of str, optional
        Names for the outputs; without them a single output is printed bare.

    Returns
    -------
    Text
        A str of one line a statement.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> y = rg.exp(x)
    >>> print(rg.pprint(y + y * 2))
    t0 = exp(x)
    t0 + t0 * 2
    """
    from relgraph.ir.statements import line_text, statements

    nodes = outputs_of(outputs)
    lines = statements(toposort(nodes), nodes)
    labels = [*[x.name for x in lines[: len(lines) - len(nodes)]], *(names or ())]
    labels += [""] * (len(lines) - len(labels))
    texts = [line_text(x, label) for label, x in zip(labels, lines, strict=True)]
    return Text("\n".join([x for text in texts for x in text]))


def dprint(outputs: Any) -> Text:
    """Return a graph as a tree, one node a line, with types; a shared node is expanded once.

    Parameters
    ----------
    outputs : Variable, iterable or dict of Variable, FunctionGraph or Function
        What to print.

    Returns
    -------
    Text
        A str of one line a node.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x", shape=(3,))
    >>> print(rg.dprint(rg.exp(x) + x))
    add [0] float64[3]
    ├─ exp [1] float64[3]
    │  └─ x float64[3]
    └─ x float64[3]
    """
    lines: list[str] = []
    labels: dict[Variable, int] = {}
    # (node or body with its op, depth marks of the line, marks for what is below)
    stack: list[tuple[Any, str, str]] = [(x, "", "") for x in reversed(outputs_of(outputs))]
    while stack:
        node, lead, below = stack.pop()
        if isinstance(node, _Part):
            lines.append(f"{lead}{node.title}")
            children: list[Any] = list(node.outputs)
        elif not node.inputs:
            lines.append(f"{lead}{infix_text(node, [])[0]} {node.type}")
            continue
        elif node in labels:
            lines.append(f"{lead}{node.op!r} [{labels[node]}] ...")
            continue
        else:
            labels[node] = len(labels)
            lines.append(f"{lead}{node.op!r} [{labels[node]}] {node.type}")
            children = [*_parts(node.op), *node.inputs]
        if len(below) > 3 * 40:  # past this depth, labels replace indentation
            below = below[: 3 * 40]
        for i, child in reversed(list(enumerate(children))):
            end = i == len(children) - 1
            stack.append(
                (child, below + ("└─ " if end else "├─ "), below + ("   " if end else "│  "))
            )
    return Text("\n".join(lines))


class _Part(NamedTuple):
    """A body of a loop, above its operands."""

    title: str
    outputs: tuple[Variable, ...]


def _parts(op: Any) -> list[_Part]:
    return [
        _Part(f"{name}({', '.join([x.name for x in body.graph.inputs])})", body.graph.outputs)
        for name, body in zip(body_names(op), op.bodies, strict=True)
    ]


def latex(what: Any) -> Text:
    r"""Return a graph or a relation as LaTeX, without dollar signs.

    Parameters
    ----------
    what : Variable, iterable or dict of Variable, FunctionGraph, Function or Relation
        A graph, whose shared nodes get names, of which the last 40 are written; or a relation,
        whose clauses are written as equations with their conditions.

    Returns
    -------
    Text
        A str: one formula, or lines in an ``aligned`` environment.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, x = rg.matrix("A"), rg.vector("x")
    >>> rg.latex(rg.inv(A.mT) @ rg.sqrt(x / 2))
    \left(A^{\top}\right)^{-1} \, \sqrt{\frac{x}{2}}
    """
    if isinstance(what, Displayed) and (written := what._latex()):
        return Text(written)
    from relgraph.ir import statements

    outputs = outputs_of(what)
    return Text(statements.latex(toposort(outputs), outputs))
