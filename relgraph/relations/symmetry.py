"""Symmetry: operands of a pattern that are interchangeable in every match.

``exp(a) * exp(b) * exp(c) = exp(a + b + c)`` matches three operands in any order, so a matcher
tries each set of them once.
"""

from __future__ import annotations

from collections import Counter

from relgraph.ir.op import Op
from relgraph.relations.clause import Rewrite, renamed_among, up_to_laws
from relgraph.relations.pattern import (
    OpPattern,
    PatternNode,
    PatternVariable,
    Term,
    rename,
    same_term,
    subterms,
    variables,
)

Image = dict[PatternVariable, PatternVariable]


def exchange(rewrite: Rewrite, a: Term, b: Term) -> Image | None:
    """Return how to rename variables to exchange two operands of one application in a pattern.

    The variables of both operands, possibly none, are mapped to those that take their places.  None
    means that a match would not remain a match.
    """
    if not isinstance(a, PatternNode) or not isinstance(b, PatternNode) or a.op != b.op:
        if isinstance(a, bool | int | float) and same_term(a, b):
            return {}
        return None
    image = _renaming(a, b)
    if not image:
        return image
    inside, whole = _occurrences(a) + _occurrences(b), _occurrences(rewrite.pattern)
    if any(inside[v] != whole[v] for v in image):
        return None
    if any(
        (v.name in rewrite.broadcast) != (w.name in rewrite.broadcast) for v, w in image.items()
    ):
        return None
    if up_to_laws(rename(rewrite.result, lambda v: image.get(v, v))) != up_to_laws(rewrite.result):
        return None
    for c in rewrite.conditions:
        moved = any(v in image for x in c.args for v in variables(x))
        if moved and renamed_among(rewrite.conditions, c, image) is None:
            return None
    return image


def _renaming(a: Term, b: Term) -> Image | None:
    """Return the variables in which two terms differ, in both directions; None if more differs."""
    image: Image = {}
    stack = [(a, b)]
    while stack:
        x, y = stack.pop()
        if isinstance(x, PatternVariable) and isinstance(y, PatternVariable):
            if image.setdefault(x, y) != y or image.setdefault(y, x) != x:
                return None
        elif isinstance(x, PatternNode) and isinstance(y, PatternNode):
            if len(x.args) != len(y.args):
                return None
            stack.extend(zip(x.args, y.args, strict=True))
            if isinstance(x.op, OpPattern) and isinstance(y.op, OpPattern):
                if x.op.cls is not y.op.cls:
                    return None
                stack.extend(zip(x.op.params, y.op.params, strict=True))
            elif x.op is not y.op:
                return None
        elif not same_term(x, y):
            return None
    return {v: w for v, w in image.items() if v != w}


def _occurrences(term: Term) -> Counter[PatternVariable]:
    """Return how often each variable occurs in a term, parameters included."""
    counts: Counter[PatternVariable] = Counter()
    for x in subterms(term):
        if isinstance(x, PatternVariable):
            counts[x] += 1
        elif isinstance(x, PatternNode) and not isinstance(x.op, Op):
            counts.update(p for p in x.op.params if isinstance(p, PatternVariable))
    return counts
