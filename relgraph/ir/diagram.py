"""A graph as a diagram: a box for each node, with its op, dtype and shape, and facts on hover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from relgraph.errors import count_of
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.graph import toposort, toposort_above
from relgraph.ir.infix import ATOM, brief, infix_text
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.printing import pprint
from relgraph.viz.svg import Diagram, Group, Node

NODES = 600  # of a diagram; larger graphs are drawn as regions
_REGION = 48  # nodes of a region
_LABEL = 36  # characters
_HOLE = "·"


class Frame(NamedTuple):
    """Nodes that belong together, such as those of a kernel, and what its label says."""

    label: str
    nodes: tuple[Variable, ...]


def diagram(
    outputs: Sequence[Variable],
    frames: Sequence[Frame] = (),
    *,
    marks: Mapping[Variable, str] | None = None,
    notes: Mapping[Variable, str] | None = None,
    caption: str = "",
    stops: Iterable[Variable] = (),
) -> Diagram:
    """Return the diagram of a graph.

    Parameters
    ----------
    outputs : sequence of Variable
        The results.
    frames : sequence of Frame
        Which nodes stand together; a node belongs to the first frame that has it.
    marks : mapping of Variable to str, optional
        Nodes that are "matched" or "new".
    notes : mapping of Variable to str, optional
        A line more for some nodes, such as the name of a buffer.
    caption : str
        What stands above.
    stops : iterable of Variable
        Nodes that are drawn without their operands.

    Returns
    -------
    Diagram
        Scalar constants stand in the label of the node that uses them.
    """
    ends = set(stops)
    order = [x for x in toposort_above(outputs, ends) if not _is_number(x) or x in outputs]
    place = {x: i for i, x in enumerate(order)}
    wanted, marked, noted = set(outputs), marks or {}, notes or {}
    nodes = [_node(x, x in wanted, marked.get(x, ""), noted.get(x, ""), x in ends) for x in order]
    edges = [(place[i], place[x]) for x in order if x not in ends for i in x.inputs if i in place]
    groups: list[Group] = []
    taken: set[Variable] = set()
    for frame in frames:
        own = [x for x in frame.nodes if x in place and x not in taken]
        taken.update(own)
        if own:
            groups.append(Group(frame.label, tuple([place[x] for x in own])))
    return Diagram(tuple(nodes), tuple(dict.fromkeys(edges)), tuple(groups), caption)


def _is_number(x: Variable) -> bool:
    return isinstance(x, Constant) and x.ndim == 0


def _node(x: Variable, output: bool, mark: str, note: str, end: bool) -> Node:
    kinds = [mark] if mark else []
    kinds += ["input"] if not x.inputs else []
    kinds += ["output"] if output else []
    text = brief(x, 5) if end else label(x)
    lines = [_cut(text), str(x.type), *([note] if note else [])]
    return Node(tuple(lines), described(x), tuple(kinds))


def label(x: Variable) -> str:
    """Return a node as text with dots for its operands; numbers stand as they are."""
    if x.op is None or not x.inputs:
        return infix_text(x, [])[0]
    if x.op.bodies:
        return x.op.name
    operands = [infix_text(i, []) if _is_number(i) else (_HOLE, ATOM) for i in x.inputs]
    return infix_text(x, operands)[0] if len(operands) <= 4 else f"{x.op.name} of {len(operands)}"


def described(x: Variable) -> str:
    """Return what shows on hover: the op, the type, the facts, and the expression."""
    kind = "input" if isinstance(x, Input) else "constant" if x.op is None else repr(x.op)
    names = sorted(facts_of(x).names()) if hasattr(x.type, "dtype") else []
    facts = [f"facts: {', '.join(names)}"] if names else []
    text = str(pprint(x)) if x.op is not None and x.op.bodies else brief(x, 40)
    return "\n".join([kind, str(x.type), *facts, text])


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[: _LABEL - 3]}..."


class Regions(NamedTuple):
    """A large graph in two levels: the diagram of its regions, and that of each region."""

    overview: Diagram
    regions: tuple[tuple[str, Diagram], ...]


def regions(
    outputs: Sequence[Variable], frames: Sequence[Frame] = (), prefix: str = "region"
) -> Regions:
    """Return a large graph as regions, each of which links to its own diagram.

    Parameters
    ----------
    outputs : sequence of Variable
        The results.
    frames : sequence of Frame
        The regions, such as kernels; by default runs of nodes in topological order.
    prefix : str
        What the names of links begin with, before a number for the graph.

    Returns
    -------
    Regions
        At most 600 boxes in the overview.
    """
    order = [x for x in toposort(outputs) if x.inputs]
    parts = list(frames) or _runs(order, max(_REGION, -(-len(order) // NODES)))
    if len(parts) > NODES:
        size = -(-len(parts) // NODES)
        parts = [
            Frame(f"{parts[i].label} ...", tuple(x for p in parts[i : i + size] for x in p.nodes))
            for i in range(0, len(parts), size)
        ]
    home = {x: k for k, part in enumerate(parts) for x in part.nodes}
    graph = crc32(" ".join(map(label, order)).encode())  # a notebook may show several
    nodes, edges, inside = [], {}, []
    for k, part in enumerate(parts):
        own = set(part.nodes)
        used = Counter(x.op.name for x in part.nodes if x.op is not None).most_common(3)
        most = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in used)
        link = f"{prefix}-{graph:08x}-{k}"
        lines = (_cut(part.label), count_of(len(own), "node"), _cut(most))
        nodes.append(Node(lines, "click to open", ("region",), link))
        outside = {i for x in part.nodes for i in x.inputs if i not in own}
        edges.update(dict.fromkeys((home[i], k) for i in outside if i in home))
        inner = {i for x in part.nodes for i in x.inputs}
        ends = [x for x in part.nodes if x not in inner] or [part.nodes[-1]]
        inside.append((link, diagram(ends, stops=outside, caption=part.label)))
    return Regions(Diagram(tuple(nodes), tuple(edges)), tuple(inside))


def _runs(order: Sequence[Variable], size: int) -> list[Frame]:
    """Return runs of nodes in topological order, so that regions never wait for each other."""
    return [
        Frame(f"region {k + 1}", tuple(order[i : i + size]))
        for k, i in enumerate(range(0, len(order), size))
    ]
