"""Whether what kanren answered for one node holds for the ranks of its operands.

``(X @ y) @ Z`` and ``X @ (y @ Z)`` have one type and two values where ``y`` is a vector.  For
relations that are compiled :mod:`relgraph.relations.rank_classes` knows for which ranks they hold;
of a relation that kanren runs there are only instances.  An instance is tried in the same way: both
graphs are computed from random matrices in the place of what they have in common.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np

from relgraph.ir import forks
from relgraph.ir.fact_inference import fact
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.node import Constant, Variable, digest_of
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Matmul
from relgraph.relations.rank_classes import REFUSALS, TRIED, sample

KEPT = 4096  # shapes of instances that are remembered
_FACTS = ("positive", "nonnegative", "nonzero", *MATRIX_FACTS)
_remembered: OrderedDict[tuple[Any, ...], bool] = OrderedDict()
_lock = forks.lock()


def lawful(place: Variable, built: Variable, changed: Sequence[Variable]) -> bool:
    """Return True if a node and what was built for it agree for operands of their ranks.

    Parameters
    ----------
    place, built : Variable
        The node, and the answer for it.
    changed : sequence of Variable
        The applications that one of them has and the other has not.

    Returns
    -------
    bool
        True where neither has a product, where the node cannot be computed from random matrices,
        and where no ranks are found for which both agree: it holds of particular matrices then,
        which is the word of who declared it.
    """
    if not any(isinstance(x.op, Matmul) for x in changed):
        return True
    order = _ordered((place, built), set(changed))
    numbers = {x: i for i, x in enumerate(order)}
    leaves = list(dict.fromkeys(y for x in order for y in x.inputs if y not in numbers))
    numbers |= {x: len(order) + i for i, x in enumerate(leaves)}
    if built not in numbers or not all(isinstance(x.type, TensorType) for x in leaves):
        return True
    key = (
        numbers[built],
        *[(x.op, *[numbers[y] for y in x.inputs]) for x in order],
        *[x if _is_number(x) else (x.ndim, x.dtype, *_known(x)) for x in leaves],
    )
    with _lock:
        found = _remembered.get(key)
        if found is not None:
            _remembered.move_to_end(key)
            return found
    found = _holds(partial(_agree, place, built, order, leaves), leaves)
    with _lock:
        _remembered[key] = found
        while len(_remembered) > KEPT:
            _remembered.popitem(last=False)
    return found


def _holds(agree: Any, leaves: Sequence[Variable]) -> bool:
    """Return True if both sides agree for the ranks of the leaves, or for none at all."""
    if agree([x.ndim for x in leaves]) is not False:
        return True
    tries = islice(product((2, 1, 3, 0), repeat=len(leaves)), TRIED)
    return not any(agree(ranks) for ranks in tries)


def _ordered(roots: Iterable[Variable], inside: set[Variable]) -> list[Variable]:
    """Return some nodes below roots, operands first."""
    found: dict[Variable, None] = {}
    stack = [(x, False) for x in roots]
    while stack:
        x, done = stack.pop()
        if done:
            found[x] = None
        elif x in inside and x not in found:
            stack.append((x, True))
            stack.extend((y, False) for y in x.inputs)
    return list(found)


def _is_number(x: Variable) -> bool:
    return isinstance(x, Constant) and not x.ndim


def _known(x: Variable) -> tuple[str, ...]:
    return tuple(name for name in _FACTS if fact(x, name) is True)


def _agree(
    place: Variable,
    built: Variable,
    order: Sequence[Variable],
    leaves: Sequence[Variable],
    ranks: Sequence[int],
) -> bool | None:
    """Return True if both graphs have one value; None where the first one has none."""
    # An inverse that does not exist may be computed all the same, and some ops take SPD only.
    for more in (("invertible",), ("spd",)):
        rng = np.random.default_rng(abs(digest_of(tuple(ranks))) % 2**32)
        values: dict[Variable, Any] = {}
        for x, rank in zip(leaves, ranks, strict=True):
            if isinstance(x, Constant) and _is_number(x):
                values[x] = x.value
            else:
                values[x] = sample(rng, min(rank, 3), (*_known(x), *more)).astype(x.dtype)
        for x in order:
            op: Any = x.op
            if any(y not in values for y in x.inputs):
                continue
            with suppress(*REFUSALS), np.errstate(all="ignore"):
                values[x] = op.perform(*[values[y] for y in x.inputs])
        if place in values:
            return built in values and _equal(values[place], values[built])
    return None


def _equal(left: Any, right: Any) -> bool:
    return bool(
        np.shape(left) == np.shape(right)
        and np.allclose(left, right, rtol=1e-6, atol=1e-6, equal_nan=True)
    )
