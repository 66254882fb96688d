"""Layered layout of a directed graph: Sugiyama's method on boxes of any size.

Layers are longest paths from the sources, long edges get a bend in each layer between, barycentres
order each layer, and coordinates are the least squares that keep the boxes apart.

References
----------
K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system
structures", IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

Edge = tuple[int, int]
Point = tuple[float, float]

GAP = 18.0  # between boxes of a layer
RISE = 34.0  # between layers
_SWEEPS = 8
_BENDS = 20_000  # with more bends than this, long edges are straight
_STIFFNESS = 4.0  # the weight of a bend beside that of a box: long edges are nearly straight


class Layout(NamedTuple):
    """Where boxes are: centres, the bends of each edge in order, and the size of the whole."""

    centres: list[Point]
    bends: dict[Edge, list[Point]]
    width: float
    height: float


def layered(sizes: Sequence[Point], edges: Sequence[Edge]) -> Layout:
    """Lay out boxes so that edges point downward.

    Parameters
    ----------
    sizes : sequence of (float, float)
        The width and height of each box.
    edges : sequence of (int, int)
        The pairs of boxes that are joined; an edge that would close a circle may point upward.

    Returns
    -------
    Layout
        The same for the same boxes and edges.
    """
    edges = [edge for edge in dict.fromkeys(edges) if edge[0] != edge[1]]
    rank = _ranks(len(sizes), edges)
    chains, widths, heights, rank = _with_bends(sizes, edges, rank)
    up: list[list[int]] = [[] for _ in widths]
    down: list[list[int]] = [[] for _ in widths]
    for chain in chains.values():
        for a, b in pairwise(chain):
            down[a].append(b)
            up[b].append(a)
    layers: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for i, layer in enumerate(rank):
        layers[layer].append(i)
    _order(layers, up, down)
    x = _abscissas(layers, widths, up, down, len(sizes))
    y: list[float] = [0.0] * len(widths)
    top = 0.0
    for row in layers:
        height = max([heights[i] for i in row], default=0.0)
        for i in row:
            y[i] = top + height / 2
        top += height + RISE
    left = min([x[i] - widths[i] / 2 for i in range(len(x))], default=0.0)
    x = [value - left for value in x]
    return Layout(
        [(x[i], y[i]) for i in range(len(sizes))],
        {edge: [(x[i], y[i]) for i in chain[1:-1]] for edge, chain in chains.items()},
        max([x[i] + widths[i] / 2 for i in range(len(x))], default=0.0),
        max(top - RISE, 0.0),
    )


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the layer of each box: below its operands, and sources just above their first user."""
    clients: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        clients[a].append(b)
        waiting[b] += 1
    rank, sources = [0] * count, [i for i in range(count) if not waiting[i]]
    ready, done = list(sources), [False] * count
    rest = iter(range(count))
    for _ in range(count):
        if not ready:  # a circle: begin with its first box
            ready.append(next(i for i in rest if not done[i]))
        i = ready.pop()
        done[i] = True
        for j in clients[i]:
            if not done[j]:
                rank[j] = max(rank[j], rank[i] + 1)
                waiting[j] -= 1
                if not waiting[j]:
                    ready.append(j)
    for i in sources:
        if clients[i]:
            rank[i] = max(min(rank[j] for j in clients[i]) - 1, 0)
    return rank


def _with_bends(
    sizes: Sequence[Point], edges: Sequence[Edge], rank: list[int]
) -> tuple[dict[Edge, list[int]], list[float], list[float], list[int]]:
    """Return each edge as a chain of boxes and bends, with the sizes and layers of all of them."""
    widths, heights = [w for w, _ in sizes], [h for _, h in sizes]
    rank = list(rank)
    bent = sum(max(rank[b] - rank[a] - 1, 0) for a, b in edges) <= _BENDS
    chains: dict[Edge, list[int]] = {}
    for a, b in edges:
        chain = [a]
        for layer in range(rank[a] + 1, rank[b]) if bent else ():
            chain.append(len(rank))
            rank.append(layer)
            widths.append(2.0)
            heights.append(0.0)
        chains[a, b] = [*chain, b]
    return chains, widths, heights, rank


def _order(layers: list[list[int]], up: list[list[int]], down: list[list[int]]) -> None:
    """Sort each layer by the mean place of its neighbours, downward and upward in turn."""
    place: dict[int, float] = {}
    for row in layers:
        place.update((i, k / max(len(row), 1)) for k, i in enumerate(row))
    for sweep in range(_SWEEPS):
        rows, near = (layers, up) if sweep % 2 == 0 else (layers[::-1], down)
        for row in rows:
            mean = {i: sum(map(place.__getitem__, n)) / len(n) for i in row if (n := near[i])}
            row.sort(key=lambda i: mean.get(i, place[i]))
            place.update((i, (k + 0.5) / len(row)) for k, i in enumerate(row))


def _abscissas(
    layers: list[list[int]],
    widths: list[float],
    up: list[list[int]],
    down: list[list[int]],
    boxes: int,
) -> list[float]:
    """Return the horizontal centres: each box near the mean of its neighbours."""
    x = [0.0] * len(widths)
    for row in layers:
        _place(row, [0.0] * len(row), [1.0] * len(row), widths, x)
    for sweep in range(_SWEEPS):
        rows, near = (layers, up) if sweep % 2 == 0 else (layers[::-1], down)
        if sweep >= _SWEEPS - 2:
            near = [a + b for a, b in zip(up, down, strict=True)]
        for row in rows:
            wanted = [sum([x[j] for j in near[i]]) / len(near[i]) if near[i] else x[i] for i in row]
            weights = [(_STIFFNESS if i >= boxes else 1.0) if near[i] else 0.1 for i in row]
            _place(row, wanted, weights, widths, x)
    return x


def _place(
    row: list[int], wanted: list[float], weights: list[float], widths: list[float], x: list[float]
) -> None:
    """Put a row as close to the wanted centres as its order and gaps allow: isotonic regression."""
    offsets, at = [], 0.0
    for k, i in enumerate(row):
        at += (widths[row[k - 1]] + widths[i]) / 2 + GAP if k else 0.0
        offsets.append(at)
    pools: list[tuple[float, float, int]] = []  # the sum of weights, the weighted sum, the count
    for centre, weight, offset in zip(wanted, weights, offsets, strict=True):
        pool = (weight, weight * (centre - offset), 1)
        while pools and pools[-1][1] / pools[-1][0] > pool[1] / pool[0]:
            last = pools.pop()
            pool = (last[0] + pool[0], last[1] + pool[1], last[2] + pool[2])
        pools.append(pool)
    k = 0
    for weight, total, count in pools:
        for _ in range(count):
            x[row[k]] = total / weight + offsets[k]
            k += 1
