"""The order of chains of matrix products and linear systems, by cost.

An inverse in a chain is a factor like any other: applying it to a block means solving a system,
from the left or, transposed, from the right, unless the inverse is computed anyway or a product
with it takes less time.  Parts that several chains have in common, or their transposes, are
computed once where that costs less.  Unknown sizes are symbols, and equal names are equal sizes:
the cost of an order is then a polynomial, and the pass changes the order only if the new one costs
no more for all sizes from 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from relgraph.ir.cost import LEAST, NOMINAL
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.polynomial import Number, Polynomial, at_most
from relgraph.ir.sizes import Size
from relgraph.rewriting.passes.chain_orders import FACTORS, Order, Prices, Steps
from relgraph.rewriting.passes.chain_words import (
    INV,
    JOINED,
    MATMUL,
    Alphabet,
    Step,
    Word,
    Words,
    flip,
    inverse_of,
)
from relgraph.rewriting.passes.structured_products import column_row
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

_SMALL, _LARGE = 2, 4096
_NAMES = 6  # the most symbols that are varied one at a time
_WORK = 1_000_000  # the most ways to divide a word that one component may try
_CANDIDATES = 24  # the most common parts of words that are tried


class MatmulChain(GraphRewriter):
    """Multiplies chains of matrices, and solves with inverted ones, in the cheapest order.

    A product, a system or an inverse that something else needs costs nothing more.  If all sizes
    are static, times decide, so that a call of LAPACK on a small matrix counts.  Sizes that are not
    static count as symbols: the order changes only if it costs no more operations for all their
    values from 4.  A product with a single term in each sum is an elementwise product.

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
    >>> rg.rewrite_graph((A.mT @ B).mT @ A.mT @ B, MatmulChain())
    (A.mT @ B).mT @ (A.mT @ B)
    """

    def __init__(self) -> None:
        super().__init__(name="matmul_chain")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with its chains in the best order."""
        if not any(isinstance(node.op, JOINED) for node in graph):
            return graph
        changes = _batches(graph) | ordered(Words(graph, graph.outputs))
        return _column_rows(with_changes(graph, changes))


def ordered(words: Words) -> dict[Variable, Variable]:
    """Return the replacements of the words of a graph that cost less in another order."""
    changes: dict[Variable, Variable] = {}
    for component in _components(words):
        changes |= component.rewritten()
    return changes


def _batches(graph: FunctionGraph) -> dict[Variable, Variable]:
    """Return systems for the products with batches of inverses."""
    changes: dict[Variable, Variable] = {}
    for node in graph:
        if node.op is MATMUL:
            inverse, b = node.inputs
            if inverse.op is INV and inverse.ndim > 2 and len(graph.clients[inverse]) == 1:
                letter = inverse_of(inverse.inputs[0])
                made = letter.solve(letter.x, b)
                if made.type.narrows(node.type):
                    changes[node] = made
    return changes


def _column_rows(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph with the products that have a single term in each sum as ``A * B``."""
    made = {node: column_row(node) for node in graph if node.op is MATMUL}
    return with_changes(graph, {node: x for node, x in made.items() if x is not None})


def _components(words: Words) -> Iterator[_Component]:
    """Yield groups of words that have nothing in common, if any of a group can change."""
    alphabet = words.alphabet
    parents: dict[Any, Any] = {}

    def root(x: Any) -> Any:
        while parents.setdefault(x, x) is not x and parents[x] != x:
            x = parents[x]
        return x

    for node, (word, _) in words.written.items():
        pairs: list[Word] = [(word[i], word[i + 1]) for i in range(len(word) - 1)]
        pairs += [(i,) for i in word if alphabet.letters[i].solve is not None]
        for pair in pairs:
            for one in (pair, alphabet.turned(pair)):
                parents[root(one)] = root(node)
            if alphabet.invertible(pair):
                parents[root(alphabet.inverted(pair))] = root(node)
    groups: dict[Any, list[Variable]] = {}
    for node in words.written:
        groups.setdefault(root(node), []).append(node)
    for nodes in groups.values():
        if len(nodes) > 1:
            yield _Component(words, nodes)


class _Component:
    """Words with parts in common, and the step that computes each of them."""

    def __init__(self, words: Words, nodes: list[Variable]) -> None:
        self.alphabet: Alphabet = words.alphabet
        self._orientations: dict[Word, tuple[Word, bool]] = {}
        self.nodes = [(node, *words.written[node]) for node in nodes]
        needed = set(words.needed)
        letters = dict.fromkeys([i for _, word, _ in self.nodes for i in word])
        sizes = dict.fromkeys([size for i in letters for size in self.alphabet.ends(i)])
        symbols: list[Size] = [size for size in sizes if not isinstance(size, int)]
        names: dict[Size, Number] = {s: Polynomial.of(f"s{i}") for i, s in enumerate(symbols)}
        self.exact = Prices(self.alphabet, names, timed=not symbols)
        self.samples = [Prices(self.alphabet, x, timed=not symbols) for x in _samples(symbols)]
        self.price = cache(self.exact.of)
        self.steps: Steps = {}
        self.sources: dict[Word, Variable] = {}
        roots: dict[Word, None] = {}
        for node, word, step in self.nodes:
            key, step = self._oriented(word, step)
            self.steps.setdefault(key, step)
            self.sources.setdefault(key, node)
            if node in needed:
                roots[key] = None
        self.roots = list(roots)
        self.written = dict(self.steps)
        self._work = _WORK
        self._built: dict[Word, Variable] = {}

    # Words up to transposition.

    def key(self, word: Word) -> tuple[Word, bool]:
        """Return the orientation of a word that stands for both, and whether it is the other."""
        key = self._orientations.get(word)
        if key is None:
            key = self._orientations[word] = (word, False)
            self._orientations.setdefault(self.alphabet.turned(word), (word, True))
        return key

    def _oriented(self, word: Word, step: Step) -> tuple[Word, Step]:
        """Return the key of a word, and its step in that orientation."""
        key, is_turned = self.key(word)
        return key, step.turned(self.alphabet) if is_turned else step

    # Costs.

    def reached(self, steps: Steps, roots: Iterable[Word]) -> Steps:
        """Return the words that are computed for these, with their steps."""
        result: Steps = {}
        stack = list(roots)
        while stack:
            word = stack.pop()
            if word not in result:
                step = result[word] = steps[word]
                stack += self._reads(step)
        return result

    def _reads(self, step: Step) -> list[Word]:
        """Return the keys of all words that a step reads, inverses as matrices among them."""
        parts = [step.left, step.right]
        if step.kind in ("left", "right"):
            inverse = step.inverse
            parts.remove(inverse)
            if len(inverse) > 1:
                parts.append(self.alphabet.inverted(inverse))
        letters = self.alphabet.letters
        return [self.key(x)[0] for x in parts if x and (x[1:] or letters[x[0]].solve is not None)]

    def solved_with(self, step: Step) -> int | None:
        """Return the letter of the matrix that a system may share factors of, or None."""
        inverse = step.inverse
        if len(inverse) == 1 and self.exact.solver(inverse) in FACTORS:
            return self.key(inverse)[0][0]
        return None

    def cost(self, steps: Steps) -> Number:
        """Return the cost of steps; systems with one matrix share its factors if that is less."""
        total: Number = 0
        systems: dict[int, list[tuple[Word, Step]]] = {}
        for word, step in steps.items():
            letter = self.solved_with(step)
            if letter is None:
                total = total + self.price(word, step)
            else:
                systems.setdefault(letter, []).append((word, step))
        for letter, uses in systems.items():
            separate = sum([self.price(*use) for use in uses], start=0)
            if len(uses) > 1:
                shared = self.exact.factorisation(letter)
                shared = sum([self.price(*use, factored=True) for use in uses], start=shared)
                separate = shared if at_most(shared, separate, LEAST) else separate
            total = total + separate
        return total

    # Moves.

    def rewritten(self) -> dict[Variable, Variable]:
        """Return the replacements of the words that cost less in another order."""
        while self._work > 0 and self._improved():
            pass
        changes: dict[Variable, Variable] = {}
        for node, word, _ in self.nodes:
            key, _ = self.key(word)
            if key in self.roots and (node is not self.sources[key] or not self._unchanged(key)):
                made = self._value(word)
                if made is not node and made.type.narrows(node.type):
                    changes[node] = made
        return changes

    def _improved(self) -> bool:
        """Make the first move that lowers the cost, if any."""
        # What each root needs, how many roots need a word, and the matrix of each system that may
        # share factors.
        self._reached = {r: set(self.reached(self.steps, [r])) for r in self.roots}
        self._uses = Counter([word for words in self._reached.values() for word in words])
        letters = [(word, self.solved_with(self.steps[word])) for word in self._uses]
        self._systems = {word: letter for word, letter in letters if letter is not None}
        current = self.cost(self.reached(self.steps, self.roots))
        for move in self._moves():
            for prices in self.samples:
                steps = self._replanned(*move, prices)
                if steps != self.steps:
                    cost = self.cost(self.reached(steps, self.roots))
                    if cost != current and at_most(cost, current, LEAST):
                        self.steps = steps
                        return True
        return False

    def _moves(self) -> Iterator[tuple[list[Word], Word | None, int | None]]:
        """Yield words to order anew together, with a part of them or factors to compute once."""
        letters = self.alphabet.letters
        for root in self.roots:
            if len(root) > 2 or any([letters[i].solve is not None for i in root]):
                yield [root], None, None
        live = self.reached(self.steps, self.roots)
        readers = Counter([word for step in live.values() for word in self._reads(step)])
        for word, count in readers.items():
            if count > 1 and word not in self.roots:
                yield [r for r in self.roots if word in self._reached[r]], None, None
        for part in self._common_parts():
            group = [r for r in self.roots if self._contains(r, part)]
            if len(part) == 1:
                yield group, None, part[0]
            if len(part) > 1 or part in self.written:
                yield group, part, None

    def _common_parts(self) -> list[Word]:
        """Return parts that occur more than once in the roots, the longest first."""
        if sum([len(r) ** 2 for r in self.roots]) > 50_000:
            return []
        count: Counter[Word] = Counter()
        for root in self.roots:
            for i in range(len(root)):
                if self.alphabet.letters[root[i]].explicit:
                    count[self.key(root[i : i + 1])[0]] += 1
                for j in range(i + 2, len(root) + 1):
                    count[self.key(root[i:j])[0]] += 1
                    if self.exact.timed and self.alphabet.solved(root[i:j]):
                        count[self.key(self.alphabet.inverted(root[i:j]))[0]] += 1
        parts = [w for w, n in count.items() if n > 1]
        parts.sort(key=lambda w: (-(len(w) - 1) * (count[w] - 1), -len(w), w))
        return parts[:_CANDIDATES]

    def _contains(self, word: Word, part: Word) -> bool:
        if len(part) == len(word):
            return False
        size = len(part)
        forms = {part, self.alphabet.turned(part)}
        if self.alphabet.invertible(part):
            forms |= {self.alphabet.inverted(form) for form in forms}
        return any([word[i : i + size] in forms for i in range(len(word) - size + 1)])

    def _replanned(
        self, group: list[Word], extra: Word | None, letter: int | None, prices: Prices
    ) -> Steps:
        """Return the steps after ordering words anew, given all that the other roots compute."""
        uses = Counter([word for root in group for word in self._reached[root]])
        free = {word for word, count in self._uses.items() if uses[word] < count}
        steps = dict(self.steps)
        factored = {self._systems[word] for word in self._systems.keys() & free}
        if letter is not None:
            factored.add(letter)
        factored |= {self.alphabet.turned((one,))[0] for one in factored}
        for word in sorted(group, key=len) if extra is None else [extra, *sorted(group, key=len)]:
            if word in free:
                continue
            self._work -= len(word) ** 3
            order = Order(
                word,
                prices,
                free=lambda w: self.key(w)[0] in free,
                written=lambda w: self.key(w)[0] in self.written,
                factored=factored,
            )
            for part, step in order.steps().items():
                key, step = self._oriented(part, step)
                if key not in free:
                    steps[key] = step
                    free.add(key)
        return steps

    # Graphs.

    def _unchanged(self, key: Word) -> bool:
        """Return True if a word and all that it needs are computed as written."""
        part = self.reached(self.steps, [key])
        return all([self.written.get(w) == step for w, step in part.items()])

    def _value(self, word: Word) -> Variable:
        """Return the graph of a word."""
        if len(word) == 1 and self.alphabet.letters[word[0]].solve is None:
            return self.alphabet.letters[word[0]].x
        key, turned = self.key(word)
        made = self._built.get(key)
        if made is None:
            if key in self.sources and self._unchanged(key):
                made = self.sources[key]
            else:
                made = self._made(self.steps[key])
            self._built[key] = made
        return flip(made) if turned else made

    def _made(self, step: Step) -> Any:
        """Return the graph of a step."""
        if step.kind == "right":
            return flip(self._made(step.turned(self.alphabet)))
        if step.kind == "inverse":
            return INV(self._value(step.left))
        if step.kind == "product":
            return MATMUL(self._value(step.left), self._value(step.right))
        if len(step.left) == 1:
            letter = self.alphabet.letters[step.left[0]]
        else:
            letter = inverse_of(self._value(self.alphabet.inverted(step.left)))
        return letter.solve(letter.x, *letter.rest, self._value(step.right))


def _samples(symbols: list[Size]) -> Iterator[dict[Size, int]]:
    """Yield values for symbols: all equal, then each in turn much larger or smaller."""
    usual = dict.fromkeys(symbols, NOMINAL)
    yield usual
    for one in symbols[:_NAMES] if len(symbols) > 1 else ():
        for value in (_SMALL, _LARGE):
            yield {**usual, one: value}
