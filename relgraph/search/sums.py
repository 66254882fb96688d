"""The ways to compute a sum: additions, or a join of terms that fill disjoint rows or columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from relgraph.ir.node import Variable
from relgraph.ir.types import Dim
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.elementwise import add, subtract
from relgraph.search.egraph import Node, Shape
from relgraph.search.labels import Label, Reference, magnitude
from relgraph.search.values import Candidate, Operand, Values, on_fewer_transposes


class Piece(NamedTuple):
    """What fills the rows (or columns) from one to another of a matrix."""

    start: int
    stop: int
    ref: Reference


def sum_(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    """Yield the ways to compute a sum."""
    c, t, _ = label
    terms = [(c * d, y, u ^ t, i) for (y, u, i), d in node[1]]
    yield _additions(values, terms)
    if first:
        return
    if any(_is_scaled_dyad(values, values.operand(term)) for term in terms):
        yield _additions(values, terms, in_products=True)
    shape = values.egraph.shape(terms[0])
    for axis, size in enumerate(shape):
        pieces = [_piece(values, term, axis) for term in terms]
        placed = sorted(piece for piece in pieces if piece is not None)
        if (
            size != 1
            and isinstance(size, int)
            and len(placed) == len(terms)
            and all(a.stop <= b.start for a, b in pairwise(placed))
        ):
            yield join(values, placed, axis, shape)


def _additions(values: Values, terms: Sequence[Reference], in_products: bool = False) -> Candidate:
    """Return a sum, whose coefficients may go into products."""
    egraph = values.egraph
    ones = [term for term in terms if egraph.is_ones(term)]
    others = [term for term in terms if term not in ones] or terms
    number = sum(term[0] for term in ones) if others is not terms else 0  # a constant is a scalar
    operands = [values.operand(term) for term in others]
    for k, operand in enumerate(operands if in_products else ()):
        if _is_scaled_dyad(values, operand):
            sign = 1 if operand.coefficient > 0 else -1
            state = operand.state._replace(scale=sign * operand.coefficient)
            operands[k] = operand._replace(state=state, coefficient=sign)
    operands.sort(key=lambda operand: operand.coefficient < 0)

    def added(parts: list[Variable]) -> Variable:
        result = values.scaled(operands[0].coefficient, parts[0])
        for part, operand in zip(parts[1:], operands[1:], strict=True):
            op = subtract if operand.coefficient < 0 else add
            result = op(result, values.scaled(magnitude(operand.coefficient), part))
        return add(result, values.number(number)) if number else result

    return values.candidate(operands, lambda parts: on_fewer_transposes(added, parts))


def _is_scaled_dyad(values: Values, operand: Operand) -> bool:
    """Return whether an operand is a multiple of a dyad, so that a vector can take it."""
    egraph, x = values.egraph, operand.state.x
    if abs(operand.coefficient) == 1 or operand.state.inverse or 1 in egraph.classes[x].shape:
        return False
    return any(
        node[0] == "product" and any(1 in egraph.shape((1, *factor)) for factor in node[2])
        for node, _, _ in egraph.view(x)
    )


def _piece(values: Values, term: Reference, axis: int) -> Piece | None:
    """Return the rows (or columns) that a term fills, and what stands there."""
    egraph = values.egraph
    for c, scalars, seq, _, _ in egraph.products(term):
        if len(seq) < 2:
            continue
        end, rest = (seq[0], seq[1:]) if axis == 0 else (seq[-1], seq[:-1])
        kind, *span = egraph.of(end).special
        if kind == "rows" and end[2] == 1 - axis:
            return Piece(span[0], span[1], egraph.product(c, scalars, rest))
    return None


def join(values: Values, pieces: Sequence[Piece], axis: int, shape: Shape) -> Candidate:
    """Return pieces of a matrix side by side, with zeros between them."""
    operands = [values.operand(piece.ref) for piece in pieces]

    def build(parts: list[Variable]) -> Variable:
        batch = max([part.type.shape[:-2] for part in parts], key=len)
        is_vector = 1 in shape and not batch

        def sized(size: Dim) -> tuple[Dim, ...]:
            sides = (size, shape[1]) if axis == 0 else (shape[0], size)
            return (size,) if is_vector else (*batch, *sides)

        joined: list[Variable] = []
        end, size = 0, shape[axis]
        assert isinstance(size, int)
        for piece, part, operand in zip(pieces, parts, operands, strict=True):
            if piece.start > end:
                joined.append(values.filled(0, sized(piece.start - end)))
            part = values.scaled(operand.coefficient, part)
            part = values.at_rank(part, operand.shape, 1 if is_vector else 2)
            if batch and part.ndim == 2:
                part = values.broadcast(part, sized(piece.stop - piece.start))
            joined.append(part)
            end = piece.stop
        if end < size:
            joined.append(values.filled(0, sized(size - end)))
        if len(joined) == 1:
            return joined[0]
        return Concatenate(-1 if is_vector else axis - 2)(*joined)  # type: ignore[no-any-return]

    return values.candidate(operands, build)
