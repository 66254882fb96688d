"""A memo of kanren's answers by the shape of a node, so that it runs once for each shape.

A goal that only unifies the upper levels of a graph gives the same answer for every graph with
these levels.  So it runs on a skeleton that shows only these levels, and the memo keeps its answer
as a template.  If the goal reads deeper, the skeleton shows another level; if it reads something
that no skeleton has, such as a dtype or a fact, it runs on the nodes themselves.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from etuples.core import ExpressionTuple

from relgraph.errors import NonGroundError, RelgraphError
from relgraph.ir.etuple import is_open, not_a_graph
from relgraph.ir.node import Constant, Variable, as_literal, as_variable
from relgraph.ir.op import Op
from relgraph.relations.kanren.search import STEPS, State, Steps, reified, search, substitution
from relgraph.relations.kanren.skeleton import Atom, Looked, Outline, Skeleton, Watch
from relgraph.relations.pattern import fresh
from relgraph.relations.relation import Relation
from relgraph.rewriting.interpreter import TRIES, answer, placed

LEVELS = 3  # the most levels of applications that a skeleton shows
NODES = 64  # the most nodes of a skeleton
KEPT = 4096  # shapes remembered for one relation

_VALUES = (Op, Constant, bool, int, float, str, type(None))


class Template:
    """An answer for a skeleton: a ground term, to be built for any graph of that shape."""

    __slots__ = ("last", "steps")

    def __init__(self, term: Any) -> None:
        # A step calls the first of its parts on the others.  A part is a kind and a value: the
        # number of a node, the number of an earlier step, or any other object.
        self.steps: list[list[tuple[str, Any]]] = []
        numbers: dict[int, int] = {}
        stack = [term]
        while stack:
            x = stack[-1]
            waiting: list[Any] = []
            if isinstance(x, ExpressionTuple) and id(x) not in numbers:
                waiting = [y for y in x if isinstance(y, ExpressionTuple) and id(y) not in numbers]
                if not waiting:
                    self.steps.append([_part(y, numbers) for y in x])
                    numbers[id(x)] = len(self.steps) - 1
            if waiting:
                stack += waiting
            else:
                stack.pop()
        self.last = _part(term, numbers)

    def build(self, nodes: list[Variable]) -> Any:
        """Return the graph, or the number, for the nodes of an outline."""
        results: list[Any] = []
        sources = {"node": nodes, "step": results}
        for parts in self.steps:
            head, *rest = [v if k == "value" else sources[k][v] for k, v in parts]
            results.append(head(*rest))
        kind, value = self.last
        return value if kind == "value" else sources[kind][value]


def _part(x: Any, done: dict[int, int]) -> tuple[str, Any]:
    if isinstance(x, Skeleton | Atom):
        return "node", x.number
    if isinstance(x, ExpressionTuple):
        return "step", done[id(x)]
    if is_open(x):
        raise not_a_graph(x)
    if isinstance(x, _VALUES) or callable(x):
        return "value", x
    raise Looked


class Shapes:
    """A relation whose goal kanren runs, with its answers for the shapes seen so far."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.known: dict[Any, Template | None] = {}
        self.levels: dict[Any, int] = {}  # levels shown below a head; 0 if the goal needs nodes

    def answer(self, node: Variable) -> Variable | None:
        """Return kanren's first ground answer for a node that has the node's type, or None."""
        while levels := self.levels.get(node.op, 1):
            outline = Outline(node, levels)
            if outline.key in self.known:
                template = self.known[outline.key]
                if template is None:
                    return None
                try:
                    built = template.build(outline.nodes)
                    built = as_variable(as_literal(built), [node.dtype])
                    fitted = placed(self.relation, built, node)
                except RelgraphError:
                    break
                if fitted is None:
                    break
                return fitted
            self.levels[node.op] = self.learn(outline, levels)
        return answer(self.relation, node)

    def learn(self, outline: Outline, levels: int) -> int:
        """Run the goal on a skeleton; return how many levels to show below its head."""
        watch = Watch()
        template = None
        try:
            if len(outline.nodes) <= NODES:
                template = self._template(outline.skeleton(watch), watch)
            else:
                watch.looked = True
        except Exception:  # the goal raises it again on the nodes themselves
            watch.looked = True
        if watch.looked:
            return levels + 1 if watch.deeper and levels < LEVELS else 0
        if len(self.known) >= KEPT:
            self.known.clear()
        self.known[outline.key] = template
        return levels

    def _template(self, root: Skeleton, watch: Watch) -> Template | None:
        """Return the first ground answer for a skeleton."""
        q = fresh("q")
        steps = Steps(STEPS, watch)
        for state in islice(search(lambda: self.relation(root, q), steps), TRIES):
            steps.left = STEPS
            try:
                return Template(reified(q, State(substitution(state), steps)))
            except NonGroundError:
                continue
        return None
