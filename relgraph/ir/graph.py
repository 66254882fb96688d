"""Walks over graphs, and the view of a graph with its inputs and outputs named.

Every walk keeps its own stack: none recurses with the depth of a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from relgraph.errors import (
    ArgumentError,
    DTypeError,
    ImmutableGraphError,
    ShapeError,
    kind_of,
    no_attribute,
)
from relgraph.ir.dispatch import traceable
from relgraph.ir.forks import cached_property
from relgraph.ir.node import (
    Apply,
    Input,
    Outputs,
    Variable,
    apply,
    as_outputs,
    flatten,
    graph_of,
    listed,
    toposort,
    unflatten,
)
from relgraph.ir.types import TensorType
from relgraph.porting import counterpart
from relgraph.viz.display import Displayed

if TYPE_CHECKING:
    from relgraph.viz.document import Element


def outputs_of(graph: Any) -> tuple[Variable, ...]:
    """Return the outputs of a graph, in any form in which users pass one.

    Parameters
    ----------
    graph : Variable, iterable or dict of Variable, FunctionGraph, or Function
        The graph.

    Returns
    -------
    tuple of Variable
        The outputs, in order.

    Raises
    ------
    ArgumentError
        For other objects, such as a function that has a graph for each signature.
    """
    if isinstance(graph, Variable):
        return (graph,)
    inner = graph if isinstance(graph, FunctionGraph) else getattr(graph, "graph", None)
    if isinstance(inner, FunctionGraph):
        return inner.outputs
    if callable(inner):
        raise ArgumentError(f"{graph!r} has a graph for each signature", fix=graph_of(graph))
    return as_outputs(graph.values() if isinstance(graph, Mapping) else graph)


def as_graph(graph: Any) -> FunctionGraph:
    """Return a graph in any form as a FunctionGraph, with its inputs if it has them in order.

    Parameters
    ----------
    graph : Variable, iterable or dict of Variable, FunctionGraph, or Function
        The graph.

    Returns
    -------
    FunctionGraph
        With its own inputs, or those that the outputs depend on.

    Raises
    ------
    ArgumentError
        As :func:`outputs_of` does.
    """
    outputs = outputs_of(graph)
    inner = None if isinstance(graph, Variable) else getattr(graph, "graph", graph)
    return inner if isinstance(inner, FunctionGraph) else FunctionGraph(None, outputs)


def free_inputs(outputs: Outputs) -> list[Input]:
    """Return the inputs a graph depends on, in the order in which they first occur."""
    return [node for node in toposort(outputs) if isinstance(node, Input)]


def map_nodes(
    outputs: Outputs, change: Callable[[Variable, tuple[Variable, ...]], Variable]
) -> tuple[Variable, ...]:
    """Rebuild a graph bottom-up; ``change(node, new_inputs)`` returns each node's image."""
    nodes = as_outputs(outputs)
    image: dict[Variable, Variable] = {}
    for node in toposort(nodes):
        image[node] = change(node, tuple([image[x] for x in node.inputs]))
    return tuple(image[node] for node in nodes)


def substitute(outputs: Outputs, mapping: Mapping[Variable, Variable]) -> tuple[Variable, ...]:
    """Return the outputs with each key of ``mapping`` replaced by its value, everywhere at once."""

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node in mapping:
            return mapping[node]
        if not inputs or all(map(_is, inputs, node.inputs)):
            return node
        assert node.op is not None
        return apply(node.op, inputs)

    return map_nodes(outputs, change)


def _is(a: object, b: object) -> bool:
    return a is b


class FunctionGraph(Displayed):
    """An immutable view of a graph: its inputs, in order, and its outputs.

    Properties that depend on the *users* of a node, such as its clients, belong here and not to the
    node.

    Parameters
    ----------
    inputs : iterable of Input, optional
        In calling order.  By default the free inputs in order of first occurrence.
    outputs : Variable or iterable of Variable
        The results.

    Raises
    ------
    ArgumentError
        If an input occurs twice, is not an Input, or shares its name with another one, or if the
        outputs depend on a missing input.
    """

    __slots__ = ("__dict__", "inputs", "outputs")

    inputs: tuple[Input, ...]
    outputs: tuple[Variable, ...]
    _order: tuple[Variable, ...]  # the nodes, operands first

    @traceable
    def __init__(self, inputs: Iterable[Variable] | None, outputs: Outputs) -> None:
        nodes = as_outputs(outputs)
        order = tuple(toposort(nodes))
        needed = [node for node in order if isinstance(node, Input)]
        declared = check_inputs(needed if inputs is None else inputs)
        names = set(declared)
        missing = [x for x in needed if x not in names]
        if missing:
            raise ArgumentError(
                f"the outputs depend on inputs that are not given: "
                f"{', '.join(x.name for x in missing)}",
                {"given": ", ".join(x.name for x in declared) or "none"},
                "Add them to the list of inputs.",
            )
        self._set(declared, nodes, order)

    def _set(
        self, inputs: tuple[Input, ...], outputs: tuple[Variable, ...], order: tuple[Variable, ...]
    ) -> None:
        for name, value in (("inputs", inputs), ("outputs", outputs), ("_order", order)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise ImmutableGraphError(
            f"a FunctionGraph cannot be changed: {name}",
            fix="graph.replace(old, new) returns a new graph.",
        )

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    if not TYPE_CHECKING:  # mypy reports missing attributes by itself

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(
                "FunctionGraph", name, dir(type(self)), counterpart("FunctionGraph", name)
            )

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (flatten((*self.inputs, *self.outputs)), len(self.inputs))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FunctionGraph):
            return NotImplemented
        return self.inputs == other.inputs and self.outputs == other.outputs

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs))

    def __repr__(self) -> str:
        return f"FunctionGraph({', '.join(map(repr, self.outputs))})"

    def _document(self) -> list[Element]:
        from relgraph.ir.statements import described

        return described(self._order, self.outputs)

    def _latex(self) -> str:
        from relgraph.ir.statements import latex

        return latex(self._order, self.outputs)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._order)

    def toposort(self) -> list[Variable]:
        """Return the nodes, operands before their clients.

        Returns
        -------
        list of Variable
            Each node once; the inputs that are used among them.
        """
        return list(self._order)

    @cached_property
    def clients(self) -> Mapping[Variable, tuple[tuple[Variable | str, int], ...]]:
        """Each node's users: ``(client, operand index)``, or ``("output", index)``."""
        users_of: dict[Variable, list[tuple[Variable | str, int]]] = {n: [] for n in self._order}
        for node in self._order:
            for index, operand in enumerate(node.inputs):
                users_of[operand].append((node, index))
        for index, node in enumerate(self.outputs):
            users_of[node].append(("output", index))
        return {node: tuple(users) for node, users in users_of.items()}

    @traceable
    def replace(self, old: Variable, new: Variable, check: bool = True) -> FunctionGraph:
        """Return the graph with ``new`` in place of ``old``.

        Parameters
        ----------
        old, new : Variable
            The node to replace and its replacement.
        check : bool
            Require the type of ``new`` to have the dtype of ``old`` and an equal or more exact
            shape.

        Returns
        -------
        FunctionGraph
            A new graph with the same inputs; this one does not change.

        Raises
        ------
        DTypeError, ShapeError
            When ``check`` is set and the types do not fit.
        ArgumentError
            When ``old`` is not in the graph.
        """
        return self.replace_all([(old, new)], check)

    @traceable
    def replace_all(
        self,
        pairs: Mapping[Variable, Variable] | Iterable[tuple[Variable, Variable]],
        check: bool = True,
    ) -> FunctionGraph:
        """Return the graph with several nodes replaced at once.

        Parameters
        ----------
        pairs : mapping, or iterable of pairs of Variable
            Each node to replace, with its replacement, which is used unchanged.
        check : bool
            As in :meth:`replace`.

        Returns
        -------
        FunctionGraph
            A new graph with the same inputs; this one does not change.

        Raises
        ------
        DTypeError, ShapeError
            When ``check`` is set and types do not fit.
        ArgumentError
            When a node is not in the graph, or has two replacements.

        Examples
        --------
        >>> import relgraph as rg
        >>> x, y = rg.vectors("x y")
        >>> rg.FunctionGraph([x, y], [x - y]).replace_all({x: y, y: x})
        FunctionGraph(y - x)
        """
        mapping: dict[Variable, Variable] = {}
        nodes = set(self._order)
        for pair in pairs.items() if isinstance(pairs, Mapping) else pairs:
            old, new = pair
            for node in (old, new):
                if not isinstance(node, Variable):
                    raise ArgumentError(
                        f"replace takes two nodes, and {node!r:.60} is {kind_of(node)}",
                        {"graph": self},
                        "Write graph.replace(old, new); rg.constant(...) wraps an array.",
                    )
            if old not in nodes:
                raise ArgumentError(
                    "the node to replace is not in the graph",
                    {"node": old, "graph": self},
                    "Take the node from the graph itself, which lacks nodes that were replaced "
                    "before.",
                )
            if mapping.setdefault(old, new) is not new:
                raise ArgumentError(
                    "a node has two replacements",
                    {"node": old, "first": mapping[old], "second": new},
                    "Replace each node once.",
                )
            if check and not new.type.narrows(old.type):
                raise _of_another_type(old, new)
        return with_outputs(self, substitute(self.outputs, mapping))


def with_outputs(graph: FunctionGraph, outputs: Iterable[Variable]) -> FunctionGraph:
    """Return a graph with the same inputs and other outputs; inputs that are new come last."""
    nodes = tuple(outputs)
    if nodes == graph.outputs:
        return graph
    order, known = tuple(toposort(nodes)), set(graph.inputs)
    new = [x for x in order if isinstance(x, Input) and x not in known]
    if new:
        return FunctionGraph([*graph.inputs, *new], nodes)
    other = object.__new__(FunctionGraph)
    other._set(graph.inputs, nodes, order)
    return other


def _of_another_type(old: Variable, new: Variable) -> DTypeError | ShapeError:
    types = (old.type, new.type)
    sizes = all(isinstance(x, TensorType) for x in types) and types[0].dtype == types[1].dtype
    return (ShapeError if sizes else DTypeError)(
        f"a replacement must have the {'shape' if sizes else 'dtype'} of the node that it replaces",
        [("old", f"{old} : {old.type}"), ("new", f"{new} : {new.type}")],
        f"{'Broadcast or reshape' if sizes else 'Cast'} the new node, or pass check=False.",
    )


def check_inputs(inputs: Iterable[Variable]) -> tuple[Input, ...]:
    """Return inputs as a tuple of distinct Inputs of distinct names, or raise ArgumentError."""
    nodes = (inputs,) if isinstance(inputs, Variable) else listed(inputs, "inputs")
    names: dict[str, Variable] = {}
    for position, node in enumerate(nodes):
        if not isinstance(node, Input):
            raise ArgumentError(
                f"input {position} is not an input of a graph: {node!r}",
                fix='Inputs are made by rg.tensor("x", ...), rg.vector, rg.matrix or rg.scalar.',
            )
        if node.name in names:
            if names[node.name] is node:
                raise ArgumentError(
                    f"the input {node.name!r} is given twice", fix="Name each input once."
                )
            raise ArgumentError(
                f"the name {node.name!r} names two different inputs",
                {"first": names[node.name].type, "second": node.type},
                "Give every input a different name.",
            )
        names[node.name] = node
    return tuple(x for x in nodes if isinstance(x, Input))


def _restore(flat: tuple[Any, ...], count: int) -> FunctionGraph:
    nodes = unflatten(flat)
    return FunctionGraph(nodes[:count], nodes[count:])


def toposort_above(outputs: Iterable[Variable], boundary: Collection[Variable]) -> list[Variable]:
    """Return the nodes from outputs down to a boundary, which is included, operands first."""
    if not boundary:
        return toposort(list(outputs))
    order: list[Variable] = []
    seen: set[Variable] = set()
    stack = [(x, False) for x in reversed(list(outputs))]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if node not in boundary:
                stack += [(x, False) for x in reversed(node.inputs) if x not in seen]
    return order


def is_tensor(node: Variable) -> bool:
    """Return True if a node is an array, not a tuple of arrays."""
    return isinstance(node.type, TensorType)


__all__ = [
    "Apply", "FunctionGraph", "Outputs", "as_outputs", "check_inputs", "flatten", "free_inputs",
    "is_tensor", "map_nodes", "substitute", "toposort", "toposort_above", "unflatten",
    "with_outputs",
]  # fmt: skip
