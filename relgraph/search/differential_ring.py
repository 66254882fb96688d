"""The ring of elementwise expressions with their derivatives by one input.

Its elements are polynomials in atoms, such as ``x``, ``exp(x)`` and ``1 / (1 + x**2)``.  The
derivative of an atom follows from the differential of its op, and that of a polynomial from the
sum, product and power rules.  Tangents are read as quotients, and :meth:`DifferentialRing.reduced`
removes other powers that make monomials linearly dependent, such as squares of cosines.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from relgraph.derivatives.forward import jvp
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, constant
from relgraph.ops import elementwise
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.shape import broadcast_to
from relgraph.search.labels import quotient
from relgraph.search.normal_form import RULES, NormalForms, power_of, ratio_of
from relgraph.search.polynomials import (
    ONE,
    Atom,
    Budget,
    Monomial,
    Polynomial,
    add_to,
    added,
    scaled,
    single,
)
from relgraph.search.words import Words

sin, cos, sinh, cosh = elementwise.sin, elementwise.cos, elementwise.sinh, elementwise.cosh

# cos(u)**2 = 1 - sin(u)**2, and cosh(u)**2 = 1 + sinh(u)**2.
SQUARES = {cos: (sin, -1), cosh: (sinh, 1)}

# Functions that are simpler as atoms than as exponentials.
OPAQUE = (elementwise.sinh, elementwise.cosh, elementwise.sigmoid, elementwise.softplus)
READING = {op: rule for op, rule in RULES.items() if op not in OPAQUE}
READING[elementwise.tanh] = ratio_of(sinh, cosh), "quotient_sinh_cosho"
READING[Elementwise("power")] = power_of(True), "cancel_power_logo"


def derivative(y: Variable, x: Variable) -> Variable | None:
    """Return the derivative of an elementwise expression, or None if it does not depend on x."""
    one = constant(1, x.dtype)
    (tangent,) = jvp([y], {x: broadcast_to(one, x.shape) if x.ndim else one})
    return tangent


def inverse(m: Monomial) -> Polynomial:
    """Return the reciprocal of a monomial."""
    return single(tuple([(i, -e) for i, e in m]))


class DifferentialRing:
    """Elementwise expressions as polynomials, and their derivatives.

    Parameters
    ----------
    x : Variable
        The input to differentiate with respect to.
    budget : Budget
        Counts the steps of the arithmetic.
    """

    def __init__(self, x: Variable, budget: Budget) -> None:
        self.x = x
        self.words = Words(budget)
        self.reading = NormalForms(self.words, READING)
        self._derivatives: dict[int, Polynomial] = {}
        self._depends: dict[int, bool] = {}

    # Elements.

    def read(self, graph: Variable) -> Polynomial:
        """Return a graph as a polynomial."""
        self._read(graph)
        return self.reduced(self.reading.field(graph))

    def _read(self, graph: Variable) -> None:
        for node in toposort([graph]):
            if node not in self.reading.values:
                self.reading.read(node)

    def reduced(self, p: Polynomial) -> Polynomial:
        """Return an equal polynomial whose monomials are linearly independent of others.

        Squares of cosines become sines, tangents squared lose their sines, absolute values become
        signs, and fractions become proper: x**2 / (1 + x**2) = 1 - 1 / (1 + x**2).
        """
        out: Polynomial = {}
        stack = list(p.items())
        while stack:
            (m, word), c = stack.pop()
            self.words.budget.spend()
            changed = self._reduction(m)
            if changed is None:
                add_to(out, {(m, word): c})
            else:
                stack.extend(scaled(changed, c).items())
        return out

    def _reduction(self, m: Monomial) -> Polynomial | None:
        for i, e in m:
            atom = self.words.atoms[i]
            changed: Polynomial | None = None
            if atom.kind == "power" and e < 0 and e.denominator == 1:
                changed = self._proper_fraction(m, atom) or self._partial_fractions(m, atom)
            elif atom.kind == "power" and e < 0:
                changed = self._proper_fraction(m, atom)
            elif atom.kind == "absolute" and e.denominator == 1:
                x = self.words.atoms[atom.content]
                without = self.words.product(m, ((i, -e),))
                sign = self.words.factor(self.words.atom("sign", x.number))
                changed = self.words.times(without, self.words.factor(x, e))
                changed = self.words.times(changed, sign) if e % 2 else changed
            elif atom.graph is not None and atom.graph.op in SQUARES:
                changed = self._without_square(m, i, e, atom.graph)
            if changed is not None:
                return changed
        return None

    def _proper_fraction(self, m: Monomial, atom: Atom) -> Polynomial | None:
        """Divide a monomial by the sum below it; None if its degree is too small."""
        exponents, rest = dict(m), dict(atom.content)
        lead = max(rest, key=lambda term: (sum([e for _, e in term[0]]), term))
        if not lead[0] or any([not 0 < e <= exponents.get(i, 0) for i, e in lead[0]]):
            return None
        c = rest.pop(lead)
        quotient_ = self.words.times(single(m), inverse(lead[0]))
        changed = self.words.times(quotient_, self.words.factor(atom))
        add_to(changed, self.words.times(quotient_, rest), -1)
        return scaled(changed, quotient(1, c))

    def _partial_fractions(self, m: Monomial, atom: Atom) -> Polynomial | None:
        """Return a monomial that is divided by p and by u as two with one divisor less each.

        With p = a + u r, it is multiplied by 1 = (p - u r) / a; with u = p + a, by (u - p) / a.
        """
        words = self.words
        p = dict(atom.content)
        without_p = words.product(m, ((atom.number, 1),))
        for i, e in m:
            other = words.atoms[i]
            if e >= 0 or e.denominator != 1 or i == atom.number:
                continue
            without_u = words.product(m, ((i, 1),))
            rest = {term: c for term, c in p.items() if term != ((), ())}
            a = p.get(((), ()), 0)
            if a and rest and all([dict(n).get(i, 0) >= 1 for n, _ in rest]):
                r = words.times(rest, inverse(((i, 1),)))
                return scaled(added(without_p, words.times(without_u, r), -1), quotient(1, a))
            if other.kind == "power":
                gap = added(dict(other.content), p, -1)
                if list(gap) == [((), ())]:
                    return scaled(added(without_u, without_p, -1), quotient(1, gap[(), ()]))
        return None

    def _without_square(self, m: Monomial, i: int, e: Any, cosine: Variable) -> Polynomial | None:
        """Return a monomial in which a square, of a cosine or of a sine above one, is replaced."""
        function, sign = SQUARES[cosine.op]
        self._read(sine := function(*cosine.inputs))
        (((factors, _), _), *more) = self.reading.field(sine).items()
        if more or len(factors) != 1:
            return None
        ((j, _),) = factors
        if e < 2 and not (e < 0 and dict(m).get(j, 0) >= 2):
            return None
        replaced, other = (i, j) if e >= 2 else (j, i)
        square = self.words.factor(self.words.atoms[other], 2)
        equal = added(ONE, square, sign) if e >= 2 else scaled(added(square, ONE, -1), sign)
        return self.words.times(self.words.product(m, ((replaced, -2),)), equal)

    # What depends on x.

    def depends(self, number: int) -> bool:
        """Return True if an atom depends on x, even if it is piecewise constant."""
        for i in self._unknown(number, self._depends):
            atom = self.words.atoms[i]
            if atom.graph is not None:
                self._depends[i] = self.x in toposort([atom.graph])
            else:
                self._depends[i] = any([self._depends[k] for k in parts_of(atom)])
        return self._depends[number]

    def _unknown(self, number: int, known: Container[int]) -> list[int]:
        """Return an atom and those that it is made of, as far as they are unknown, in order."""
        unknown: set[int] = set()
        stack = [number]
        while stack:
            i = stack.pop()
            if i not in known and i not in unknown:
                unknown.add(i)
                stack.extend(parts_of(self.words.atoms[i]))
        return sorted(unknown)  # atoms are made of earlier ones

    def split(self, m: Monomial) -> tuple[Monomial, Monomial]:
        """Return the factors of a monomial that do not depend on x, and the others."""
        moving = [self.depends(i) for i, _ in m]
        return (
            tuple([f for f, moves in zip(m, moving, strict=True) if not moves]),
            tuple([f for f, moves in zip(m, moving, strict=True) if moves]),
        )

    def atoms_of(self, p: Polynomial) -> set[int]:
        """Return the atoms of a polynomial that have a derivative."""
        return {i for m, _ in p for i, _ in m if self.derivative_of(i)}

    # Derivatives.

    def derivative_of(self, number: int) -> Polynomial:
        """Return the derivative of an atom."""
        for i in self._unknown(number, self._derivatives):
            self._derivatives[i] = self._derivative_of(self.words.atoms[i])
        return self._derivatives[number]

    def _derivative_of(self, atom: Atom) -> Polynomial:
        words = self.words
        if not self.depends(atom.number):
            return {}
        match atom.kind:
            case "exp":
                change = self.derivative_of_monomial(atom.content)
                return self.reduced(words.times(change, words.factor(atom)))
            case "log":
                inner = words.atoms[atom.content[0]]
                change = self.derivative_of(inner.number)
                return self.reduced(words.times(change, words.factor(inner, -1)))
            case "power":
                return self.derivative_of_polynomial(dict(atom.content))
            case "absolute":
                sign = words.factor(words.atom("sign", atom.content))
                return words.times(self.derivative_of(atom.content), sign)
            case "graph" if atom.graph is not None:
                return self.derivative_of_graph(atom.graph)
            case _:
                return {}

    def derivative_of_graph(self, y: Variable) -> Polynomial:
        """Return the derivative of a graph, by the differentials of its ops."""
        self.words.budget.spend(1 + len(toposort([y])) // 16)
        change = derivative(y, self.x)
        return {} if change is None else self.read(change)

    def logarithmic_derivative(self, y: Variable) -> Polynomial:
        """Return the derivative of log |y|."""
        change = self.derivative_of_graph(y)
        return self.reduced(self.words.times(change, self.words.power(self.read(y), -1)))

    def derivative_of_polynomial(self, p: Polynomial) -> Polynomial:
        """Return the derivative of a polynomial."""
        out: Polynomial = {}
        for (m, _), c in p.items():
            add_to(out, self.derivative_of_monomial(m), c)
        return out

    def derivative_of_monomial(self, m: Monomial) -> Polynomial:
        """Return the derivative of a product of powers."""
        out: Polynomial = {}
        for i, e in m:
            change = self.derivative_of(i)
            if change:
                add_to(out, self.words.times(self.words.product(m, ((i, -1),)), change), e)
        return self.reduced(out)


def parts_of(atom: Atom) -> list[int]:
    """Return the numbers of the atoms that an atom is made of."""
    match atom.kind:
        case "exp":
            return [i for i, _ in atom.content]
        case "log":
            return [] if isinstance(atom.content, int) else [atom.content[0]]
        case "power":
            return [i for (m, _), _ in atom.content for i, _ in m]
        case "absolute" | "sign":
            return [atom.content]
        case _:
            return []
