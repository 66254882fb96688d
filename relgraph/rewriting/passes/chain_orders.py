"""The cheapest order of a word: one dynamic program over products, systems and inverses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from relgraph.rewriting.passes.chain_costs import (
    TURNED,
    Size,
    Term,
    product_terms,
    product_value,
    solver_terms,
    value,
)
from relgraph.rewriting.passes.chain_words import Alphabet, Letter, Step, Word

Steps = dict[Word, Step]
_NEVER = 1 << 200


class Costs:
    """The cost of each step, in the sizes of an alphabet."""

    def __init__(self, alphabet: Alphabet, timed: bool) -> None:
        self.alphabet, self.timed = alphabet, timed
        self._structures: dict[int, str] = {}
        self._turned: dict[Word, Word] = {}

    def structure(self, word: Word) -> str:
        """Return what a product with a word saves: only letters have a structure."""
        if len(word) != 1:
            return ""
        known = self._structures.get(word[0])
        if known is None:
            known = self._structures[word[0]] = self.alphabet.letters[word[0]].structure
        return known

    def turned(self, word: Word) -> Word:
        """Return the transpose of a word."""
        known = self._turned.get(word)
        if known is None:
            known = self._turned[word] = self.alphabet.turned(word)
        return known

    def product(self, left: Word, right: Word, sizes: tuple[Any, Any, Any]) -> list[Term]:
        """Return the cost of a product of two words."""
        if len(left) == len(right) and left == self.turned(right):
            saved = "half"
        else:
            saved = self.structure(left) or self.structure(right)
        return product_terms(*sizes, self.timed, saved)

    def kind(self, inverse: Word) -> str:
        """Return the kind of system that applies a word of inverses."""
        if len(inverse) > 1:
            return "general"
        return self.alphabet.letters[inverse[0]].kind

    def system(
        self, inverse: Word, n: Any, r: Any, factored: bool = False, right: bool = False
    ) -> list[Term]:
        """Return the cost of a system with the matrix of a word of inverses.

        ``factored`` says that the matrix is factored anyway, ``right`` that the inverse is on the
        right.
        """
        kind = self.kind(inverse)
        if factored:
            kind = {"general": "lu", "symmetric": "lu", "spd": "cholesky"}.get(kind, kind)
        terms = solver_terms(kind, n, r, self.timed)
        return [*terms, TURNED] if right and self.timed and r != 1 else terms

    def inverse(self, n: Any) -> list[Term]:
        """Return the cost of an inverse as a matrix."""
        return solver_terms("inverse", n, n, self.timed)

    def of(self, word: Word, step: Step, factored: bool = False) -> list[Term]:
        """Return the cost of a step."""
        ends = self.alphabet.ends
        start, end = ends(word[0])[0], ends(word[-1])[1]
        if step.kind == "inverse":
            return self.inverse(start)
        if step.kind == "product":
            return self.product(step.left, step.right, (start, ends(step.right[0])[0], end))
        if step.kind == "left":
            return self.system(step.left, start, end, factored)
        return self.system(step.right, end, start, factored, right=True)


class Order:
    """The cheapest order of one word, by dynamic programming over its parts.

    Parameters
    ----------
    word : tuple of int
        The word, which is not free itself.
    costs : Costs
        The cost of steps.
    numbers : dict
        Numbers for the sizes that are not static.
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
        costs: Costs,
        numbers: Mapping[Size, int],
        *,
        free: Callable[[Word], bool],
        written: Callable[[Word], bool],
        factored: Collection[int],
    ) -> None:
        self.word, self.costs, self.alphabet = word, costs, costs.alphabet
        self._free, self._written, self._factored = free, written, factored
        self._sizes: list[Any] = [numbers.get(s, s) for s in self.alphabet.sizes(word)]
        letters = [self.alphabet.letters[i] for i in word]
        inverses = sum([x.solve is not None for x in letters])
        self._several = costs.timed and inverses > 1  # may be inverted as one matrix
        self._plain_products = not inverses and not any([costs.structure((i,)) for i in word])
        # For the letters i to j, the cost of the value, the systems solved from the right, and the
        # last step; and the cost of the matrix that is solved with instead, and its last product.
        self._values: dict[tuple[int, int], tuple[int, int, Any]] = {}
        self._matrices: dict[tuple[int, int], tuple[int, int | None]] = {}
        self._usable: set[tuple[int, int]] = set()  # the matrices that systems may be solved with
        for i, letter in enumerate(letters):
            self._begin(i, letter)

    def _begin(self, i: int, letter: Letter) -> None:
        """Enter a letter in the tables."""
        if letter.solve is None:
            self._values[i, i] = (0, 0, None)
            return
        self._matrices[i, i] = (0, None)
        self._usable.add((i, i))
        one = self.word[i : i + 1]
        if len(self.word) > 1 and self._free(one):
            self._values[i, i] = (0, 0, None)
        elif letter.explicit and self._written(one):
            cost = value(self.costs.inverse(self._sizes[i]))
            self._values[i, i] = (cost, 0, ("inverse", i))
        else:
            self._values[i, i] = (_NEVER, 0, None)

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
                    self._multiply_matrices(i, j, part)
                if length < count and self._free(part):
                    self._values[i, j] = (0, 0, None)
                else:
                    self._values[i, j] = self._best(i, j, part)
        return {} if self._values[0, count - 1][0] >= _NEVER else self._collected()

    def _multiply_matrices(self, i: int, j: int, part: Word) -> None:
        """Enter the matrix that a product of inverses inverts."""
        matrices, sizes = self._matrices, self._sizes
        matrix = self.alphabet.inverted(part)
        if self._free(matrix):
            matrices[i, j] = (0, None)
        else:
            matrices[i, j] = min(
                (
                    matrices[i, k][0]
                    + matrices[k + 1, j][0]
                    + product_value(sizes[j + 1], sizes[k + 1], sizes[i], self.costs.timed),
                    k,
                )
                for k in range(i, j)
            )
        if self._written(matrix):
            self._usable.add((i, j))

    def _best(self, i: int, j: int, part: Word) -> tuple[int, int, Any]:
        """Return the cheapest last step to the value of a part."""
        values, matrices, usable, sizes = self._values, self._matrices, self._usable, self._sizes
        start, end = sizes[i], sizes[j + 1]
        best: tuple[int, int, Any] = (_NEVER << 1, 0, None)
        for k in range(i, j):
            one, two = values[i, k], values[k + 1, j]
            cost = one[0] + two[0] + self._product(i, k, j)
            if (cost, one[1] + two[1]) < best[:2]:
                best = (cost, one[1] + two[1], ("product", k))
            if (i, k) in usable:
                cost = matrices[i, k][0] + two[0] + self._system(i, k, start, end)
                if (cost, two[1]) < best[:2]:
                    best = (cost, two[1], ("left", k))
            if (k + 1, j) in usable:
                cost = matrices[k + 1, j][0] + one[0] + self._system(k + 1, j, end, start, True)
                if (cost, one[1] + 1) < best[:2]:
                    best = (cost, one[1] + 1, ("right", k))
        if (i, j) in usable and self._written(part):
            cost = matrices[i, j][0] + value(self.costs.inverse(start))
            if (cost, 0) < best[:2]:
                best = (cost, 0, ("inverse", i))
        return best

    def _product(self, i: int, k: int, j: int) -> int:
        """Return the cost of multiplying the letters i to k by the letters after it up to j."""
        ends = (self._sizes[i], self._sizes[k + 1], self._sizes[j + 1])
        if self._plain_products and 2 * (k + 1) != i + j + 1:  # not by its own transpose
            return product_value(*ends, self.costs.timed)
        word = self.word
        return value(self.costs.product(word[i : k + 1], word[k + 1 : j + 1], ends))

    def _system(self, i: int, j: int, n: int, r: int, right: bool = False) -> int:
        """Return the cost of solving with the letters i to j."""
        factored = i == j and self.word[i] in self._factored
        return value(self.costs.system(self.word[i : j + 1], n, r, factored, right))

    def _collected(self) -> Steps:
        """Return the steps that the tables chose."""
        alphabet, word, steps = self.alphabet, self.word, Steps()
        stack: list[tuple[int, int, bool]] = [(0, len(word) - 1, False)]
        while stack:
            i, j, inverted = stack.pop()
            part = word[i : j + 1]
            if inverted:
                middle = self._matrices[i, j][1]
                if middle is not None:
                    one, two = word[i : middle + 1], word[middle + 1 : j + 1]
                    step = Step("product", alphabet.inverted(two), alphabet.inverted(one))
                    steps[alphabet.inverted(part)] = step
                    stack += [(i, middle, True), (middle + 1, j, True)]
                continue
            how = self._values[i, j][2]
            if how is None:
                continue
            kind, k = how
            if kind == "inverse":
                steps[part] = Step("inverse", alphabet.inverted(part))
                stack.append((i, j, True))
                continue
            steps[part] = Step(kind, word[i : k + 1], word[k + 1 : j + 1])
            stack += [(i, k, kind == "left"), (k + 1, j, kind == "right")]
        return steps
