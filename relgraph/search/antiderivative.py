"""Antiderivatives: the differentials read backward.

An antiderivative of ``f`` is a solution ``F`` of ``d(F) = f d(x)``.  Functions of parts of ``f``
are tried first.  Other candidates come from the product rule: if ``n`` is a monomial of the
derivative of an atom ``h``, a monomial ``m`` occurs in the derivative of ``m h / n``.  The
search adds candidates for the monomials of the integrand, then for those of their derivatives, and
so on.  A
system of linear equations decides which multiples of them add up to the integrand.

This is the method of Risch and Norman: K. O. Geddes and L. Y. Stefanus, On the Risch-Norman
integration method and its implementation in MAPLE, ISSAC 1989.  It does not decide: it may find
nothing where there is an elementary antiderivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from relgraph.errors import DerivativeError
from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import substitute, toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops import elementwise
from relgraph.ops.elementwise import ROWS, Elementwise
from relgraph.search.differential_ring import DifferentialRing, inverse
from relgraph.search.labels import magnitude, quotient
from relgraph.search.linear_equations import solve
from relgraph.search.polynomials import (
    ONE,
    Budget,
    Exhausted,
    Monomial,
    Polynomial,
    Unsupported,
    add_to,
    scaled,
    single,
)
from relgraph.search.word_graphs import WordGraphs, power

ROUNDS = 8  # how often candidates give rise to others
DEGREE = 12  # of a candidate
KERNELS = 24  # the largest number of atoms in candidates

# Where these are not defined, a logarithm may have the same derivative; it is tried instead.
NARROW = {
    elementwise.log1p, elementwise.log2, elementwise.log10, elementwise.log1mexp, elementwise.logit,
}  # fmt: skip
FUNCTIONS = tuple(
    Elementwise(name)
    for name, row in ROWS.items()
    if row.arity == 1 and row.derivative is not None and not row.decides
    if Elementwise(name) not in NARROW
)
# What is written for functions that are not defined wherever their derivatives are.
WIDE: dict[Any, Callable[[Variable], Variable]] = {
    elementwise.arctanh: lambda u: 0.5 * (log_of(1 + u) - log_of(1 - u)),
    elementwise.arccosh: lambda u: log_of(u + elementwise.sqrt(elementwise.square(u) - 1)),
}
INVERSES = (
    elementwise.arctan,
    elementwise.arctanh,
    elementwise.arcsin,
    elementwise.arcsinh,
    elementwise.arccosh,
)


def antiderivative(f: Variable, x: Variable, budget: Budget) -> Variable | str:
    """Return a graph whose derivative is ``f``, or the reason why the search has no result.

    Parameters
    ----------
    f, x : Variable
        An elementwise expression of floats, and the input to integrate with respect to.
    budget : Budget
        Its steps are those of the arithmetic of polynomials.
    """
    search = _Search(f, x, budget)
    try:
        return search.run()
    except Exhausted as error:
        return f"{error} after {len(search.candidates)} candidates"
    except Unsupported as error:
        return f"the integrand has no normal form: {error}"


class _Search:
    """A search for the antiderivative of one integrand."""

    def __init__(self, f: Variable, x: Variable, budget: Budget) -> None:
        self.f, self.x = f, x
        self.ring = DifferentialRing(x, budget)
        self.words = self.ring.words
        self.writing = WordGraphs(self.ring.reading, f.dtype)
        self.table: list[tuple[Variable, Polynomial]] = []  # functions, and their derivatives
        self.candidates: dict[Monomial, Polynomial] = {}  # likewise
        self.parts: list[Variable] = []  # nodes of the integrand that depend on x
        self.kernels: dict[int, None] = {}  # atoms in candidates

    def run(self) -> Variable | str:
        """Return an antiderivative, or a description of the candidates that the search tried."""
        f = self.ring.read(self.f)
        if not f:
            return constant(0, self.f.dtype)
        self.table = list(self._tabulated())
        whole = self._tabulated_integral(f)
        if whole is not None:
            return self._widened(whole)
        integrals: list[Variable] = []
        rest: Polynomial = {}
        for term, c in f.items():
            part = self._tabulated_integral({term: c})
            if part is None:
                rest[term] = c
            else:
                integrals.append(part)
        if rest and self._is_piecewise():
            return f"functions of its parts; no other candidates, since {brief(self.f)} has pieces"
        solution = self._combined_candidates(rest) if rest else {}
        if solution is None:
            return f"none of {len(self.candidates)} candidates fits"
        if solution:
            integrals.append(self.writing.field(solution))
        return self._widened(reduce(elementwise.add, integrals))

    def _is_piecewise(self) -> bool:
        """Return True if the integrand depends on x by a choice, such as that of a sign."""
        return any([y.op is not None and bool(y.op.decides) for y in self.parts])

    def _widened(self, result: Variable) -> Variable:
        """Return a result that is defined wherever the integrand is."""
        while True:
            narrow = [y for y in toposort([result]) if y.op in WIDE and y not in self.parts]
            if not narrow:
                return result
            y = narrow[0]  # those that contain it change with it
            (result,) = substitute([result], {y: WIDE[y.op](y.inputs[0])})

    # Functions of the parts of the integrand.

    def _tabulated_integral(self, f: Polynomial) -> Variable | None:
        """Return a multiple of a function in the table, or None."""
        for graph, change in self.table:
            ratio = self._ratio(f, change)
            if ratio is not None:
                return graph if ratio == ONE else self.writing.field(ratio) * graph
        return None

    def _ratio(self, f: Polynomial, p: Polynomial) -> Polynomial | None:
        """Return c with f = c p, or None if there is no such c without x."""
        if len(f) != len(p):
            return None
        (m, _), a = next(iter(f.items()))
        for (n, _), b in p.items():
            c = scaled(self.words.times(single(m), inverse(n)), quotient(a, b))
            fixed = len(c) == 1 and not self.ring.split(next(iter(c))[0])[1]
            if fixed and self.words.times(p, c) == f:
                return c
        return None

    def _tabulated(self) -> Iterator[tuple[Variable, Polynomial]]:
        """Yield functions of the parts of the integrand with their derivatives."""
        for graph in dict.fromkeys(self._functions()):
            try:
                u = graph.inputs[0] if graph.inputs else graph
                if graph.op is elementwise.log:  # its derivative is that of log |u|
                    yield log_of(u), self.ring.logarithmic_derivative(u)
                elif graph.op is elementwise.absolute:
                    change = self.words.times(
                        self.ring.read(graph), self.ring.derivative_of_graph(u)
                    )
                    yield 0.5 * (u * graph), change
                else:
                    yield graph, self.ring.derivative_of_graph(graph)
            except (Unsupported, DerivativeError):
                continue

    def _functions(self) -> Iterator[Variable]:
        nodes = toposort([self.f])
        moving = {self.x}
        for y in nodes:
            if y.dtype == self.f.dtype and not moving.isdisjoint(y.inputs):
                moving.add(y)
        self.parts = [self.x, *[y for y in nodes if y in moving and y is not self.x]]
        yield from self.parts
        for u in dict.fromkeys([*self.parts, *[r for y in self.parts for r in _roots(y)]]):
            yield from _powers(u)
            yield from [function(u) for function in FUNCTIONS]
        yield from self._scaled_functions()

    def _scaled_functions(self) -> Iterator[Variable]:
        """Yield inverse functions of u sqrt(b / a) for powers of a + b u**2, and erf."""
        for atom in list(self.words.atoms):
            if atom.kind != "power" or len(atom.content) != 2:
                continue
            terms = {m: c for (m, _), c in atom.content}
            square = next((m for m in terms if len(m) == 1 and m[0][1] == 2), None)
            if square is not None and () in terms:
                argument = self._scaled(square, magnitude(quotient(terms[square], terms[()])))
                yield from [function(argument) for function in INVERSES]
        for m, _ in self.ring.read(self.f):
            for i, e in m:
                atom = self.words.atoms[i]
                if atom.kind == "exp" and e < 0 and [k for _, k in atom.content] == [2]:
                    yield elementwise.erf(self._scaled(atom.content, -e))

    def _scaled(self, square: Monomial, c: Any) -> Variable:
        """Return u sqrt(c) from the monomial u**2."""
        u = self.writing.atom(square[0][0])
        return u if c == 1 else elementwise.sqrt(self.writing.number(c)) * u

    # Candidates.

    def _combined_candidates(self, f: Polynomial) -> Polynomial | None:
        """Return a combination of candidates whose derivative is the integrand, or None."""
        self._add_kernels({i for m, _ in (*f, *self.ring.read(self.x)) for i, _ in m})
        heads = self._heads()
        targets = [self.ring.split(m)[1] for m, _ in f]
        seen = set(targets)
        for _ in range(ROUNDS):
            fresh: list[Monomial] = []
            for m in targets:
                fresh += heads.get(m, ())
                fresh += self._candidates_for(m)
            targets = []
            for candidate in dict.fromkeys(fresh):
                if candidate in self.candidates:
                    continue
                change = self.ring.derivative_of_monomial(candidate)
                self.candidates[candidate] = change
                self._add_kernels({i for m, _ in change for i, _ in m})
                for m, _ in change:
                    moving = self.ring.split(m)[1]
                    if moving not in seen:
                        seen.add(moving)
                        targets.append(moving)
            solution = self._combination(f)
            if solution is not None or not targets:
                return solution
        return None

    def _add_kernels(self, atoms: set[int]) -> None:
        """Add atoms that have a derivative, and the atoms in their derivatives."""
        queue = sorted(atoms)
        for i in queue:  # grows during the loop
            change = self.ring.derivative_of(i)
            if i in self.kernels or not change or len(self.kernels) >= KERNELS:
                continue
            self.kernels[i] = None
            queue += sorted({j for m, _ in change for j, _ in m})

    def _heads(self) -> dict[Monomial, list[Monomial]]:
        """Return the functions in the table, by the monomials in their derivatives."""
        heads: dict[Monomial, list[Monomial]] = {}
        for graph, change in self.table:
            p = self.ring.read(graph)
            if len(p) == 1:
                (((m, _), _),) = p.items()
                for n, _ in change:
                    heads.setdefault(self.ring.split(n)[1], []).append(self.ring.split(m)[1])
        return heads

    def _candidates_for(self, m: Monomial) -> Iterator[Monomial]:
        """Yield monomials whose derivatives contain ``m``, up to a factor without x."""
        logs = [self.words.atom("log", (i,), **self.words.sizes_of(((i, 1),)))
                for i, e in m if e < 0 and self.ring.derivative_of(i)]  # fmt: skip
        for h in (*self.kernels, *[log.number for log in logs]):
            for n, _ in self.ring.derivative_of(h):
                product = self.words.times(self.words.product(m, ((h, 1),)), inverse(n))
                for candidate, _ in product:
                    moving = self.ring.split(candidate)[1]
                    if moving and self._is_plausible(moving):
                        yield moving

    def _is_plausible(self, m: Monomial) -> bool:
        """Return True if a monomial is not too high, and divides by nothing piecewise constant."""
        divisors = [i for i, e in m if e < 0]
        constant_divisors = [i for i in divisors if not self.ring.derivative_of(i)]
        return not constant_divisors and degree(m) <= DEGREE

    def _combination(self, f: Polynomial) -> Polynomial | None:
        simplest_first = sorted(self.candidates, key=_complexity)
        columns = [self._by_monomials(self.candidates[m]) for m in simplest_first]
        solution = solve(columns, self._by_monomials(f), self.words)
        if solution is None:
            return None
        out: Polynomial = {}
        for m, c in zip(simplest_first, solution, strict=True):
            add_to(out, self.words.times(c, single(m)))
        return out

    def _by_monomials(self, p: Polynomial) -> dict[Monomial, Polynomial]:
        """Return a polynomial as coefficients of the monomials that depend on x."""
        out: dict[Monomial, Polynomial] = {}
        for (m, _), c in p.items():
            fixed, moving = self.ring.split(m)
            add_to(out.setdefault(moving, {}), single(fixed), c)
        return out


def degree(m: Monomial) -> Any:
    """Return the sum of the sizes of the exponents of a monomial."""
    return sum([magnitude(e) for _, e in m])


def _complexity(m: Monomial) -> tuple[Any, ...]:
    """Return a sort key of monomials, the simplest first: by divisors, then by degree."""
    return sum([e < 0 for _, e in m]), degree(m)


def log_of(u: Variable) -> Variable:
    """Return log |u|, or log u if u is positive."""
    return elementwise.log(u if fact(u, "positive") else elementwise.absolute(u))  # type: ignore[no-any-return]


def _roots(u: Variable) -> Iterator[Variable]:
    """Yield the square root of an even power, as a power."""
    if u.op is power and isinstance(u.inputs[1], Constant) and u.inputs[1].uniform is not None:
        e = float(u.inputs[1].uniform)
        if e % 2 == 0 and e > 2:
            yield power(u.inputs[0], e / 2)


def _powers(u: Variable) -> Iterator[Variable]:
    """Yield powers of the base of u, or of u, whose derivatives may contain u or its reciprocal."""
    if u.op is elementwise.square:
        (base,) = u.inputs
        yield power(base, 3.0)
        yield elementwise.reciprocal(base)
    elif u.op is elementwise.sqrt:
        yield power(u.inputs[0], 1.5)
    elif u.op is power and isinstance(u.inputs[1], Constant) and u.inputs[1].uniform is not None:
        base, e = u.inputs[0], float(u.inputs[1].uniform)
        yield from [power(base, k) for k in (e + 1, 1 - e) if k not in (0, 1)]
    yield elementwise.square(u)
