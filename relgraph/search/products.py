"""The ways to compute a product: of matrices, with constants and inverses, or elementwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

from relgraph.ir.node import Variable
from relgraph.numpy.reductions import sum as total
from relgraph.ops.contraction import Matmul, Outer
from relgraph.ops.elementwise import multiply, power, reciprocal, square, true_divide
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.solve import Solve, SolveTriangular
from relgraph.ops.shape import expand_dims
from relgraph.rewriting.passes.blas import structured_matmul
from relgraph.search.egraph import Node
from relgraph.search.labels import (
    Coefficient,
    Factor,
    Label,
    Reference,
    flipped,
    quotient,
    raised,
    rational,
)
from relgraph.search.sums import Piece, join
from relgraph.search.values import (
    Candidate,
    Operand,
    State,
    Values,
    on_fewer_transposes,
    plain,
    transposed,
)

ALL_CUTS = 8  # the longest product that is cut anywhere
BEST_CUTS = 3  # at how many places a longer one is cut

MATMUL = Matmul()
_ALL = ("slice", None, None, None)


def product(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    """Yield the ways to compute a product: at first a scalar, or the last of two matrices."""
    _, powers, seq, n = node
    c, t, _ = label
    egraph = values.egraph
    seq = flipped(seq, 1, 0) if t else seq
    refs: tuple[tuple[Reference, int], ...] = tuple([((1, x, 0, 0), e) for x, e in powers])
    if refs and not seq and n == 1:
        yield _powers(values, c, refs)
    elif refs:
        body = values.part(seq) if seq else values.note(egraph.eye(n))
        yield _scaling(values, c, values.note(egraph.product(1, refs, ())), body)
    else:
        if len(seq) == 3 and not first:
            left, middle, right = [(1, *factor) for factor in seq]
            is_total = left[2] and not right[2]  # 1.T X 1, not 1.T x 1.T
            if is_total and egraph.special(left) == egraph.special(right) == "ones":
                yield values.linear(c, [middle], partial(_grand_total, values))
        for k in [len(seq) - 1] if first else _cuts(values, seq):
            yield from _pair(values, values.part(seq[:k]), values.part(seq[k:]), c, first)


def _grand_total(values: Values, c: Coefficient, x: Variable) -> Variable:
    axes = (-2, -1) if x.ndim > 2 else None
    return values.scaled(c, total(x, axis=axes, keepdims=axes is not None))


def _cuts(values: Values, seq: tuple[Factor, ...]) -> Sequence[int]:
    """Return where to cut a product in two: a long one only where the best orders do.

    A part that occurs elsewhere under another form is cut off in any case.
    """
    if len(seq) <= ALL_CUTS:
        return range(1, len(seq))
    egraph = values.egraph
    shapes = [egraph.shape((1, *factor)) for factor in seq]
    sizes = tuple([egraph.extent(m) for m, _ in shapes] + [egraph.extent(shapes[-1][1])])
    orders = values.chain_orders
    if sizes not in orders:
        orders.update(chain_orders(sizes))
    cost = {
        k: orders[sizes[: k + 1]] + orders[sizes[k:]] + sizes[0] * sizes[k] * sizes[-1]
        for k in range(1, len(seq))
    }
    cuts = set(sorted(cost, key=cost.__getitem__)[:BEST_CUTS])
    for part in values.shared:
        cuts |= {len(part)} if seq[: len(part)] == part else set()
        cuts |= {len(seq) - len(part)} if seq[-len(part) :] == part else set()
    return [k for k in cost if k in cuts]


def chain_orders(sizes: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """Return the fewest multiplications of each part of a chain of products, keyed by its sizes.

    References
    ----------
    T. H. Cormen, C. E. Leiserson, R. L. Rivest and C. Stein, Introduction to Algorithms, 4th ed.,
    section 14.2.

    Examples
    --------
    >>> chain_orders((10, 2, 30, 1))[10, 2, 30, 1]
    80.0
    """
    n = len(sizes) - 1
    table = {(i, i + 1): 0.0 for i in range(n)}
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width
            ends = float(sizes[i]) * sizes[j]
            table[i, j] = min(
                [table[i, k] + table[k, j] + ends * sizes[k] for k in range(i + 1, j)]
            )
    return {sizes[i : j + 1]: cost for (i, j), cost in table.items()}


def _scaling(values: Values, c: Coefficient, scale: Reference, body: Reference) -> Candidate:
    """Return a scalar times a matrix, or divided by one."""
    d, x, _, i = scale
    c *= d

    def build(c: Coefficient, s: Variable, value: Variable) -> Variable:
        if i:
            return true_divide(values.scaled(c, value), s)  # type: ignore[no-any-return]
        return multiply(values.scaled(c, s), value)  # type: ignore[no-any-return]

    return values.linear(c, [(1, x, 0, 0), body], build)


# -- products of two matrices ----------------------------------------------------------------------


def _pair(
    values: Values, a: Reference, b: Reference, c: Coefficient, first: bool
) -> Iterator[Candidate]:
    """Yield the ways to multiply two references in normal form."""
    egraph = values.egraph
    kinds = egraph.special(a), egraph.special(b)
    (m, k), n = egraph.shape(a), egraph.shape(b)[1]
    if "zero" in kinds:
        return
    if k == 1 and 1 in (m, n):
        yield _scaling(values, c, *((a, b) if m == 1 else (b, a)))
        return
    c *= a[0] * b[0]
    a, b = (1, *a[1:]), (1, *b[1:])
    if "rows" in kinds:
        yield from _selection(values, a, b, c)
    elif "ones" in kinds:
        yield _stretch(values, a, b, c) if k == 1 else _total(values, a, b, c)
    elif "diag" in kinds and not first:
        yield _scaled_rows(values, a, b, c)
    elif k == 1 and not values.is_batch(a, b):
        yield values.linear(c, [a, b], lambda c, x, y: Outer()(values.scaled(c, x), y))
    elif first or not any(ref[3] and egraph.of(ref).shape != (1, 1) for ref in (a, b)):
        yield from _multiplications(values, a, b, c, first)
    if not first:
        yield from _solutions(values, a, b, c)


def _multiplications(
    values: Values, a: Reference, b: Reference, c: Coefficient, first: bool
) -> Iterator[Candidate]:
    """Yield products of matrices, with the coefficient at the smallest, or in a sum."""
    operands = [values.operand(a), values.operand(b)]
    (m, k), (_, n) = [map(values.egraph.extent, operand.shape) for operand in operands]
    areas = [m * k, k * n, m * n]

    def multiplied(parts: list[Variable], c: Coefficient) -> Variable:
        smallest = 2 if c in (1, -1) else areas.index(min(areas))
        scales = [c if place == smallest else 1 for place in range(3)]
        factors = [values.scaled(d, part) for d, part in zip(scales, parts, strict=False)]
        return values.scaled(scales[2], _matmul(*factors))

    yield values.candidate(operands, partial(multiplied, c=c))
    for side, operand in enumerate(operands if not first else ()):
        absorbing = values.absorbing(operand, c)
        if absorbing is not None:
            both = [absorbing, operands[1]] if side == 0 else [operands[0], absorbing]
            yield values.candidate(both, partial(multiplied, c=1))


def _matmul(x: Variable, y: Variable) -> Variable:
    """Return a product of matrices, by the kernel for their structure."""
    return on_fewer_transposes(_structured_product, [x, y], -1)


def _structured_product(parts: list[Variable]) -> Variable:
    product: Variable = MATMUL(*parts)
    kernel = structured_matmul(product) if all(x.ndim == 2 for x in parts) else None
    return product if kernel is None else kernel(*parts)


def _selection(values: Values, a: Reference, b: Reference, c: Coefficient) -> Iterator[Candidate]:
    """Yield a product with rows of an identity: a slice, or zeros around a matrix."""
    egraph = values.egraph
    on_left = egraph.special(a) == "rows"
    place, other = (a, b) if on_left else (b, a)
    _, start, stop, size = egraph.of(place).special
    if place[2] == int(on_left):  # S.T X or X S: zeros around it
        if isinstance(size, int):  # or nothing says how many zeros
            shape = (size, egraph.shape(b)[1]) if on_left else (egraph.shape(a)[0], size)
            joined = join(values, [Piece(start, stop, other)], 0 if on_left else 1, shape)
            yield joined._replace(build=lambda *parts: values.scaled(c, joined.build(*parts)))
        return

    def sliced(c: Coefficient, x: Variable) -> Variable:
        axis = x.ndim - 2 if on_left and x.ndim > 1 else x.ndim - 1
        is_one = stop - start == 1 and x.ndim <= 2
        entry = ("int", start) if is_one else ("slice", start, stop, None)
        return values.scaled(c, Index((*[_ALL] * axis, entry))(x))

    yield values.linear(c, [other], sliced)


def _stretch(values: Values, a: Reference, b: Reference, c: Coefficient) -> Candidate:
    """Return a column or a row, repeated."""
    egraph = values.egraph
    shape = egraph.shape(a)[0], egraph.shape(b)[1]
    is_column = egraph.special(b) == "ones"
    if is_column and egraph.special(a) == "ones":
        return Candidate(None, (), lambda: values.filled(c, plain(shape)))

    def stretched(c: Coefficient, x: Variable) -> Variable:
        x = values.scaled(c, x)
        if x.ndim > 2:
            return values.broadcast(x, (*x.type.shape[:-2], *shape))
        return values.broadcast(expand_dims(x, (-1,)) if x.ndim == 1 and is_column else x, shape)

    return values.linear(c, [a if is_column else b], stretched)


def _total(values: Values, a: Reference, b: Reference, c: Coefficient) -> Candidate:
    """Return the sums of rows or of columns."""
    over_rows = values.egraph.special(a) == "ones"
    ref = values.egraph.canonical(b if over_rows else a)
    if ref[2] and not values.is_batch(ref):  # the sums are a vector either way
        over_rows, ref = not over_rows, (ref[0], ref[1], 0, ref[3])

    def summed(c: Coefficient, x: Variable) -> Variable:
        axis = -2 if over_rows and x.ndim > 1 else -1
        return values.scaled(c, total(x, axis=axis, keepdims=x.ndim > 2))

    return values.linear(c, [ref], summed)


def _scaled_rows(values: Values, a: Reference, b: Reference, c: Coefficient) -> Candidate:
    """Return a product with a diagonal matrix: rows or columns scaled."""
    egraph = values.egraph
    on_left = egraph.special(a) == "diag"
    diagonal, other = (a, b) if on_left else (b, a)
    entries = values.operand((1, *egraph.of(diagonal).special[1]))
    c *= quotient(1, entries.coefficient) if diagonal[3] else entries.coefficient
    n = max(entries.shape, key=lambda d: d != 1)
    is_turned = (entries.shape[1] != 1) == on_left
    entries = entries._replace(transposed=0, shape=(n, 1) if on_left else (1, n))

    def build(parts: list[Variable]) -> Variable:
        v, x = parts
        v = values.scaled(quotient(1, c) if diagonal[3] else c, v)
        if v.ndim > 2 and is_turned:
            v = transposed(v)
        if v.ndim == 1 and x.ndim > 1 and on_left:
            v = expand_dims(v, (-1,))
        return true_divide(x, v) if diagonal[3] else multiply(v, x)  # type: ignore[no-any-return]

    return values.candidate([entries, values.operand(other)], build)


def _solutions(values: Values, a: Reference, b: Reference, c: Coefficient) -> Iterator[Candidate]:
    """Yield the solutions of systems: a product with an inverse on one side."""
    egraph = values.egraph
    for ref, other, on_left in ((a, b, True), (b, a, False)):
        x = egraph.find(ref[1])[1]
        if not ref[3] or egraph.special(ref) == "diag" or egraph.classes[x].shape == (1, 1):
            continue
        t = ref[2] ^ (not on_left)  # X inv(A) = solve(A.T, X.T).T
        sign, _, t, _ = egraph.canonical((1, x, t, 0))
        operands = [Operand(State(x), 1, t, egraph.classes[x].shape), values.operand(other)]
        lower, upper = (values.holds(x, f"{name}_triangular", t) for name in ("lower", "upper"))
        if lower or upper:
            build = partial(_solution, values, SolveTriangular(lower, 0, False), on_left, sign * c)
            yield values.candidate(operands, build)
            continue
        build = partial(_solution, values, Solve(values.assumption(x)), on_left, sign * c)
        solution = values.candidate(operands, build)
        # The elimination is a state of its own, so that several systems share it.
        cost = values.cost(solution) - values.factorisation_cost(x)
        yield Candidate(
            cost, (*solution.needs, State(x, factored=True)), _without_last(solution.build)
        )


def _solution(
    values: Values, system: Any, on_left: bool, c: Coefficient, parts: list[Variable]
) -> Variable:
    """Return the solution of a system whose matrix is on the left or on the right."""
    matrix, y = parts
    y = values.scaled(c, y)
    if on_left or y.ndim < 2:
        return system(matrix, y)  # type: ignore[no-any-return]
    return transposed(system(matrix, transposed(y)))


def _without_last(build: Any) -> Any:
    return lambda *parts: build(*parts[:-1])


# -- elementwise products --------------------------------------------------------------------------


def hadamard(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    """Yield elementwise products of powers; their coefficient may go into a sum."""
    c, t, _ = label
    refs: list[tuple[Reference, int]] = [((1, x, u ^ t, i), e) for (x, u, i), e in node[1]]
    yield _powers(values, c, refs)
    for place, (ref, e) in enumerate(refs if not first else ()):
        absorbing = values.absorbing(values.operand(ref), c) if e == 1 else None
        if absorbing is not None:
            yield _powers(values, 1, refs, {place: absorbing})


def _powers(
    values: Values,
    c: Coefficient,
    refs: Sequence[tuple[Reference, int]],
    instead: Mapping[int, Operand] = MappingProxyType({}),
) -> Candidate:
    """Return the elementwise product of powers."""
    operands, exponents = [], []
    for place, (ref, e) in enumerate(refs):
        operand = instead.get(place) or values.operand(ref)
        c = rational(c * raised(operand.coefficient, e))
        if operand.shape == (1, 1) and operand.state.inverse:  # a reciprocal of a scalar
            operand, e = operand._replace(state=State(operand.state.x)), -e
        operands.append(operand)
        exponents.append(e)

    def build(parts: list[Variable]) -> Variable:
        powers = [
            (e > 0, _power(values, part, abs(e))) for part, e in zip(parts, exponents, strict=True)
        ]
        above = [part for is_above, part in powers if is_above]
        below = [part for is_above, part in powers if not is_above]
        if not below:
            return values.scaled(c, reduce(multiply, above))
        bottom = reduce(multiply, below)
        if not above and c == 1:
            return reciprocal(bottom)  # type: ignore[no-any-return]
        top = values.scaled(c, reduce(multiply, above)) if above else values.number(c)
        return true_divide(top, bottom)  # type: ignore[no-any-return]

    return values.candidate(operands, build)


def _power(values: Values, x: Variable, e: int) -> Variable:
    if e <= 2:
        return x if e == 1 else square(x)
    return power(x, values.number(e))  # type: ignore[no-any-return]
