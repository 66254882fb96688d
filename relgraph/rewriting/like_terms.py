"""Sums with signs: collecting like terms across additions, subtractions and negations.

``(a - b) + (c - a)`` is one sum of four terms, two of them negative.  If two terms share all but
their coefficients, a relation such as ``a x + b x = c x`` combines them, and the sum is rebuilt as
positive terms minus negative ones.  Otherwise the graph is unchanged, and :class:`Groups` and the
matchers of subtraction continue with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from relgraph.ir.node import Constant, Variable, apply, constant
from relgraph.ir.op import Op
from relgraph.relations import runtime
from relgraph.relations.nary import canonical, combined, uniform
from relgraph.relations.operand_index import Firing
from relgraph.rewriting.ac_normaliser import Groups
from relgraph.rewriting.budgets import CHAIN
from relgraph.rewriting.selection import Signed


class Term(NamedTuple):
    """A term of a sum: the part shared with like terms, its coefficient (None for 1), its sign."""

    shared: Variable
    coefficient: Constant | None
    negative: bool
    node: Variable


class Terms:
    """The terms of a normal sum, by their shared parts; ``flipped`` inverts all signs."""

    __slots__ = ("entries", "flipped")

    def __init__(self) -> None:
        self.entries: dict[Any, list[Term]] = {}
        self.flipped = False

    def add(self, key: Any, term: Term) -> bool:
        """Add a term; return True if it is not the first of its key."""
        if self.flipped:
            term = term._replace(negative=not term.negative)
        like = self.entries.get(key)
        if like is None:
            self.entries[key] = [term]
            return False
        like.append(term)
        return True

    def copy(self) -> Terms:
        """Return a copy of the terms that can change independently."""
        copy = Terms()
        copy.entries = {key: list(terms) for key, terms in self.entries.items()}
        copy.flipped = self.flipped
        return copy

    def signed(self) -> dict[Any, list[Term]]:
        """Return the terms with their signs."""
        if self.flipped:
            for key, terms in self.entries.items():
                self.entries[key] = [x._replace(negative=not x.negative) for x in terms]
            self.flipped = False
        return self.entries


class Sums(Groups):
    """The sums of one run, a layer between the driver and its groups."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.checked: set[Variable] = set()  # sums without like terms
        self.trees: dict[Variable, tuple[list[tuple[Variable, bool]], list[Variable]]] = {}
        self.terms: dict[Variable, Terms] = {}
        self.moved: set[Variable] = set()
        self.flips: dict[Variable, bool] = {}

    def collect(
        self, n: Variable, signed: Signed, push: Callable[[Variable], None]
    ) -> Variable | bool | None:
        """Collect the like terms of the sum below ``n``, once its terms are normal.

        Return the sum with fewer terms, True while terms wait to become normal, and None if there
        is nothing to do.
        """
        normal, family = self.normal, signed.family
        tree = self.trees.pop(n, None)
        if tree is None:
            a, b = n.inputs
            if (a.op in family and self.opens(a, n, signed)) or (
                b.op in family and self.opens(b, n, signed)
            ):
                tree = self.opened(n, signed)
                if tree is None:
                    self.checked.add(n)
                    return None
                waiting = [x for x, _ in tree[0] if x.inputs and x not in normal]
                if waiting:
                    self.trees[n] = tree
                    for x in waiting:
                        push(x)
                    if self.depth:
                        self.inherit(n, waiting)
                    return True
            else:
                x, y = normal.get(a, a), normal.get(b, b)
                taken = n.op is signed.difference
                scaled = taken and x.op is signed.element and y.op is signed.element
                if not (scaled or x.op in family or y.op in family):
                    return None
                if (a.inputs and a not in normal) or (b.inputs and b not in normal):
                    return None
                if not self.has_flips(n.op, x, y, signed):
                    return None
                tree = [(a, False), (b, taken)], []
        leaves, inner = tree
        terms, met = self.merged(n, leaves, signed)
        result = self.combined(n, terms, met, signed) if met else None
        if result is None:
            self.checked.add(n)
            self.checked.update(inner)
            self.terms[n] = terms
        return result

    def opens(self, x: Variable, n: Variable, signed: Signed) -> bool:
        """Return True if an operand is part of the sum ``n``."""
        dtype = n.type.dtype
        return (
            x.op in signed.family
            and x not in self.closed
            and x.type.dtype is dtype
            and dtype.kind in "fi"
            and uniform(x)
        )

    def opened(
        self, n: Variable, signed: Signed
    ) -> tuple[list[tuple[Variable, bool]], list[Variable]] | None:
        """Return the signed terms of an unchanged sum and its inner nodes, if it has signs."""
        if n.type.dtype.kind not in "fi" or not uniform(n):
            return None
        nested = self.nested(n, signed)
        if all([x.op is signed.op for x in nested]):
            return None
        terms: list[tuple[Variable, bool]] = []
        inner: list[Variable] = []
        stack = [(n, False)]
        while stack:
            x, negative = stack.pop()
            if x not in nested:
                terms.append((x, negative))
                continue
            inner.append(x)
            if len(x.inputs) == 1:
                stack.append((x.inputs[0], not negative))
            else:
                stack.append((x.inputs[1], negative != (x.op is signed.difference)))
                stack.append((x.inputs[0], negative))
        self.worked(len(terms), len(self.normal), n)
        return terms, inner[1:]

    def nested(self, root: Variable, signed: Signed) -> set[Variable]:
        """Return a sum and the sums nested in it; one that occurs twice is a term instead."""
        sums, twice = {root}, set[Variable]()
        waiting = [root]
        for parent in waiting:  # grows during the loop
            for x in parent.inputs:
                if x in sums:
                    twice.add(x)
                elif self.opens(x, root, signed):
                    sums.add(x)
                    waiting.append(x)
        return sums - twice

    def has_flips(self, op: Op | None, x: Variable, y: Variable, signed: Signed) -> bool:
        """Return True if a sum of normal operands contains anything but additions."""
        if op is signed.difference:
            return True
        flips = self.flips
        for root in (x, y):
            stack = [root]
            while stack:
                node = stack[-1]
                if node in flips or node.op not in signed.family:
                    stack.pop()
                    continue
                if node.op is not signed.op:
                    flips[node] = True
                    stack.pop()
                    continue
                waiting = [i for i in node.inputs if i.op in signed.family and i not in flips]
                if waiting:
                    stack.extend(waiting)
                    continue
                flips[node] = any([flips.get(i, False) for i in node.inputs])
                stack.pop()
        return flips.get(x, False) or flips.get(y, False)

    def merged(
        self, n: Variable, leaves: Sequence[tuple[Variable, bool]], signed: Signed
    ) -> tuple[Terms, set[Any]]:
        """Return the terms of a sum, and the keys that several terms share."""
        normal = self.normal
        parts: list[tuple[Variable, bool, Terms | None]] = []
        best = None
        for leaf, negative in leaves:
            x = normal.get(leaf, leaf)
            shared = leaf in self.closed  # it stays a single sum for all of its users
            inner = self.terms_of(x, signed) if not shared and self.opens(x, n, signed) else None
            if any([inner is y for _, _, y in parts if y is not None]):
                assert inner is not None
                inner = inner.copy()  # the other occurrence owns the terms
            if inner is not None and (best is None or len(inner.entries) > len(best.entries)):
                best = inner
            parts.append((x, negative, inner))
        result = Terms() if best is None else best
        met: set[Any] = set()
        base_negative = next((negative for _, negative, x in parts if x is best), False)
        if best is not None and base_negative:
            result.flipped = not result.flipped
        used = best is None
        for x, negative, inner in parts:
            if inner is None:
                key, term = self.term(x, negative, signed)
                if result.add(key, term):
                    met.add(key)
            elif inner is best and not used:
                used = True
                self.moved.add(x)
                self.terms.pop(x, None)
            else:
                for key, terms in inner.signed().items():
                    for term in terms:
                        if result.add(key, term._replace(negative=term.negative != negative)):
                            met.add(key)
        return result, met

    def terms_of(self, x: Variable, signed: Signed) -> Terms | None:
        """Return the terms of a normal sum; None if a larger sum has already absorbed them."""
        terms = self.terms.get(x)
        if terms is not None:
            return terms
        if x in self.moved:
            return None
        collected = Terms()
        stack, seen = [(x, False)], {x}
        while stack:
            node, negative = stack.pop()
            if node is not x and (node in seen or not self.opens(node, x, signed)):
                collected.add(*self.term(node, negative, signed))
                continue
            seen.add(node)
            if len(node.inputs) == 1:
                stack.append((node.inputs[0], not negative))
            else:
                stack.append((node.inputs[1], negative != (node.op is signed.difference)))
                stack.append((node.inputs[0], negative))
        self.worked(len(collected.entries), len(self.normal), x)
        self.terms[x] = collected
        return collected

    @staticmethod
    def term(x: Variable, negative: bool, signed: Signed) -> tuple[Any, Term]:
        """Return a term and its key, the part that it shares with like terms."""
        whole = x
        if x.op is signed.inverse:
            x, negative = x.inputs[0], not negative
        if x.__class__ is Constant:
            return Constant, Term(x, None, negative, whole)
        if x.op is signed.element:
            for c, rest in (x.inputs, x.inputs[::-1]):
                if isinstance(c, Constant) and not c.ndim and rest.type.dtype is x.type.dtype:
                    return canonical(rest), Term(rest, c, negative, whole)
        return canonical(x), Term(x, None, negative, whole)

    def combined(self, n: Variable, terms: Terms, met: set[Any], signed: Signed) -> Variable | None:
        """Return the sum with like terms combined, or None if no relation combines them."""
        entries = terms.signed()
        firings: list[Firing] = []
        by_key: dict[Any, Firing] = {}
        added = any([not x.negative for k, alike in entries.items() if k not in met for x in alike])
        for key in [k for k in entries if k in met]:
            # Subtract -5 y - y as 5 y + y if there is a term to subtract it from.
            subtracted = added and all(map(_subtracted, entries[key]))
            firing = self.firing(entries[key], n, signed, subtracted)
            if firing is not None and self.pays(n, signed.op, firing):
                firings.append(firing)
                by_key[key] = firing
        if not firings:
            return None
        positive, negative = _by_sign(entries, signed, by_key)
        if len(positive) > 1:
            _move_negative(positive, negative, signed)
        result = _difference(positive, negative, signed)
        self.logged(n, entries, result, firings, signed)
        return result

    def pays(self, n: Variable, op: Op, firing: Firing) -> bool:
        """Return True if a firing on terms of the sum ``n`` pays."""
        return self.accepts is None or self.accepts(n, op, firing.taken, firing.fired)

    def firing(
        self, alike: Sequence[Term], n: Variable, signed: Signed, subtracted: bool
    ) -> Firing | None:
        """Return the firing that combines like terms; ``subtracted`` if all are subtracted."""
        if alike[0].shared.op in signed.family:
            return None  # a sum that stays closed; relations on pairs may match it
        if subtracted:
            alike = [x._replace(negative=False) for x in alike]
        group = tuple([_with_sign(x, signed) for x in alike])
        if alike[0].shared.__class__ is Constant:
            fold = signed.matcher.fold
            return None if fold is None else fold(signed.op, group)
        dtype = n.type.dtype
        coefficients = [_coefficient(x, signed, dtype) for x in alike]
        like = runtime.instance(signed.op, group)
        for rule in signed.rules:
            built = rule.build((alike[0].shared, dtype), coefficients, like, group)
            if built is not None:
                return Firing(built[1], built[2], group, built[0], subtracted)
        return None

    def logged(
        self,
        n: Variable,
        entries: dict[Any, list[Term]],
        result: Variable,
        firings: Sequence[Firing],
        signed: Signed,
    ) -> None:
        """Log the step and charge it to the budgets."""
        name = firings[0].rewrite.relation
        self.why[n] = name
        self.firings += 1
        if self.firings > CHAIN:
            self.deepen(n, result, name)
        for firing in firings:
            self.charge(firing.rewrite, n)
        if self.log is None:
            return
        self.log(_difference(*_by_sign(entries, signed, {}), signed), result, firings)


def _unsigned(x: Term, signed: Signed) -> Variable:
    """Return a term without its sign."""
    return x.node.inputs[0] if x.node.op is signed.inverse else x.node


def _by_sign(
    entries: dict[Any, list[Term]], signed: Signed, made: dict[Any, Firing]
) -> tuple[list[Variable], list[Variable]]:
    """Return the added and the subtracted terms of a sum, with like terms combined."""
    positive: list[Variable] = []
    negative: list[Variable] = []
    for key, alike in entries.items():
        if key in made:
            firing = made[key]
            (negative if firing.subtracted else positive).append(firing.result)
            continue
        for x in alike:
            (negative if x.negative else positive).append(_unsigned(x, signed))
    return positive, negative


def _subtracted(x: Term) -> bool:
    """Return True if a term is subtracted and its coefficient is positive."""
    if not x.negative or x.shared.__class__ is Constant:
        return False
    return x.coefficient is None or bool(x.coefficient.value > 0)


def _with_sign(x: Term, signed: Signed) -> Variable:
    """Return a term as an operand of an addition."""
    node = _unsigned(x, signed)
    if not x.negative:
        return node
    if isinstance(node, Constant):
        return constant(-node.value)
    return apply(signed.inverse, (node,))


def _move_negative(positive: list[Variable], negative: list[Variable], signed: Signed) -> None:
    """Subtract terms that are added with a negative coefficient: ``a + -3 b`` is ``a - 3 b``."""
    for i in reversed(range(len(positive))):
        x = positive[i]
        if x.op is not signed.element or len(positive) == 1:
            continue
        c, rest = x.inputs
        if isinstance(c, Constant) and not c.ndim and c.value < 0 and -c.value > 0:
            del positive[i]
            negative.append(apply(signed.element, (constant(-c.value, c.dtype), rest)))


def _coefficient(x: Term, signed: Signed, dtype: Any) -> Constant:
    """Return the coefficient of a term, with its sign."""
    one = runtime.unit(signed.element, dtype) if x.coefficient is None else x.coefficient
    return constant(-one.value, dtype) if x.negative else one


def _difference(
    positive: Sequence[Variable], negative: Sequence[Variable], signed: Signed
) -> Variable:
    """Return a sum minus a sum."""
    if not negative:
        return combined(signed.op, positive)
    taken = combined(signed.op, negative)
    if not positive:
        return apply(signed.inverse, (taken,))
    return apply(signed.difference, (combined(signed.op, positive), taken))
