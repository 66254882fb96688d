"""The cheapest vertex cover of a bipartite graph.

References
----------
D. Kőnig, Gráfok és mátrixok (1931): the cheapest cover is a minimum cut, found by a maximum flow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

Vertex = TypeVar("Vertex", bound=Hashable)


def cheapest_cover(
    left: Sequence[Vertex],
    right: Sequence[Vertex],
    price: Mapping[Vertex, float],
    edges: Mapping[Vertex, Collection[Vertex]],
) -> list[Vertex]:
    """Return the cheapest vertices that touch every edge.

    Parameters
    ----------
    left, right : sequence
        The two sides; no vertex is on both.
    price : mapping
        The positive price of each vertex.
    edges : mapping
        The neighbours on the right of each vertex on the left.

    Examples
    --------
    >>> cheapest_cover(["a", "b"], ["x"], {"a": 1, "b": 1, "x": 1}, {"a": ["x"], "b": ["x"]})
    ['x']
    """
    spare = dict(price)
    flow: dict[tuple[Vertex, Vertex], float] = defaultdict(float)
    back: dict[Vertex, list[Vertex]] = defaultdict(list)
    for a in left:
        for b in edges[a]:
            back[b].append(a)
    on_left = set(left)

    def reach() -> tuple[dict[Vertex, Vertex | None], Vertex | None]:
        """Search breadth first for a vertex on the right with spare capacity."""
        came: dict[Vertex, Vertex | None] = {a: None for a in left if spare[a] > 0}
        queue = list(came)
        for u in queue:
            for v in edges[u] if u in on_left else back[u]:
                if v in came or (u not in on_left and flow[v, u] <= 0):
                    continue
                came[v] = u
                queue.append(v)
                if u in on_left and spare[v] > 0:
                    return came, v
        return came, None

    while True:
        came, end = reach()
        if end is None:
            return [a for a in left if a not in came] + [b for b in right if b in came]
        path = []
        v = end
        while (u := came[v]) is not None:
            path.append((u, v))
            v = u
        amount = min([spare[v], spare[end], *[flow[y, x] for x, y in path if x not in on_left]])
        spare[v] -= amount
        spare[end] -= amount
        for x, y in path:
            if x in on_left:
                flow[x, y] += amount
            else:
                flow[y, x] -= amount
