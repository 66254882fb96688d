"""The cheapest order of a word: one dynamic program over products, systems and inverses.

A step costs what the op says that computes it: picoseconds if all sizes are static, so that a call
of LAPACK on a 2 by 2 matrix costs what it costs, and floating-point operations otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.ir.cost import Sized
from relgraph.ir.machine import op_seconds
from relgraph.ir.node import make_input
from relgraph.ir.op import Op
from relgraph.ir.sizes import Size
from relgraph.ir.types import TensorType
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.factorisations import LUFactor
from relgraph.ops.linalg.solve import Cholesky
from relgraph.rewriting.passes.chain_words import (
    GENERAL,
    INV,
    MATMUL,
    SPD,
    SWAP,
    SYMMETRIC,
    Alphabet,
    Step,
    Word,
)

# How systems with one matrix share their elimination: the op that factors it, and the one that
# solves with the factors.
FACTORS: dict[Op, tuple[Op, Op]] = {
    GENERAL: (LUFactor(), LUSolve(0)),
    SYMMETRIC: (LUFactor(), LUSolve(0)),
    SPD: (Cholesky(True), ChoSolve(True)),
}
Steps = dict[Word, Step]
Pair = tuple[int, int]
_NEVER = 1 << 200
_FLOAT = np.dtype("float64")
_ONE = make_input("x", TensorType("float64", (None, None)))
_GRAM = (_ONE, SWAP(_ONE))


@lru_cache(1 << 14)
def price(op: Op, shapes: tuple[Any, ...], timed: bool, gram: bool = False) -> Any:
    """Return what an op on matrices costs.

    Parameters
    ----------
    op : Op
        The op.
    shapes : tuple of (size, size)
        Those of the operands, without pivots.  The result has the rows of the first and the columns
        of the last.
    timed : bool
        Whether to return picoseconds rather than operations, for which sizes may be polynomials.
    gram : bool
        Whether the op multiplies a matrix by its own transpose.
    """
    types = tuple([Sized(_FLOAT, shape) for shape in shapes])
    result = Sized(_FLOAT, (shapes[0][0], shapes[-1][1]))
    if timed:
        seconds = op_seconds(op, types, result, inputs=_GRAM if gram else None)
        return int(seconds * 1e12)
    return op.node_flops(_GRAM, types, result) if gram else op.flops(types, result)


class Prices:
    """What the steps of words cost.

    Parameters
    ----------
    alphabet : Alphabet
        The letters.
    sizes : mapping of Size to int or Polynomial
        What stands for the sizes that are not static.
    timed : bool
        Whether a cost is a time.
    """

    def __init__(self, alphabet: Alphabet, sizes: Mapping[Size, Any], timed: bool) -> None:
        self.alphabet, self.timed, self._values = alphabet, timed, sizes
        self._ends: dict[int, tuple[Any, Any]] = {}

    def ends(self, i: int) -> tuple[Any, Any]:
        """Return the numbers of rows and columns of a letter."""
        ends = self._ends.get(i)
        if ends is None:
            rows, columns = self.alphabet.ends(i)
            values = self._values
            ends = self._ends[i] = (values.get(rows, rows), values.get(columns, columns))
        return ends

    def product(self, left: Word, right: Word, m: Any, k: Any, n: Any) -> Any:
        """Return the cost of a product of two words, an m by k and a k by n matrix."""
        if self.alphabet.mirrors(left, right):
            return price(MATMUL, ((m, k), (k, n)), self.timed, True)
        kernel = self.alphabet.kernel
        op = (len(left) == 1 and kernel(left[0], 0)) or (len(right) == 1 and kernel(right[0], 1))
        return price(op or MATMUL, ((m, k), (k, n)), self.timed)

    def solver(self, inverse: Word) -> Op:
        """Return the op that applies a word of inverses."""
        op: Op = GENERAL if len(inverse) > 1 else self.alphabet.letters[inverse[0]].solve
        return op

    def system(self, op: Op, n: Any, r: Any, factored: bool = False, right: bool = False) -> Any:
        """Return the cost of a system of side n with r right sides.

        ``factored`` says that the matrix is factored anyway, ``right`` that the inverse is on the
        right: then both sides are transposed, and the result.
        """
        if factored and op in FACTORS:
            op = FACTORS[op][1]
        cost = price(op, ((n, n), (n, r)), self.timed)
        return cost + 3 * price(SWAP, ((n, r),), self.timed) if right and r != 1 else cost

    def factorisation(self, letter: int) -> Any:
        """Return the cost of the factors of a matrix that systems share."""
        n, _ = self.ends(letter)
        return price(FACTORS[self.solver((letter,))][0], ((n, n),), self.timed)

    def inverse(self, n: Any) -> Any:
        """Return the cost of an inverse as a matrix."""
        return price(INV, ((n, n),), self.timed)

    def of(self, word: Word, step: Step, factored: bool = False) -> Any:
        """Return the cost of a step."""
        start, end = self.ends(word[0])[0], self.ends(word[-1])[1]
        if step.kind == "inverse":
            return self.inverse(start)
        if step.kind == "product":
            return self.product(step.left, step.right, start, self.ends(step.right[0])[0], end)
        if step.kind == "left":
            return self.system(self.solver(step.left), start, end, factored)
        return self.system(self.solver(step.right), end, start, factored, right=True)


class Order:
    """The cheapest order of one word, by dynamic programming over its parts.

    Parameters
    ----------
    word : tuple of int
        The word, which is not free itself.
    prices : Prices
        The cost of steps, for sizes that are numbers.
    free : callable
        Returns True for a word that is computed anyway.
    written : callable
        Returns True for a word that the graph computes as written.  No other inverse is computed
        as a matrix, and no other product of matrices inverted as one: solving with each of them in
        turn loses fewer digits.
    factored : collection of int
        The inverses whose matrices are factored anyway.
    """

    def __init__(
        self,
        word: Word,
        prices: Prices,
        *,
        free: Callable[[Word], bool],
        written: Callable[[Word], bool],
        factored: Collection[int],
    ) -> None:
        self.word, self.prices, self.alphabet = word, prices, prices.alphabet
        self._free, self._written, self._factored = free, written, factored
        self._sizes = [prices.ends(word[0])[0], *[prices.ends(i)[1] for i in word]]
        letters = [self.alphabet.letters[i] for i in word]
        inverses = sum([x.solve is not None for x in letters])
        self._several = prices.timed and inverses > 1  # may be inverted as one matrix
        self._plain = not any([self.alphabet.kernel(i, 0) for i in word])
        # For the letters i to j, the cost of the value, the systems solved from the right, and the
        # last step; and the cost of the matrix that is solved with instead, and its steps.
        self._values: dict[Pair, tuple[int, int, Any]] = {}
        self._matrices: dict[Pair, tuple[int, Steps]] = {}
        for i, letter in enumerate(letters):
            cost, step = 0, None
            if letter.solve is not None:
                self._matrices[i, i] = (0, {})
                one = word[i : i + 1]
                if len(word) == 1 or not free(one):
                    explicit = letter.explicit and written(one)
                    cost = prices.inverse(self._sizes[i]) if explicit else _NEVER
                    step = ("inverse", i) if explicit else None
            self._values[i, i] = (cost, 0, step)

    @property
    def cost(self) -> int:
        """The cost of the steps."""
        return self._values[0, len(self.word) - 1][0]

    def steps(self) -> Steps:
        """Return the steps of the word and of the words between it and its letters or free words.

        Nothing is returned if nothing computes the word.
        """
        count = len(self.word)
        for length in range(2, count + 1):
            for i in range(count - length + 1):
                j = i + length - 1
                part = self.word[i : j + 1]
                if self._several and self.alphabet.solved(part):
                    self._enter_matrix(i, j, self.alphabet.inverted(part))
                if length < count and self._free(part):
                    self._values[i, j] = (0, 0, None)
                else:
                    self._values[i, j] = self._best(i, j, part)
        return {} if self.cost >= _NEVER else self._collected()

    def _enter_matrix(self, i: int, j: int, matrix: Word) -> None:
        """Enter the product that the letters i to j are the inverse of, if the graph has it."""
        if self._written(matrix):
            self._matrices[i, j] = (0, {})
            if not self._free(matrix):
                free, written, factored = self._free, self._written, self._factored
                order = Order(matrix, self.prices, free=free, written=written, factored=factored)
                steps = order.steps()
                self._matrices[i, j] = (order.cost, steps)

    def _best(self, i: int, j: int, part: Word) -> tuple[int, int, Any]:
        """Return the cheapest last step to the value of a part, with the cost."""
        values, matrices, sizes = self._values, self._matrices, self._sizes
        timed, plain = self.prices.timed, self._plain
        start, end = sizes[i], sizes[j + 1]
        least, fewest, best = _NEVER << 1, 0, None
        for k in range(i, j):
            left, turns, _ = values[i, k]
            right, other_turns, _ = values[k + 1, j]
            cost = left + right
            if cost <= least:
                if plain and 2 * (k + 1) != i + j + 1:  # not by its own transpose
                    cost += price(MATMUL, ((start, sizes[k + 1]), (sizes[k + 1], end)), timed)
                else:
                    words = part[: k + 1 - i], part[k + 1 - i :]
                    cost += self.prices.product(*words, start, sizes[k + 1], end)
                if cost < least or (cost == least and turns + other_turns < fewest):
                    least, fewest, best = cost, turns + other_turns, ("product", k)
            if (i, k) in matrices:
                cost = self._system(i, k, start, end) + right
                if cost < least or (cost == least and other_turns < fewest):
                    least, fewest, best = cost, other_turns, ("left", k)
            if (k + 1, j) in matrices:
                cost = self._system(k + 1, j, end, start, True) + left
                if cost < least or (cost == least and turns + 1 < fewest):
                    least, fewest, best = cost, turns + 1, ("right", k)
        if (i, j) in matrices and self._written(part):
            cost = matrices[i, j][0] + self.prices.inverse(start)
            if cost < least or (cost == least and fewest):
                least, fewest, best = cost, 0, ("inverse", i)
        return least, fewest, best

    def _system(self, i: int, j: int, n: int, r: int, right: bool = False) -> int:
        """Return the cost of solving with the letters i to j."""
        factored = i == j and self.word[i] in self._factored
        solver = self.prices.solver(self.word[i : j + 1])
        return self._matrices[i, j][0] + self.prices.system(solver, n, r, factored, right)  # type: ignore[no-any-return]

    def _collected(self) -> Steps:
        """Return the steps that the tables chose."""
        word, steps = self.word, Steps()
        stack = [(0, len(word) - 1)]
        while stack:
            i, j = stack.pop()
            choice = self._values[i, j][2]
            if choice is None:
                continue
            (kind, k), part = choice, word[i : j + 1]
            if kind == "inverse":
                steps[part] = Step(kind, self.alphabet.inverted(part))
                steps |= self._matrices[i, j][1]
                continue
            steps[part] = Step(kind, word[i : k + 1], word[k + 1 : j + 1])
            for side, pair in (("left", (i, k)), ("right", (k + 1, j))):
                if side == kind:
                    steps |= self._matrices[pair][1]
                else:
                    stack.append(pair)
        return steps
