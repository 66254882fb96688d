"""The invariants of a graph, checked independently of the code that maintains them."""

from __future__ import annotations

from relgraph.errors import RelgraphError, VerifyError, count_of
from relgraph.ir.graph import Outputs, as_outputs, toposort
from relgraph.ir.node import Apply, Constant, Input, apply, constant, make_input
from relgraph.ir.types import TensorType

_FIX = "Build nodes by calling ops, and graphs by pickle or copy; none is made or changed by hand."


def verify(outputs: Outputs) -> None:
    """Check every node: kind, arity, type by its op's rule, and hash-consing.

    Parameters
    ----------
    outputs : Variable or iterable of Variable
        The graph.

    Raises
    ------
    VerifyError
        Naming the first node that breaks an invariant.
    """
    for node in toposort(as_outputs(outputs)):
        if isinstance(node, Input):
            problem = (
                "" if make_input(node.name, node.type, node.facts) is node else "is not interned"
            )
        elif isinstance(node, Constant):
            problem = ""
            if node.value.flags.writeable:
                problem = "has a writeable array"
            elif node.type is not TensorType(node.value.dtype, node.value.shape):
                problem = "has a type that is not its array's"
            elif constant(node.value) is not node:
                problem = "is not interned"
        elif isinstance(node, Apply):
            problem = _apply_problem(node)
        else:
            raise VerifyError(
                "a node is neither an input, a constant, nor an application",
                {"kind": type(node).__name__},
                _FIX,
            )
        if problem:
            raise VerifyError(f"a node {problem}", {"node": node, "type": node.type}, _FIX)


def _apply_problem(node: Apply) -> str:
    if node.op.arity is not None and len(node.inputs) != node.op.arity:
        return f"has {count_of(len(node.inputs), 'operand')}, and {node.op!r} takes {node.op.arity}"
    try:
        inferred = node.op.infer(*(x.type for x in node.inputs))
    except RelgraphError as error:
        return f"has operands that its op rejects: {error.what}"
    if inferred is not node.type:
        return f"has the type {node.type}, and its op infers {inferred}"
    return "" if apply(node.op, node.inputs) is node else "is not interned"
