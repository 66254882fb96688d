"""What is known of indices: which comparisons hold at every call, so that no code tests them.

An index is a *linear form*, a sum of variables with integer coefficients, and a variable has
bounds that are linear forms of variables bound before it: ``0 <= i <= n - 1`` for the index of a
loop.  ``form >= 0`` is proved by Fourier and Motzkin's elimination, without its backtracking: the
variable that was bound last is replaced by its bound, until a constant is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from relgraph.lowering.loops.nodes import Const, Op, Scalar
from relgraph.ops.elementwise import equal, less, less_equal

FUEL = 64  # replacements of a proof
FAR = 1 << 40  # beyond which a number is not taken into a form, whose sums do not overflow then


class Form(NamedTuple):
    """A sum of variables with coefficients, and of a number."""

    terms: dict[Scalar, int]
    number: int


Bounds = list[tuple[Form, ...]]
"""Alternatives, any of which bounds a variable: an index on one side of all forms of it."""


def _sum(a: Form, b: Form, factor: int = 1) -> Form:
    """Return ``a + factor * b``."""
    terms = dict(a.terms)
    for x, k in b.terms.items():
        total = terms.get(x, 0) + factor * k
        if total:
            terms[x] = total
        else:
            del terms[x]
    return Form(terms, a.number + factor * b.number)


class Ranges:
    """The linear forms and bounds of indices."""

    def __init__(self) -> None:
        self._forms: dict[Scalar, Form] = {}
        self._least: dict[Scalar, Bounds] = {}
        self._most: dict[Scalar, Bounds] = {}
        self._number: dict[Scalar, int] = {}  # in the order in which they were bound
        self._known: set[Scalar] = set()  # those that are bounded by sizes
        self._assumed: list[Form] = []  # what is not negative where code is being written
        self._fuel = 0

    # What is known.

    def size(self, x: Scalar) -> None:
        """Declare a size, which is not negative."""
        self._bound(x, [(Form({}, 0),)], [])
        self._known.add(x)

    def index(self, x: Scalar, low: Scalar, high: Scalar) -> None:
        """Declare an index, from ``low`` to below ``high``."""
        self._bound(x, [(self.form(low),)], [(_sum(self.form(high), Form({}, -1)),)])

    def result(self, x: Scalar, op: str, args: Sequence[Scalar]) -> None:
        """Declare the result of an op of indices."""
        if op in ("add", "sub", "mul"):
            form = self._result(op, *args)
            if form is not None:
                self._forms[x] = form
        elif op in ("min", "max"):
            either: Bounds = [(self.form(y),) for y in args]
            both: Bounds = [tuple(map(self.form, args))]
            self._bound(x, *((both, either) if op == "min" else (either, both)))
        elif op == "select":
            both = [tuple(map(self.form, args[1:]))]
            self._bound(x, both, both)
        elif op == "div":
            self._bound(x, [(Form({}, 0),)], [(self.form(args[0]),)])
        elif op == "rem":
            most: Bounds = [(self.form(args[0]),), (_sum(self.form(args[1]), Form({}, -1)),)]
            self._bound(x, [(Form({}, 0),)], most)

    @contextmanager
    def assumed(self, test: Op | None, holds: bool) -> Iterator[None]:
        """Take a comparison of indices as true or false while a branch is written."""
        outer = self._assumed
        self._assumed = [*outer, *self._facts(test, holds)]
        try:
            yield
        finally:
            self._assumed = outer

    def _facts(self, test: Op | None, holds: bool) -> list[Form]:
        """Return what is not negative where a comparison holds or does not."""
        if test is None or {x.dtype for x in test.args} != {"int64"}:
            return []
        below, equals = test.op in ("less", less), test.op in ("equal", equal)
        if not (below or equals or test.op is less_equal):
            return []
        a, b = test.args
        up, down = _sum(self.form(b), self.form(a), -1), _sum(self.form(a), self.form(b), -1)
        one = Form({}, -1)
        if equals and holds:
            return [up, down]
        if equals:
            facts = [(self.at_most(a, b), up), (self.at_most(b, a), down)]
            return [_sum(form, one) for known, form in facts if known]
        if holds:
            return [_sum(up, one) if below else up]
        return [down if below else _sum(down, one)]

    def _bound(self, x: Scalar, least: Bounds, most: Bounds) -> None:
        self._number.setdefault(x, len(self._number))
        self._least[x], self._most[x] = least, most
        if all(any(all(map(self._is_known, forms)) for forms in side) for side in (least, most)):
            self._known.add(x)

    def _is_known(self, form: Form) -> bool:
        return all(x in self._known for x in form.terms)

    def are_known(self, *values: Scalar) -> bool:
        """Return True for indices that sizes bound, whose sums therefore do not overflow."""
        return all(self._is_known(self.form(x)) for x in values)

    def _result(self, op: str, a: Scalar, b: Scalar) -> Form | None:
        one, other = self.form(a), self.form(b)
        if op == "mul":
            if other.terms:
                one, other = other, one
            if other.terms or not other.number:
                return None
            result = _sum(Form({}, 0), one, other.number)
        else:
            result = _sum(one, other, 1 if op == "add" else -1)
        return (
            None if any(abs(k) > FAR for k in (*result.terms.values(), result.number)) else result
        )

    # What follows.

    def form(self, x: Scalar) -> Form:
        """Return a scalar as a linear form."""
        if isinstance(x, Const):
            return Form({}, x.value)
        return self._forms.get(x) or Form({x: 1}, 0)

    def at_most(self, a: Scalar, b: Scalar) -> bool:
        """Return True if ``a <= b`` at every call."""
        return self._proves(_sum(self.form(b), self.form(a), -1))

    def less(self, a: Scalar, b: Scalar) -> bool:
        """Return True if ``a < b`` at every call."""
        return self._proves(_sum(_sum(self.form(b), self.form(a), -1), Form({}, -1)))

    def simpler(self, op: str, a: Scalar, b: Scalar) -> tuple[Scalar | None, int] | None:
        """Return a sum or difference as one variable and a number, or None if it has several."""
        form = self._result(op, a, b)
        if form is None or len(form.terms) > 1:
            return None
        for x, k in form.terms.items():
            return (x, form.number) if k == 1 else None
        return None, form.number

    def _proves(self, form: Form) -> bool:
        self._fuel = FUEL
        forms = [form, *[_sum(form, fact, -1) for fact in self._assumed]]
        return any(map(self._is_not_negative, forms))

    def _is_not_negative(self, form: Form) -> bool:
        if not form.terms:
            return form.number >= 0
        self._fuel -= 1
        if self._fuel < 0:
            return False
        x = max(form.terms, key=lambda x: self._number.get(x, -1))
        k = form.terms[x]
        rest = Form({y: c for y, c in form.terms.items() if y is not x}, form.number)
        bounds = (self._least if k > 0 else self._most).get(x, [])
        return any(
            all(self._is_not_negative(_sum(rest, bound, k)) for bound in forms) for forms in bounds
        )


__all__ = ["Form", "Ranges"]
