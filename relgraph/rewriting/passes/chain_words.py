"""Products, systems and inverses of a graph as words of factors.

A word is a sequence of letters: matrices, transposed matrices, and inverses of either.  The chain
``inv(A) @ B.mT @ x`` is a word of three letters, in whatever order its products are written, and
its transpose is the word of the transposed letters, reversed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from relgraph.ir.cost import extent
from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.solve import Inv, Solve, SolveTriangular
from relgraph.ops.linalg.structured_matmul import BAND, TRIANGLE
from relgraph.ops.permutation import MatrixTranspose
from relgraph.rewriting.passes.chain_costs import Size

MATMUL, INV, SWAP = Matmul(), Inv(), MatrixTranspose()
GENERAL, SPD, SYMMETRIC = Solve("general"), Solve("spd"), Solve("symmetric")
JOINED = (Matmul, Solve, SolveTriangular, ChoSolve, LUSolve, Inv)
LONGEST = 64  # the most letters of a word; the products of a longer chain become letters
_KINDS = {SolveTriangular: "triangular", LUSolve: "lu", ChoSolve: "cholesky"}

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

    @property
    def kind(self) -> str:
        """The kind of system that applies the inverse."""
        return str(_KINDS.get(type(self.solve)) or self.solve.params[0])

    @property
    def structure(self) -> str:
        """What a product with the matrix saves, as :func:`product_terms` calls it."""
        if self.solve is not None or self.x.ndim < 2:
            return ""
        side = extent(self.x.type.shape[-1])
        if side >= BAND and fact(self.x, "tridiagonal"):
            return "band"
        triangular = fact(self.x, "lower_triangular") or fact(self.x, "upper_triangular")
        return "half" if side >= TRIANGLE and triangular else ""


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


class Alphabet:
    """The letters of a graph by number, with their transposes, inverses and sizes."""

    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self._numbers: dict[Letter, int] = {}
        self._turned: dict[int, int] = {}
        self._inverted: dict[int, int] = {}
        self._sizes: dict[int, tuple[Size, Size]] = {}
        self._cores: dict[Variable, int] = {}
        self._equal: dict[Size, Size] = {}  # sizes that a product compares, to one of them

    def number(self, letter: Letter) -> int:
        """Return the number of a letter."""
        known = self._numbers.setdefault(letter, len(self.letters))
        if known == len(self.letters):
            self.letters.append(letter)
        return known

    def turned(self, word: Word) -> Word:
        """Return the transpose of a word."""
        return tuple([self._turn(i) for i in reversed(word)])

    def _turn(self, i: int) -> int:
        known = self._turned.get(i)
        if known is None:
            known = self._turned[i] = self.number(self.letters[i].transposed())
            self._turned[known] = i
        return known

    def inverted(self, word: Word) -> Word:
        """Return the word of the inverse, of letters that are square."""
        return tuple([self._invert(i) for i in reversed(word)])

    def _invert(self, i: int) -> int:
        known = self._inverted.get(i)
        if known is None:
            letter = self.letters[i]
            other = Letter(letter.x) if letter.solve else inverse_of(letter.x)
            known = self._inverted[i] = self.number(other)
            self._inverted[known] = i
        return known

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
        known = self._sizes.get(i)
        if known is None:
            known = self._sizes[i] = self._shape(self.letters[i])
            if self.letters[i].solve is not None:
                self._unify(*known)
        return self._same(known[0]), self._same(known[1])

    def _shape(self, letter: Letter) -> tuple[Size, Size]:
        core, turned = letter.x, False
        while core.op is SWAP:
            core, turned = core.inputs[0], not turned
        assert isinstance(core.type, TensorType)
        place = self._cores.setdefault(core, len(self._cores))
        shape = [d if d is not None else f"?{place}.{k}" for k, d in enumerate(core.type.shape)]
        if len(shape) == 1:
            return (1, shape[0]) if letter.row else (shape[0], 1)
        rows, columns = shape
        return (columns, rows) if turned else (rows, columns)

    def join(self, left: Word, right: Word) -> None:
        """Note that a product of two words compares their inner sizes."""
        self._unify(self.ends(left[-1])[1], self.ends(right[0])[0])

    def _same(self, size: Size) -> Size:
        while size in self._equal:
            size = self._equal[size]
        return size

    def _unify(self, a: Size, b: Size) -> None:
        a, b = self._same(a), self._same(b)
        if a == b:
            return
        first, other = sorted((a, b), key=_rank)
        if not isinstance(other, int):
            self._equal[other] = first

    def sizes(self, word: Word) -> list[Size]:
        """Return the sizes along a word: letter i is of ``sizes[i]`` by ``sizes[i + 1]``."""
        return [self.ends(word[0])[0], *[self.ends(i)[1] for i in word]]


def _rank(size: Size) -> tuple[int, str]:
    """Order sizes: static ones first, then named ones, then unknown ones."""
    return (0 if isinstance(size, int) else 1 + size.startswith("?"), str(size))


class Words:
    """The products, systems and inverses of a graph as words, and how they are written.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    within : collection of Variable, optional
        The nodes that may be parts of words; all by default.

    Attributes
    ----------
    alphabet : Alphabet
        Its letters.
    written : dict of Variable to (word, Step)
        Each product, system and inverse.
    needed : list of Variable
        Those that anything but another one of them reads.
    """

    def __init__(self, graph: FunctionGraph, within: Collection[Variable] | None = None) -> None:
        self.alphabet = Alphabet()
        self.written: dict[Variable, tuple[Word, Step]] = {}
        absorbed: set[tuple[Variable, int]] = set()
        order = list(graph)
        for node in order:
            if is_joined(node) and (within is None or node in within):
                self.written[node] = self._read(node, absorbed)
        self.needed: list[Variable] = []
        inner: set[Variable] = set()  # what only words read
        for node in reversed(order):
            if node not in self.written and node.op is not SWAP:
                continue
            for client, place in graph.clients[node]:
                if isinstance(client, str) or not (
                    (client, place) in absorbed or (client.op is SWAP and client in inner)
                ):
                    break
            else:
                inner.add(node)
                continue
            if node in self.written:
                self.needed.append(node)
        self.needed.reverse()

    def _read(self, node: Variable, absorbed: set[tuple[Variable, int]]) -> tuple[Word, Step]:
        """Return the word of a node, and its step."""
        letters = self.alphabet
        last = len(node.inputs) - 1
        if node.op is INV:
            inverse = self._inverse(node, absorbed)
            return inverse, Step("inverse", letters.inverted(inverse))
        if node.op is MATMUL:
            left = self._part(node, 0, absorbed, row=True)
            right = self._part(node, last, absorbed)
            kind = "product"
        else:
            left = self._inverse(node, absorbed)
            right = self._part(node, last, absorbed)
            kind = "left"
        if len(left) + len(right) > LONGEST:
            absorbed.discard((node, last))
            right = (letters.number(Letter(node.inputs[last])),)
            if len(left) >= LONGEST and kind == "product":
                absorbed.discard((node, 0))
                left = (letters.number(Letter(node.inputs[0], node.inputs[0].ndim == 1)),)
        letters.join(left, right)
        return (*left, *right), Step(kind, left, right)

    def _part(
        self, node: Variable, place: int, absorbed: set[tuple[Variable, int]], row: bool = False
    ) -> Word:
        """Return the word of an operand; ``row`` if it is a row where it is a vector."""
        core = x = node.inputs[place]
        turned = False
        while core.op is SWAP:
            core, turned = core.inputs[0], not turned
        known = self.written.get(core)
        if known is None or core.ndim == 0:
            return (self.alphabet.number(Letter(x, row=row and x.ndim == 1)),)
        absorbed.add((node, place))
        word = known[0]
        if core.ndim == 1:
            turned = row != self._starts_with_row(word)
        return self.alphabet.turned(word) if turned else word

    def _starts_with_row(self, word: Word) -> bool:
        letter = self.alphabet.letters[word[0]]
        return letter.x.ndim == 1 and letter.row

    def _inverse(self, node: Variable, absorbed: set[tuple[Variable, int]]) -> Word:
        """Return the word of the inverse of the matrix of a system, or of an inverse."""
        op, x = node.op, node.inputs[0]
        if op is not GENERAL and op is not INV:
            return (self.alphabet.number(Letter(x, False, op, tuple(node.inputs[1:-1]))),)
        word = self._part(node, 0, absorbed)
        if (node, 0) in absorbed:
            if self.alphabet.invertible(word):
                return self.alphabet.inverted(word)
            absorbed.discard((node, 0))
        number = self.alphabet.number(Letter(x))
        inverse = self.alphabet.number(inverse_of(x))
        self.alphabet._inverted[number] = inverse
        self.alphabet._inverted[inverse] = number
        return (inverse,)
