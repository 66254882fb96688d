"""The order of a chain of matrix products and linear systems, by cost.

An inverse in a chain is a factor like any other: applying it to a block means solving a system,
from the left or, transposed, from the right.  Unknown sizes are symbols, and equal names are equal
sizes.  The cost of an order is then a polynomial, and the pass changes the order only if the new
one costs no more for all sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.solve import Inv, Solve, SolveTriangular
from relgraph.ops.permutation import MatrixTranspose
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

Monomial = tuple[str, ...]
Cost = Counter[Monomial]
Tree = Any  # an index in the chain, or a pair of trees
MATMUL, INV, SWAP = Matmul(), Inv(), MatrixTranspose()
GENERAL, SPD = Solve("general"), Solve("spd")
JOINED = (Matmul, Solve, SolveTriangular, ChoSolve, LUSolve, Inv)
LONGEST = 64  # the most operands of a chain to reorder
SPLIT = 128  # from this static side, two systems take less time than a product and a system
_SMALL, _USUAL, _LARGE = 2, 256, 4096
_NEVER = 1 << 300

# Costs count thirds of floating-point operations: a product of m by k and k by n matrices 6 m n k,
# an explicit inverse 6 n^3, a system these multiples of n^3 and, for each right side, of n^2.
_PRODUCT, _INVERSE = 6, 6
_SYSTEM = {"general": (2, 6), "spd": (1, 6), "solve_triangular": (0, 3)}
_FACTORED = (0, 6)


class Factor(NamedTuple):
    """A factor of a chain.

    Attributes
    ----------
    x : Variable
        A matrix, or a vector at an end of the chain.
    solve : Op or None
        The op that applies the inverse of ``x``, if the factor is the inverse.
    rest : tuple of Variable
        The operands of ``solve`` between the matrix and the right side.
    explicit : bool
        Whether the inverse may be computed as a matrix.
    """

    x: Variable
    solve: Any = None
    rest: tuple[Variable, ...] = ()
    explicit: bool = False

    def transposed(self) -> Factor:
        """Return the transpose of the factor."""
        if self.solve is None or self.explicit:
            return _inverse(flip(self.x)) if self.solve else Factor(flip(self.x))
        if isinstance(self.solve, SolveTriangular):
            lower, trans, unit = self.solve.params
            return self._replace(solve=SolveTriangular(lower, 1 - trans, unit))
        if isinstance(self.solve, LUSolve):
            return self._replace(solve=LUSolve(1 - self.solve.params[0]))
        return self  # Cholesky's factor, or a matrix assumed symmetric

    def weights(self) -> tuple[int, int]:
        """Return the cost of a system: multiples of n^3, and of n^2 for each right side."""
        name = self.solve.params[0] if isinstance(self.solve, Solve) else self.solve.name
        return _SYSTEM.get(name, _FACTORED)


def flip(x: Variable) -> Variable:
    """Return the transpose of a matrix; vectors and symmetric matrices are unchanged."""
    if x.ndim < 2 or fact(x, "symmetric"):
        return x
    return x.inputs[0] if x.op is SWAP else SWAP(x)


def _inverse(x: Variable) -> Factor:
    """Return the factor for the inverse of a matrix."""
    if fact(x, "spd"):
        return Factor(x, SPD, explicit=True)
    for name in ("lower_triangular", "upper_triangular"):
        if fact(x, name):
            return Factor(x, SolveTriangular(name[0] == "l", 0, False), explicit=True)
    return Factor(x, GENERAL, explicit=True)


class MatmulChain(GraphRewriter):
    """Multiplies chains of matrices, and solves with inverted ones, in the cheapest order.

    A product, a system or an inverse with other users is kept.  Sizes that are not
    static count as symbols: the order changes only if it costs no more for all their values, from 1
    in a chain of products and from 2 in a chain with systems.

    References
    ----------
    T. H. Cormen, C. E. Leiserson, R. L. Rivest and C. Stein, Introduction to Algorithms, 3rd ed.,
    section 15.2.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.matmul_chains import MatmulChain
    >>> A, B = rg.matrices("A B", shape=("n", "n"))
    >>> x = rg.vector("x", shape=("n",))
    >>> rg.rewrite_graph(A @ B @ x, MatmulChain())
    A @ (B @ x)
    >>> rg.rewrite_graph(rg.inv(A) @ B @ x, MatmulChain())
    solve(A, B @ x, assume='general')
    """

    def __init__(self) -> None:
        super().__init__(name="matmul_chain")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with each of its chains in the best order."""
        if not any(node.op is MATMUL for node in graph):
            return graph
        inner: set[Variable] = set()
        changes: dict[Variable, Variable] = {}
        for root in reversed(list(graph)):
            if not isinstance(root.op, JOINED) or root in inner or root.op is INV:
                continue
            if root.op is MATMUL and not any(
                isinstance(_unturned(x).op, JOINED) for x in root.inputs
            ):
                continue  # a product of two matrices has one order
            made = _best_of(root, graph, inner) if _joins(root) else _batched(root, graph)
            if made is not None and made.type.narrows(root.type):
                changes[root] = made
        return with_changes(graph, changes)


def _batched(node: Variable, graph: FunctionGraph) -> Variable | None:
    """Return a product with batched inverses as systems, or None."""
    if node.op is not MATMUL:
        return None
    inverse, b = node.inputs
    if inverse.op is not INV or inverse.ndim < 3 or len(graph.clients[inverse]) > 1:
        return None
    factor = _inverse(inverse.inputs[0])
    made: Variable = factor.solve(factor.x, b)
    return made


def _unturned(x: Variable) -> Variable:
    """Return the operand of a transpose, or the matrix itself."""
    while x.op is SWAP:
        x = x.inputs[0]
    return x


def _joins(node: Variable) -> bool:
    """Return True for a product, a system or an inverse of matrices and vectors of one dtype."""
    if not isinstance(node.op, JOINED):
        return False
    operands = (node.inputs[0], node.inputs[-1])
    return all(x.ndim <= 2 and x.dtype == node.dtype for x in operands)


class _Chain:
    """The factors of a chain in order, the order in which they are multiplied, and its cost.

    Parameters
    ----------
    root : Variable
        A product or a system.
    graph : FunctionGraph
        The graph that contains it.
    inner : set of Variable
        The set to which the nodes inside the chain are added.
    split : bool
        Whether to write the inverse of a product of square matrices as a product of inverses.
    """

    def __init__(
        self, root: Variable, graph: FunctionGraph, inner: set[Variable], split: bool = False
    ) -> None:
        self.factors: list[Factor] = []
        self.splits = False  # whether an inverse was or could be split into inverses
        self._graph, self._split = graph, split
        steps: list[tuple[Any, ...]] = []  # each a node or system with its start, middle and end
        trees: list[tuple[Tree, int]] = []  # with their first indices
        stack: list[tuple[Any, ...]] = [(root, False, None)]
        while stack:
            x, turned, solve, *close = stack.pop()
            if close:
                (right, middle), (left, start) = trees.pop(), trees.pop()
                trees.append(((left, right), start))
                steps.append((solve, turned, start, middle, len(self.factors)))
                continue
            while x.op is SWAP and self._absorbs(x, solve):
                inner.add(x)
                x, turned = x.inputs[0], not turned
            if x is not root and not self._absorbs(x, solve):
                trees.append((len(self.factors), len(self.factors)))
                self.factors.append(_factor(x, turned, solve))
                continue
            inner.add(x)
            if x.op is INV:
                steps.append((INV, turned, len(self.factors), None, None))
                stack.append((x.inputs[0], turned, x))
                continue
            system = None if x.op is MATMUL else x
            inverted = solve if system is None else system
            children = [(x.inputs[0], turned, inverted), (x.inputs[-1], turned, solve)]
            if turned != (solve is not None):
                children.reverse()
            stack += [(x, turned, system, True), children[1], children[0]]
        self.tree = trees[0][0]
        self.sizes = _sizes(self.factors)
        self.written = self._cost_as_written(steps)

    def _absorbs(self, x: Variable, solve: Variable | None) -> bool:
        """Return True if the chain continues in an operand, which must have no other user."""
        core = x
        while core.op is SWAP and len(self._graph.clients[core]) == 1:
            core = core.inputs[0]
        if not _joins(core) or len(self._graph.clients[core]) > 1:
            return False
        if solve is None:
            return x.ndim == 2 or self._at_an_end(x)
        if core.op is not MATMUL or solve.op not in (GENERAL, INV) or x.ndim != 2:
            return False
        if not all(fact(y, "square") for y in core.inputs):
            return False
        self.splits = True
        return self._split

    def _at_an_end(self, x: Variable) -> bool:
        """Return True for a vector whose own vector factor is at an end of the chain."""
        ((client, place),) = self._graph.clients[x]
        first = x.op is MATMUL and x.inputs[0].ndim == 1
        return first == (isinstance(client, Variable) and client.op is MATMUL and place == 0)

    def _cost_as_written(self, steps: list[tuple[Any, ...]]) -> Cost:
        total: Cost = Counter()
        for system, turned, start, middle, end in steps:
            n = self.sizes[start]
            if system is INV:
                _pay(total, _INVERSE, n, n, n)
            elif system is None:
                _pay(total, _PRODUCT, n, self.sizes[middle], self.sizes[end])
            else:
                cube, square = Factor(system.inputs[0], system.op).weights()
                n, r = (self.sizes[end], n) if turned else (n, self.sizes[end])
                _pay(total, cube, n, n, n)
                _pay(total, square, n, n, r)
        return total


def _factor(x: Variable, turned: bool, solve: Variable | None) -> Factor:
    """Return a factor of a chain: ``x``, or its inverse if ``solve`` is given."""
    if solve is None:
        return Factor(flip(x) if turned else x)
    if solve.op in (GENERAL, INV):
        return _inverse(flip(x) if turned else x)
    made = Factor(x, solve.op, solve.inputs[1:-1])
    return made.transposed() if turned else made


def _pay(total: Cost, number: int, *sizes: Any) -> None:
    """Add a multiple of a product of sizes."""
    for size in sizes:
        number *= size if isinstance(size, int) else 1
    if number:
        total[tuple(sorted(s for s in sizes if isinstance(s, str)))] += number


def _kind(left: Tree, right: Tree, factors: Sequence[Factor]) -> str:
    """Return how two parts of a chain combine: solved from a side, multiplied, or neither."""
    lone = [isinstance(x, int) and factors[x].solve is not None for x in (left, right)]
    if lone[0] and (not lone[1] or factors[right].explicit):
        return "left"
    if lone[1] and (not lone[0] or factors[left].explicit):
        return "right"
    return "never" if any(lone) else "multiply"


Term = tuple[int, tuple[Any, ...]]  # a number of operations, and the sizes that multiply it


def _join(left: Tree, right: Tree, ends: Any, factors: Sequence[Factor]) -> list[Term]:
    """Return the cost of combining two parts of a chain, given sizes at start, middle and end."""
    start, middle, end = ends
    kind = _kind(left, right, factors)
    if kind == "never":
        return [(_NEVER, ())]
    if kind == "multiply":
        return [(_PRODUCT, (start, middle, end))]
    inverse, n, r, other = (
        (left, start, end, right) if kind == "left" else (right, end, start, left)
    )
    cube, square = factors[inverse].weights()
    terms = [(cube, (n, n, n)), (square, (n, n, r))]
    if isinstance(other, int) and factors[other].solve is not None:
        terms.append((_INVERSE, (n, n, n)))
    return terms


def _built(tree: Tree, factors: Sequence[Factor]) -> Variable:
    """Build the graph of an order."""

    def value(x: Variable | Factor) -> Variable:
        if isinstance(x, Variable):
            return x
        return x.x if x.solve is None else INV(x.x)

    done: list[Variable | Factor] = []
    stack: list[Any] = [tree]
    while stack:
        x = stack.pop()
        if isinstance(x, str):
            right, left = done.pop(), done.pop()
            if x == "left":
                assert isinstance(left, Factor)
                done.append(left.solve(left.x, *left.rest, value(right)))
            elif x == "right":
                assert isinstance(right, Factor)
                other, turned = right.transposed(), value(left)
                turned = flip(turned)
                done.append(flip(other.solve(other.x, *other.rest, turned)))
            else:
                done.append(MATMUL(value(left), value(right)))
        elif isinstance(x, tuple):
            stack += [_kind(x[0], x[1], factors), x[1], x[0]]
        else:
            done.append(factors[x])
    return value(done[0])


def _best_of(root: Variable, graph: FunctionGraph, inner: set[Variable]) -> Variable | None:
    """Return a chain in a cheaper order that never costs more for any sizes, or None."""
    chain = _Chain(root, graph, inner)
    count = len(chain.factors)
    explicit = root.op is MATMUL and any(f.solve is not None for f in chain.factors)
    if not 2 < count <= LONGEST and not explicit and not chain.splits:
        return None
    best: tuple[_Chain, Tree] | None = None
    least, fewest = chain.written, 0
    chains = [chain]
    if chain.splits:
        chains.append(_Chain(root, graph, set(), split=True))
    for one in chains:
        least = least + (one.written - chain.written)  # the cost of multiplying inverses
        sides = _sides(one)
        if one is not chain and not (
            len(one.factors) <= LONGEST and all(isinstance(n, int) and n >= SPLIT for n in sides)
        ):
            continue
        symbols = sorted({s for s in one.sizes if isinstance(s, str)})
        orders = [_ordered(one, values) for values in _samples(symbols)]
        for tree in [one.tree, *orders]:
            cost = _cost(tree, one)
            turns = _turns(tree, one.factors)
            if cost == least:
                better = best is not None and turns < fewest
            else:
                better = dominates(cost, least, sides)
            if better:
                best, least, fewest = (one, tree), cost, turns
    return None if best is None else _built(best[1], best[0].factors)


def _sides(chain: _Chain) -> set[int | str]:
    """Return the sides of the matrices that a chain inverts."""
    return {n for f, n in zip(chain.factors, chain.sizes, strict=False) if f.solve is not None}


def _turns(tree: Tree, factors: Sequence[Factor]) -> int:
    """Return how many systems of an order are solved from the right."""
    count, stack = 0, [tree]
    while stack:
        x = stack.pop()
        if isinstance(x, tuple):
            count += _kind(x[0], x[1], factors) == "right"
            stack += x
    return count


def _samples(symbols: list[str]) -> Iterator[dict[Any, int]]:
    """Yield values for symbols: all equal, then each in turn much larger or smaller."""
    yield dict.fromkeys(symbols, _USUAL)
    if len(symbols) > 1:
        for one in symbols:
            for value in (_SMALL, _LARGE):
                yield {**dict.fromkeys(symbols, _USUAL), one: value}


def _sizes(factors: Sequence[Factor]) -> list[int | str]:
    """Return the sizes along a chain: factor i is of ``sizes[i]`` by ``sizes[i + 1]``."""
    groups = [0]  # the first index of equal size: inverses are square
    dims: dict[int, list[Any]] = {0: []}
    for i, factor in enumerate(factors):
        assert isinstance(factor.x.type, TensorType)
        shape: Any = factor.x.type.shape
        if len(shape) == 1:
            shape = (*shape, 1) if i else (1, *shape)
        groups.append(i + 1 if factor.solve is None else groups[i])
        dims[groups[i]].append(shape[0])
        dims.setdefault(groups[i + 1], []).append(shape[1])
    return [_symbol(place, dims[place]) for place in groups]


def _symbol(place: int, dims: Sequence[Any]) -> int | str:
    for kind in (int, str):
        for d in dims:
            if isinstance(d, kind):
                return d
    return f"?{place}"


def _ordered(chain: _Chain, values: dict[Any, int]) -> Tree:
    """Return the cheapest order for numeric sizes, by dynamic programming."""
    count = len(chain.factors)
    sizes = [values.get(s, s) for s in chain.sizes]
    best: dict[tuple[int, int], tuple[int, int, Tree]] = {(i, i): (0, 0, i) for i in range(count)}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            options = []
            for k in range(i, j):
                one, two = best[i, k], best[k + 1, j]
                ends = (sizes[i], sizes[k + 1], sizes[j + 1])
                terms = _join(one[2], two[2], ends, chain.factors)
                cost = one[0] + two[0] + sum(number * prod(by) for number, by in terms)
                right = _kind(one[2], two[2], chain.factors) == "right"
                options.append((cost, one[1] + two[1] + right, k))
            cost, turns, k = min(options)
            best[i, j] = (cost, turns, (best[i, k][2], best[k + 1, j][2]))
    return best[0, count - 1][2]


def _cost(tree: Tree, chain: _Chain) -> Cost:
    """Return the cost of an order, as a polynomial in the symbolic sizes."""
    total: Cost = Counter()
    parts: list[tuple[Tree, int, int]] = []
    stack: list[Any] = [tree]
    while stack:
        x = stack.pop()
        if x is None:
            (right, middle, end), (left, start, _) = parts.pop(), parts.pop()
            ends = [chain.sizes[place] for place in (start, middle, end)]
            for number, sizes in _join(left, right, ends, chain.factors):
                _pay(total, number, *sizes)
            parts.append(((left, right), start, end))
        elif isinstance(x, tuple):
            stack += [None, x[1], x[0]]
        else:
            parts.append((x, x, x + 1))
    return total


def dominates(cheap: Cost, dear: Cost, sides: Collection[Any] = ()) -> bool:
    """Return True if a cost is at most another one for all sizes of at least 1.

    The test covers each monomial of the first by monomials of the second that it divides.

    Parameters
    ----------
    cheap, dear : Counter
        The costs.
    sides : collection of str
        The symbols that stand for sizes of at least 2.
    """
    left = Counter(dear)
    for monomial, number in sorted(cheap.items(), key=lambda item: (-len(item[0]), item[0])):
        own = Counter(monomial)
        payers = sorted(
            (m for m in left if left[m] > 0 and not own - Counter(m)), key=lambda m: (len(m), m)
        )
        for m in payers:
            worth = 2 ** sum((Counter(m) - own)[x] for x in sides)
            paid = min(-(-number // worth), left[m])
            left[m] -= paid
            number -= paid * worth
            if number <= 0:
                break
        if number > 0:
            return False
    return True
