"""What an application becomes in the loop language: a function, and the arrays its caller makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from relgraph.ir.records import record
from relgraph.lowering.loops.nodes import Const, Function, If, Let, Loop, Op, Scalar, Statement, Var


@record(eq=False)
class Array:
    """An array that the caller of a function makes: its dtype and its sizes."""

    dtype: str
    shape: tuple[Scalar, ...]


@record(eq=False)
class LoopFunction:
    """An application of an op in the loop language.

    Attributes
    ----------
    function : Function
        Its arrays are the operands that it reads, the results, arrays for its own use, and the
        status: an int64, which is 0 if the results are complete.
    integers : tuple of (int, int)
        The operand and the axis of each integer.
    operands : tuple of int
        Which operands it reads.
    turned : frozenset of int
        The operands, transposes, of which it takes the matrix that is transposed.
    results, scratch : tuple of Array
        The arrays that its caller makes.
    sizes : callable
        Returns the sizes of an array, of the values of the integers.
    bounded : bool
        Whether it fails for large sizes, which are known only at a call.
    cost : int
        The picoseconds of a run, divided by the product of the integers.
    """

    function: Function
    integers: tuple[tuple[int, int], ...]
    operands: tuple[int, ...]
    turned: frozenset[int]
    results: tuple[Array, ...]
    scratch: tuple[Array, ...]
    definitions: dict[Var, Scalar]
    bounded: bool
    cost: int

    def sizes(self, array: Array, integers: Sequence[int]) -> tuple[int, ...]:
        """Return the sizes of an array for the values of the integers."""
        known = dict(zip(self.function.integers[1:], integers, strict=True))
        return tuple([self._size(x, known) for x in array.shape])

    def size(self, x: Scalar, integers: Sequence[int]) -> int | None:
        """Return the value of a size, or None if the function computes it."""
        try:
            return self.sizes(Array("int64", (x,)), integers)[0]
        except (KeyError, AssertionError):
            return None

    def _size(self, x: Scalar, known: dict[Var, int]) -> int:
        if isinstance(x, Const):
            return int(x.value)
        if isinstance(x, Var) and x in known:
            return known[x]
        op = self.definitions[x] if isinstance(x, Var) else x
        assert isinstance(op, Op)
        a, b = [self._size(y, known) for y in op.args]
        return int(_SIZES[str(op.op)](a, b))


_SIZES: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "rem": lambda a, b: a % b,
    "min": min,
    "max": max,
}


def definitions(body: Sequence[Statement]) -> Iterator[tuple[Var, Scalar]]:
    """Return the variables that statements bind to a value, in loops and choices, too."""
    for s in body:
        if isinstance(s, Let):
            yield s.var, s.value
        elif isinstance(s, If):
            yield from definitions([*s.then, *s.other])
        elif isinstance(s, Loop):
            yield from definitions(s.body)


__all__ = ["Array", "LoopFunction", "definitions"]
