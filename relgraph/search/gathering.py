"""Common factors of the terms of a sum: distributivity, read from right to left.

A hash join finds the factors that terms share at their left or right end, as a scalar or
elementwise.  A few plans (each factor alone, all first factors, all last factors, and the cheapest
cover of all terms) stand for all subsets of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from relgraph.search.covers import cheapest_cover
from relgraph.search.egraph import EGraph
from relgraph.search.labels import Coefficient, Factor, Reference

SINGLE_GATHERS = 4  # up to so many common factors, each is tried alone

LEFT, RIGHT, SCALAR, ELEMENTWISE = "LRSH"  # where a factor stands

# Where a factor stands, and the factor; a third element marks that terms X = X I do not take part.
Key = tuple[Any, ...]


class Rest(NamedTuple):
    """What is left of a term without a factor: a sequence, or powers of an elementwise product."""

    coefficient: Coefficient
    powers: tuple[tuple[Reference, int], ...]
    seq: tuple[Reference, ...] | None
    form: int  # the id of the node that the term was read as
    whole: bool = False  # the term is the factor


Groups = dict[Key, dict[int, Rest]]


class Gather(NamedTuple):
    """A plan: the terms that are left, and factors with the terms that share them."""

    alone: list[Reference]
    groups: list[tuple[Key, dict[int, Rest]]]

    @property
    def instance(self) -> tuple[Any, ...]:
        """A key by which one plan is another."""
        return tuple([
            (key, tuple([(j, rest.form) for j, rest in group.items()]))
            for key, group in self.groups
        ])  # fmt: skip

    @property
    def is_elementwise(self) -> bool:
        """Whether elementwise products are gathered."""
        return bool(self.groups[0][0][0] == ELEMENTWISE)

    def total(self, egraph: EGraph) -> Reference:
        """Return the sum with the factors in front of sums."""
        products = [_product_of(egraph, key, [*group.values()]) for key, group in self.groups]
        return egraph.sum([*self.alone, *products])


def gathers(egraph: EGraph, terms: Sequence[Reference]) -> Iterator[Gather]:
    """Yield plans to gather common factors of terms."""
    groups = _common_factors(egraph, terms)
    if not groups:
        return
    plans = [[key] for key in groups] if len(groups) <= SINGLE_GATHERS else []
    plans += [[key for key in groups if key[0] == side and len(key) == 2] for side in (LEFT, RIGHT)]
    if len(groups) > 1:
        plans.append(_cover(egraph, terms, groups))
    for plan in plans:
        taken: set[int] = set()
        chosen = []
        for key in sorted(plan, key=lambda key: (-len(groups[key]), key)):
            members = {j: rest for j, rest in groups[key].items() if j not in taken}
            if len(members) > 1:
                chosen.append((key, members))
                taken |= set(members)
        if chosen:
            yield Gather([term for j, term in enumerate(terms) if j not in taken], chosen)


def _common_factors(egraph: EGraph, terms: Sequence[Reference]) -> Groups:
    """Return the factors that several terms share, and the remaining factors of those terms."""
    buckets: Groups = defaultdict(dict)
    equal: dict[Factor, list[tuple[int, Rest]]] = defaultdict(list)
    for j, term in enumerate(terms):
        for side, ref, rest in _readings(egraph, term):
            c, *factor = egraph.canonical(ref)
            rest = rest if c == 1 else rest._replace(coefficient=c * rest.coefficient)
            buckets[side, tuple(factor)].setdefault(j, rest)
        c, *factor = egraph.canonical(term)
        equal[tuple(factor)].append((j, Rest(c, (), None, term[1], True)))  # type: ignore[index]
    for (side, factor), group in buckets.items():  # X itself is X I
        if side == LEFT and 1 in egraph.classes[factor[0]].shape:
            continue
        for j, rest in equal.get(factor, ()):
            if j not in group:
                one = egraph.eye(egraph.shape(terms[j])[side == LEFT])
                group[j] = rest._replace(seq=None if side == ELEMENTWISE else (one,))
    groups = {key: group for key, group in buckets.items() if len(group) > 1}
    for key, group in list(groups.items()):  # and the same without X I
        strict = {j: rest for j, rest in group.items() if not rest.whole}
        if 1 < len(strict) < len(group):
            groups[*key, "strict"] = strict
    return groups


def _readings(egraph: EGraph, term: Reference) -> Iterator[tuple[str, Reference, Rest]]:
    """Yield the factors of a term, each with its place and the remaining factors."""
    for c, powers, seq, n, form in egraph.products(term):
        if len(seq) > 1:
            yield LEFT, seq[0], Rest(c, powers, seq[1:], form)
            yield RIGHT, seq[-1], Rest(c, powers, seq[:-1], form)
        elif seq:
            m, k = egraph.shape(seq[0])
            yield LEFT, seq[0], Rest(c, powers, (egraph.eye(k),), form)
            yield RIGHT, seq[0], Rest(c, powers, (egraph.eye(m),), form)
        for x, e in powers:
            if e > 0:
                yield SCALAR, x, Rest(c, _without(powers, x), seq or (egraph.eye(n),), form)
    for c, factors, form in egraph.hadamards(term):
        for x, e in factors:
            if e > 0:
                yield ELEMENTWISE, x, Rest(c, _without(factors, x), None, form)


def _without(
    powers: Sequence[tuple[Reference, int]], x: Reference
) -> tuple[tuple[Reference, int], ...]:
    """Return a product of powers divided by one of its bases."""
    return tuple([(y, e - (y == x)) for y, e in powers if e - (y == x)])


def _product_of(egraph: EGraph, key: Key, rests: Sequence[Rest]) -> Reference:
    """Return the product of a common factor and the sum of the remaining factors."""
    side, factor = key[0], (1, *key[1])
    if side == ELEMENTWISE:
        inner = [
            egraph.scaled(rest.coefficient, egraph.hadamard(rest.powers))
            if rest.powers
            else egraph.number(rest.coefficient, *egraph.shape(factor))
            for rest in rests
        ]
        return egraph.hadamard([(factor, 1), (egraph.sum(inner), 1)])
    way = -1 if side == RIGHT else 1
    common = [factor]  # the longest common beginning or end
    seqs = [(rest.seq or ())[::way] for rest in rests]
    while side != SCALAR and all(len(seq) > 1 and egraph.same(seq[0], seqs[0][0]) for seq in seqs):
        common.append(seqs[0][0])
        seqs = [seq[1:] for seq in seqs]
    parts = [
        egraph.product(rest.coefficient, rest.powers, seq[::way])
        for rest, seq in zip(rests, seqs, strict=True)
    ]
    total = egraph.sum(parts)
    if side == SCALAR:
        return egraph.product(1, ((factor, 1),), (total,))
    return egraph.product(1, (), [*common, total][::way])


def _cover(egraph: EGraph, terms: Sequence[Reference], groups: Groups) -> list[Key]:
    """Return the cheapest gathers that take every term: each is an edge of its two factors."""
    left, right = ([key for key in groups if key[0] == side] for side in (LEFT, RIGHT))
    m, n = map(egraph.extent, egraph.shape(terms[0]))
    price = {}
    for key in left + right:  # about what one product by the factor costs
        a, b = map(egraph.extent, egraph.classes[egraph.find(key[1][0])[1]].shape)
        price[key] = a * b * (n if key[0] == LEFT else m)
    edges = {a: [b for b in right if groups[a].keys() & groups[b].keys()] for a in left}
    needed = cheapest_cover(left, right, price, edges)
    covered = {j for key in needed for j in groups[key]}
    return needed + [key for key in left + right if not set(groups[key]) & covered]
