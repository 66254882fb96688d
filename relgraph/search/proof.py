"""Proofs that two graphs are equal: methods that are tried in order, and the steps that they give.

Each method is a function of a :class:`Question`; it returns a :class:`Derivation` if it proves the
question, or a sentence that says what it tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from relgraph.errors import RelgraphError, VerifyError, count_of
from relgraph.ir.graph import is_tensor
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable, toposort
from relgraph.ir.printing import pprint
from relgraph.ops import elementwise
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.solve import Inv, Solve, SystemOp
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.shape import BroadcastTo, ExpandDims
from relgraph.search.normal_form import NormalForms
from relgraph.search.polynomials import Budget, Exhausted, Polynomial, Unsupported, added
from relgraph.search.word_graphs import WordGraphs
from relgraph.search.words import Words

TRANSPOSE, POWER = MatrixTranspose(), elementwise.Elementwise("power")
DISTRIBUTE = ("distribute_add_matmulo", "distribute_matmul_addo")  # over a sum on the left, right
PASSES = 12  # the most steps in which the reduction of a product is shown
MULTIPLIERS = 30  # polynomials to try, each the difference times some inverted matrices
# The orders of reading that are tried: numbers inside of words stay in place, or commute.
ORDERS: tuple[dict[str, bool], ...] = ({}, {"split": True}, {"split": True, "first": True})
DEFECT = "This is a defect of relgraph; please report it with the graph."

# The side, the number of the atom, whether it is transposed, and the product.
Multiplication = tuple[str, int, bool, Polynomial]


@dataclass(frozen=True)
class Question:
    """Whether two graphs are equal.

    Attributes
    ----------
    left, right : Variable
        The graphs, of one type.
    budget : int
        The steps of each reading by words.
    seconds : float or None
        The time of all of them.
    end : float or None
        When this time is over, by the monotonic clock.
    """

    left: Variable
    right: Variable
    budget: int
    seconds: float | None = None
    end: float | None = None


@dataclass(frozen=True)
class Step:
    """An equation that a derivation uses.

    Attributes
    ----------
    laws : tuple of str
        The laws that it follows from, by their names in the catalogue if they have one.
    before, after : Variable
        Its sides.
    """

    laws: tuple[str, ...]
    before: Variable
    after: Variable

    def __str__(self) -> str:
        return f"{', '.join(self.laws)}\n    {brief(self.before)}\n  = {brief(self.after)}"


@dataclass(frozen=True)
class Derivation:
    """The steps from two graphs to one.

    Attributes
    ----------
    method : str
        The name of the method.
    left, right : Variable
        The graphs.
    steps : tuple of Step
        Each replaces a part of a graph.  In a proof by words, an op on normal forms becomes a
        normal form.
    ends : tuple of Variable
        What the steps make of the graphs: one graph twice, or two whose difference is zero by
        ``closing``.
    closing : tuple of Step
        The difference of the ends in normal form; and this times each matrix or number that is
        written inverted or as a divisor, multiplied out and reduced, until it is zero.
    assumptions : tuple of str
        What is assumed to exist, since the graphs contain it.
    records : tuple of Derivation
        Those of rewriting, which replay their steps themselves.
    then : Derivation or None
        What proves that the ends are equal, if the steps do not make them one graph.
    """

    method: str
    left: Variable
    right: Variable
    steps: tuple[Step, ...]
    ends: tuple[Variable, Variable]
    closing: tuple[Step, ...] = ()
    assumptions: tuple[str, ...] = ()
    records: tuple[Any, ...] = field(default=(), repr=False)
    then: Derivation | None = None

    def __iter__(self) -> Iterator[Step]:
        return iter((*self.steps, *self.closing, *(self.then or ())))

    def __len__(self) -> int:
        return len(tuple(iter(self)))

    def __str__(self) -> str:
        return "\n".join([f"{k}. {step}" for k, step in enumerate(self, 1)])

    def check(self) -> None:
        """Replay the structure of the derivation, without the method that found it.

        Raises
        ------
        VerifyError
            If the steps do not lead from the graphs to what they claim.
        """
        for record in self.records:
            record.check()
            if (record.before, record.after) != ((self.left, self.right), self.ends):
                raise VerifyError("the rewriting is that of other graphs", _ends(self))
        if self.then is not None:
            if (self.then.left, self.then.right) != self.ends:
                raise VerifyError("the second part is about other graphs", _ends(self))
            return self.then.check()
        if not self.records:
            replacements = {step.before: step.after for step in self.steps}
            for graph, end in zip((self.left, self.right), self.ends, strict=True):
                reached = replayed(graph, replacements)
                if reached is not end:
                    problem = "the steps do not lead from the graph to its normal form"
                    places = {"graph": graph, "reached": reached, "normal form": end}
                    raise VerifyError(problem, places, DEFECT)
        if self.closing:
            self._check_closing()
        elif self.ends[0] is not self.ends[1]:
            raise VerifyError("the ends of the derivation are not one graph", _ends(self))

    def _check_closing(self) -> None:
        reached = elementwise.subtract(*self.ends)
        graphs = [self.left, self.right, *self.ends]
        for step in self.closing:
            if step.before is not reached and not multiplies(step.before, reached, graphs):
                problem = "a step multiplies by what is not written as an inverse"
                raise VerifyError(problem, {"step": step}, DEFECT)
            reached = step.after
        if not is_zero(reached):
            raise VerifyError("the difference is not zero in the end", {"difference": reached})


def _ends(derivation: Derivation) -> dict[str, Any]:
    return {"left": derivation.ends[0], "right": derivation.ends[1]}


def is_zero(x: Variable) -> bool:
    """Return True for the constant zero, stretched or not."""
    while isinstance(x.op, BroadcastTo | ExpandDims):
        x = x.inputs[0]
    return isinstance(x, Constant) and x.uniform is not None and not x.uniform


def replayed(graph: Variable, replacements: dict[Variable, Variable]) -> Variable:
    """Return a graph of which every part is replaced as steps say, from its inputs on."""
    done: dict[Variable, Variable] = {}
    for x in toposort([graph]):
        inputs = tuple([done[y] for y in x.inputs])
        same = all([a is b for a, b in zip(inputs, x.inputs, strict=True)])
        new = x if x.op is None or same else x.op(*inputs)
        done[x] = replacements.get(new, new)
    return done[graph]


def multiplies(product: Variable, x: Variable, graphs: Sequence[Variable]) -> bool:
    """Return True for a product of a node and what graphs invert, or divide by.

    It is zero only if the node is.  Normal forms are among the graphs; they hold no inverse that is
    not written.
    """
    others = [y for y in product.inputs if y is not x]
    if len(product.inputs) != 2 or len(others) != 1:
        return False
    (other,) = others
    nodes = toposort(list(graphs))
    if isinstance(product.op, Matmul):
        inverted = {y.inputs[0] for y in nodes if isinstance(y.op, Inv | Solve)}
        return other in inverted | {TRANSPOSE(y) for y in inverted}
    divisors = [y.inputs[1] for y in nodes if y.op is elementwise.true_divide]
    return product.op is elementwise.multiply and any(
        [z is other for y in divisors for z in _factors(y)]
    )


def _factors(x: Variable) -> Iterator[Variable]:
    """Yield the factors of a product, and the bases of powers."""
    stack = [x]
    while stack:
        y = stack.pop()
        if y.op is elementwise.multiply:
            stack.extend(y.inputs)
        else:
            yield y
            if y.op is POWER:
                yield y.inputs[0]


# Words.


def by_words(question: Question) -> Derivation | str:
    """Compare the normal forms of both graphs in the ring of words."""
    reasons = []
    for order in ORDERS:
        budget = Budget(question.budget, question.seconds, question.end)
        proof = _Proof(question.left, question.right, Words(budget, **order))
        try:
            derivation = proof.derivation()
        except Exhausted as error:
            reasons.append(str(error))
            continue
        except Unsupported as error:
            reasons.append(f"the graphs are no polynomials of words: {error}")
            continue
        if derivation is not None:
            return derivation
        reasons.append(f"the difference has {count_of(proof.left_over, 'term')} left")
    return "; ".join(dict.fromkeys(reasons))


class _Proof:
    """One attempt to compare normal forms."""

    def __init__(self, left: Variable, right: Variable, words: Words) -> None:
        self.sides, self.words, self.reading = (left, right), words, NormalForms(words)
        self.writing = WordGraphs(self.reading, left.dtype)
        self.nodes = toposort(self.sides)
        # What is written as an inverse is known to exist before determinants are read.
        systems = [x for x in self.nodes if isinstance(x.op, Inv | SystemOp)]
        self.order = toposort([*systems, *self.sides])
        self.laws: dict[Variable, tuple[str, ...]] = {}
        self.left_over = 0

    def derivation(self) -> Derivation | None:
        """Return the derivation, None if a difference remains."""
        for x in self.order:
            self.words.laws.clear()
            self.reading.read(x)
            self.laws[x] = tuple(self.words.laws)
        is_field = any([self.reading.values[x][0] for x in self.sides])
        read = self.reading.field if is_field else self.reading.matrix
        left, right = self.sides
        difference = self.words.settled(added(read(left), read(right), -1))
        path = self._cleared(difference)
        if path is None:
            return None
        closing: tuple[Step, ...] = ()
        try:
            steps, ends = self._steps()
            if ends[0] is not ends[1]:
                closing = tuple(self._closing(ends, difference, path, is_field))
        except Unsupported:  # sizes are unknown, so ones and identity matrices cannot be written
            laws = tuple(dict.fromkeys(law for x in self.order for law in self.laws[x]))
            steps, ends = [Step(laws, left, right)], (right, right)
        assumed = assumptions(self.nodes)
        return Derivation("words", left, right, tuple(steps), ends, closing, assumed)

    def _cleared(self, difference: Polynomial) -> list[Multiplication] | None:
        """Return multiplications that make a polynomial zero."""
        todo: list[tuple[Polynomial, list[Multiplication]]] = [(difference, [])]
        self.left_over = len(difference)
        for p, path in todo:
            if not p:
                return path
            self.left_over = min(self.left_over, len(p))
            if len(todo) > MULTIPLIERS:
                continue
            for how, number, turned in self._choices(p):
                atom = self.words.atoms[number]
                factor = dict(atom.content)
                if how == "power":  # the sum as one factor, which cancels
                    factor = self.words.factor(atom)
                elif turned:
                    factor = self.words.transpose(factor)
                pair = (p, factor) if how == "right" else (factor, p)
                result = self.words.settled(self.words.times(*pair))
                todo.append((result, [*path, (how, number, turned, result)]))
                if not result:
                    return todo[-1][1]
        return None

    def _choices(self, p: Polynomial) -> Iterator[tuple[str, int, bool]]:
        """Yield inverses at the ends of words, and divisors."""
        atoms = self.words.atoms
        divisors = {i for m, _ in p for i, e in m if e <= -1 and atoms[i].kind == "power"}
        if divisors:
            yield "power", max(divisors), False
            return
        for side, end in (("left", 0), ("right", -1)):
            for number, turned in sorted({w[end] for _, w in p if w}):
                if atoms[number].kind == "inverse":
                    yield side, number, turned

    # The steps.

    def _steps(self) -> tuple[list[Step], tuple[Variable, Variable]]:
        """Return the steps from nodes to their normal forms, and the forms of the sides."""
        forms: dict[Variable, Variable] = {}
        written: dict[Variable, Variable] = {}
        steps: list[Step] = []
        for x in self.order:
            before = x
            if x.op is not None and any([forms[y] is not y for y in x.inputs]):
                before = x.op(*[forms[y] for y in x.inputs])
            if before not in written:
                after = written[before] = self._form(x, before)
                if after is not before:
                    steps.append(Step(self.laws[x] or ("commutative ring",), before, after))
            forms[x] = written[before]
        return steps, (forms[self.sides[0]], forms[self.sides[1]])

    def _form(self, x: Variable, before: Variable) -> Variable:
        """Return the normal form of a node as a graph, or the node if it cannot be written."""
        if x.op is None or not is_tensor(x):
            return before
        try:
            after = self.writing.of(x)
        except (Unsupported, RelgraphError):
            return before
        return after if after.type.narrows(before.type) else before

    def _closing(
        self,
        ends: tuple[Variable, Variable],
        difference: Polynomial,
        path: list[Multiplication],
        is_field: bool,
    ) -> Iterator[Step]:
        """Yield the difference of the ends, and its products, up to zero."""
        start = elementwise.subtract(*ends)
        reached = self.writing.written(is_field, difference, self.sides[0])
        if reached is not start:
            yield Step(("cancel_subtract_selfo",), start, reached)
        p = difference
        for how, number, turned, result in path:
            atom = self.words.atoms[number]
            factor = dict(atom.content)
            law, steps = "cancel_divide_multiplyo", []
            if how == "power":
                before = reached * self.writing.field(factor)
            else:
                matrix = self.writing.square(factor, atom.rows)
                if turned:
                    matrix, factor = TRANSPOSE(matrix), self.words.transpose(factor)
                sides = [(matrix, factor), (reached, p)][:: 1 if how == "left" else -1]
                before = Matmul()(*[graph for graph, _ in sides])
                steps = self._reduction([q for _, q in sides], before)
                law = "commutative ring" if steps else "cancel_matmul_invo"
            for laws, after in [*steps, ((law,), self.writing.written(is_field, result, before))]:
                if after is not before:
                    yield Step(laws, before, after)
                before = after
            reached, p = before, result

    def _reduction(
        self, factors: Sequence[Polynomial], product: Variable
    ) -> list[tuple[tuple[str, ...], Variable]]:
        """Return what becomes of a product as it is reduced, with laws; nothing without graphs."""
        laws, steps = self.words.laws, []
        laws.clear()
        laws.update({law: None for law, q in zip(DISTRIBUTE, factors, strict=True) if len(q) > 1})
        try:
            for p in islice(self.words.passes(*factors), PASSES):
                used = tuple(laws) or ("associate_matmulo",)
                steps.append((used, self.writing.written(False, p, product)))
                laws.clear()
        except (Exhausted, Unsupported, RelgraphError):
            return []
        return steps


_ASSUMED = {
    elementwise.log: "{} is positive",
    elementwise.log1p: "1 + {} is positive",
    elementwise.sqrt: "{} is not negative",
    elementwise.reciprocal: "{} is not 0",
}


def assumptions(nodes: Sequence[Variable]) -> tuple[str, ...]:
    """Return what graphs that contain these nodes assume to exist, in words."""
    out: dict[str, None] = {}
    for x in nodes:
        if x.op is None or not x.inputs:
            continue
        first, last = x.inputs[0], x.inputs[-1]
        if isinstance(x.op, Inv | SystemOp):
            out[f"{pprint(first)} is invertible"] = None
        elif x.op in _ASSUMED:
            out[_ASSUMED[x.op].format(pprint(first))] = None
        elif x.op is elementwise.true_divide and not isinstance(last, Constant):
            out[f"{pprint(last)} is not 0"] = None
        elif x.op is POWER and isinstance(last, Constant) and last.uniform is not None:
            if last.uniform < 0:
                out[f"{pprint(first)} is not 0"] = None
            if last.uniform % 1:
                out[f"{pprint(first)} is not negative"] = None
    return tuple(out)


Method = Callable[[Question], "Derivation | str"]


__all__ = ["Derivation", "Method", "Question", "Step", "by_words"]
