"""The value that NumPy gives each node of an e-graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.search.egraph import EGraph, Node

Array = Any


def evaluated(egraph: EGraph, leaves: list[Array]) -> dict[int, Array]:
    """Return the value of each id, from the node that it was made for."""
    values: dict[int, Array] = {}
    for x, (node, shape) in enumerate(egraph.terms):  # operands come first
        values[x] = np.broadcast_to(value_of(node, leaves, values), shape)
    return values


def value_of(node: Node, leaves: list[Array], values: dict[int, Array]) -> Array:
    """Return the value of a node, given those of its factors."""

    def at(x: int, t: int, i: int) -> Array:
        value = values[x].T if t else values[x]
        return np.linalg.inv(value) if i else value

    match node[0]:
        case "leaf":
            return leaves[node[1]]
        case "eye":
            return np.eye(node[1])
        case "zero":
            return np.zeros(node[1:])
        case "ones":
            return np.ones((node[1], 1))
        case "rows":
            _, a, b, n = node
            return np.eye(n)[a:b]
        case "sum":
            return sum(float(c) * at(*factor) for factor, c in node[1])
        case "hadamard":
            result = 1.0
            for factor, e in node[1]:
                result = result * at(*factor) ** float(e)
            return result
        case "diag":
            return np.diag(at(*node[1]).ravel())
        case "diagonal":
            return np.diagonal(at(*node[1]))[:, None]
        case "det":
            return np.linalg.det(values[node[1]]).reshape(1, 1)
        case "product":
            result = np.eye(node[3]) if not node[2] else None
            for factor in node[2]:
                result = at(*factor) if result is None else result @ at(*factor)
            for x, e in node[1]:
                result = result * values[x].item() ** float(e)
            return result
    _, op, refs, details = node
    operands = []
    for (c, x, t, i), rank in zip(refs, details[1:], strict=True):
        value = float(c) * at(x, t, i)
        operands.append(value if rank == 2 else value.ravel() if rank == 1 else value.item())
    value = np.asarray(op.perform(*operands))
    return value if value.ndim == 2 else value.reshape(-1, 1)
