"""Products, systems and inverses of a graph as words of factors.

A word is a sequence of letters: matrices, transposed matrices, and inverses of either.  The chain
``inv(A) @ B.mT @ x`` is a word of three letters, in whatever order its products are written, and
its transpose is the word of the transposed letters, reversed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from relgraph.ir.fact_inference import fact
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.sizes import Equalities, Size, size_at
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.solve import Inv, Solve, SolveTriangular
from relgraph.ops.permutation import MatrixTranspose
from relgraph.rewriting.passes.blas import structured_kernel

MATMUL, INV, SWAP = Matmul(), Inv(), MatrixTranspose()
GENERAL, SPD, SYMMETRIC = Solve("general"), Solve("spd"), Solve("symmetric")
JOINED = (Matmul, Solve, SolveTriangular, ChoSolve, LUSolve, Inv)
LONGEST = 64  # the most letters of a word; the products of a longer chain become letters

Word = tuple[int, ...]  # letters by number


class Letter(NamedTuple):
    """A factor of a chain.

    Attributes
    ----------
    x : Variable
        A matrix, or a vector at an end of the chain.
    row : bool
        Whether a vector is a row, and not a column.
    solve : Op or None
        The op that applies the inverse of ``x``, if the factor is the inverse.
    rest : tuple of Variable
        The operands of ``solve`` between the matrix and the right side.
    explicit : bool
        Whether the inverse may be computed as a matrix.
    """

    x: Variable
    row: bool = False
    solve: Any = None
    rest: tuple[Variable, ...] = ()
    explicit: bool = False

    def transposed(self) -> Letter:
        """Return the transpose of the factor."""
        if self.x.ndim < 2:
            return self._replace(row=not self.row)
        if self.solve is None or self.explicit:
            return inverse_of(flip(self.x)) if self.solve else Letter(flip(self.x))
        if isinstance(self.solve, SolveTriangular):
            lower, trans, unit = self.solve.params
            return self._replace(solve=SolveTriangular(lower, 1 - trans, unit))
        if isinstance(self.solve, LUSolve):
            return self._replace(solve=LUSolve(1 - self.solve.params[0]))
        return self  # Cholesky's factor, or a matrix assumed symmetric


def flip(x: Variable) -> Variable:
    """Return the transpose of a matrix; vectors and symmetric matrices are unchanged."""
    if x.ndim < 2 or fact(x, "symmetric"):
        return x
    return x.inputs[0] if x.op is SWAP else SWAP(x)


def inverse_of(x: Variable) -> Letter:
    """Return the letter for the inverse of a matrix, which exists, so a ``psd`` one is ``spd``."""
    if fact(x, "psd"):
        return Letter(x, solve=SPD, explicit=True)
    for name in ("lower_triangular", "upper_triangular"):
        if fact(x, name):
            return Letter(x, solve=SolveTriangular(name[0] == "l", 0, False), explicit=True)
    solve = SYMMETRIC if fact(x, "symmetric") else GENERAL
    return Letter(x, solve=solve, explicit=True)


def is_joined(node: Variable) -> bool:
    """Return True for a product, a system or an inverse of matrices and vectors of one dtype."""
    if not isinstance(node.op, JOINED):
        return False
    operands = (node.inputs[0], node.inputs[-1])
    return all(x.ndim <= 2 and x.dtype == node.dtype for x in operands)


class Step(NamedTuple):
    """How the value of a word is computed from those of shorter ones.

    Attributes
    ----------
    kind : {"product", "left", "right", "inverse"}
        The product of two parts; a system with the inverse of ``left`` or of ``right``, from that
        side; or the inverse of the matrix that ``left`` is the word of.
    left, right : tuple of int
        The parts.
    """

    kind: str
    left: Word
    right: Word = ()

    @property
    def inverse(self) -> Word:
        """The inverse that a system applies, else an empty word."""
        if self.kind == "left":
            return self.left
        return self.right if self.kind == "right" else ()

    def turned(self, alphabet: Alphabet) -> Step:
        """Return the step to the transpose of the word."""
        left, right = alphabet.turned(self.left), alphabet.turned(self.right)
        if self.kind == "inverse":
            return Step("inverse", left)
        return Step({"left": "right", "right": "left"}.get(self.kind, self.kind), right, left)


class Alphabet:
    """The letters of a graph by number, with their transposes, inverses and sizes."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self._numbers: dict[Letter, int] = {}
        self._turned: dict[int, int] = {}
        self._inverted: dict[int, int] = {}
        self._ends: dict[int, tuple[Size, Size]] = {}
        self._kernels: dict[tuple[int, int], Op | None] = {}
        self._equalities = Equalities()

    def number(self, letter: Letter) -> int:
        """Return the number of a letter."""
        number = self._numbers.setdefault(letter, len(self.letters))
        if number == len(self.letters):
            self.letters.append(letter)
        return number

    def turned(self, word: Word) -> Word:
        """Return the transpose of a word."""
        return tuple([self._turn(i) for i in reversed(word)])

    def mirrors(self, left: Word, right: Word) -> bool:
        """Return True if a word is the transpose of another one."""
        if len(left) != len(right):
            return False
        return all(self._turn(j) == i for i, j in zip(left, reversed(right), strict=True))

    def _turn(self, i: int) -> int:
        j = self._turned.get(i)
        if j is None:
            j = self._turned[i] = self.number(self.letters[i].transposed())
            self._turned[j] = i
        return j

    def inverted(self, word: Word) -> Word:
        """Return the word of the inverse, of letters that are square."""
        return tuple([self._invert(i) for i in reversed(word)])

    def _invert(self, i: int) -> int:
        j = self._inverted.get(i)
        if j is None:
            letter = self.letters[i]
            other = Letter(letter.x) if letter.solve else inverse_of(letter.x)
            j = self._inverted[i] = self.number(other)
            self._inverted[j] = i
        return j

    def invertible(self, word: Word) -> bool:
        """Return True if the inverse of a word is a word, of letters of static size."""
        for i in word:
            letter = self.letters[i]
            if letter.x.ndim != 2 or (letter.solve is not None and not letter.explicit):
                return False
            assert isinstance(letter.x.type, TensorType)
            rows, columns = letter.x.type.shape
            if not isinstance(rows, int) or rows != columns:
                return False
        return True

    def solved(self, word: Word) -> bool:
        """Return True if all letters of a word are inverses that may be multiplied."""
        return all([self.letters[i].explicit for i in word])

    def ends(self, i: int) -> tuple[Size, Size]:
        """Return the numbers of rows and columns of a letter."""
        ends = self._ends.get(i)
        if ends is None:
            letter = self.letters[i]
            size = size_at(letter.x, -1)
            if letter.x.ndim < 2:
                ends = (1, size) if letter.row else (size, 1)
            else:
                ends = (size_at(letter.x, -2), size)
            self._ends[i] = ends
            if letter.solve is not None:
                self._equalities.join(*ends)
        find = self._equalities.find
        return find(ends[0]), find(ends[1])

    def join(self, left: Word, right: Word) -> None:
        """Note that a product of two words compares their inner sizes."""
        self._equalities.join(self.ends(left[-1])[1], self.ends(right[0])[0])

    def kernel(self, i: int, side: int) -> Op | None:
        """Return the op for products with a letter on a side, if it has a structure."""
        key = (i, side)
        if key not in self._kernels:
            letter = self.letters[i]
            plain = letter.solve is not None or letter.x.ndim < 2
            self._kernels[key] = None if plain else structured_kernel(letter.x, side)
        return self._kernels[key]


class Words:
    """The products, systems and inverses of a graph as words, and how they are written.

    Parameters
    ----------
    nodes : iterable of Variable
        The nodes, operands first.  Others are not parts of words.
    outputs : iterable of Variable
        Those that are needed in any case.

    Attributes
    ----------
    alphabet : Alphabet
        Its letters.
    written : dict of Variable to (word, Step)
        Each product, system and inverse.
    needed : list of Variable
        Those that anything but another one of them reads.
    """

    def __init__(self, nodes: Iterable[Variable], outputs: Iterable[Variable]) -> None:
        self.alphabet = Alphabet()
        self.written: dict[Variable, tuple[Word, Step]] = {}
        self._absorbed: set[tuple[Variable, int]] = set()  # operands whose words are read
        order = list(nodes)
        for node in order:
            if is_joined(node):
                self.written[node] = self._read(node)
        needed = set(outputs)
        for node in reversed(order):
            if node.op is not SWAP or node in needed:
                operands = enumerate(node.inputs)
                needed.update([x for k, x in operands if (node, k) not in self._absorbed])
        self.needed = [node for node in self.written if node in needed]

    def _read(self, node: Variable) -> tuple[Word, Step]:
        """Return the word of a node, and its step."""
        last = len(node.inputs) - 1
        if node.op is INV:
            inverse = self._inverse(node)
            return inverse, Step("inverse", self.alphabet.inverted(inverse))
        is_product = node.op is MATMUL
        left = self._part(node, 0, row=True) if is_product else self._inverse(node)
        right = self._part(node, last)
        if len(left) + len(right) > LONGEST:
            right = self._letter(node, last)
            if len(left) >= LONGEST and is_product:
                left = self._letter(node, 0, row=True)
        self.alphabet.join(left, right)
        return (*left, *right), Step("product" if is_product else "left", left, right)

    def _letter(self, node: Variable, place: int, row: bool = False) -> Word:
        """Return an operand as a letter."""
        self._absorbed.discard((node, place))
        x = node.inputs[place]
        return (self.alphabet.number(Letter(x, row and x.ndim == 1)),)

    def _part(self, node: Variable, place: int, row: bool = False) -> Word:
        """Return the word of an operand; ``row`` if it is a row where it is a vector."""
        core, is_turned = node.inputs[place], False
        while core.op is SWAP:
            core, is_turned = core.inputs[0], not is_turned
        if core not in self.written or core.ndim == 0:
            return self._letter(node, place, row)
        self._absorbed.add((node, place))
        word, _ = self.written[core]
        if core.ndim == 1:
            first = self.alphabet.letters[word[0]]
            is_turned = row != (first.x.ndim == 1 and first.row)
        return self.alphabet.turned(word) if is_turned else word

    def _inverse(self, node: Variable) -> Word:
        """Return the word of the inverse of the matrix of a system, or of an inverse."""
        if node.op is not GENERAL and node.op is not INV:
            matrix, *rest = node.inputs[:-1]
            return (self.alphabet.number(Letter(matrix, False, node.op, tuple(rest))),)
        word = self._part(node, 0)
        if (node, 0) in self._absorbed and not self.alphabet.invertible(word):
            word = self._letter(node, 0)
        return self.alphabet.inverted(word)
