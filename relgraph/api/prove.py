"""``rg.prove``: whether two graphs are equal, with the reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

from relgraph.api.explain import explain
from relgraph.checking.refutation import Refutation, refutation, replay
from relgraph.errors import ArgumentError, RelgraphError, ShapeError, VerifyError, count_of
from relgraph.ir.dispatch import traceable
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType
from relgraph.search.proof import Derivation, Question, Step, by_words
from relgraph.viz.display import Displayed

DEFAULT = "o4"
STEPS = 20_000

Method = Callable[[Question], "Derivation | str"]


@dataclass(frozen=True)
class Proof(Displayed):
    """The answer of :func:`prove`, which is true if the graphs are proved equal.

    Attributes
    ----------
    left, right : Variable
        The graphs.
    verdict : {"proved", "refuted", "not found"}
        The answer.
    derivation : Derivation or None
        The steps, if proved.
    counterexample : Refutation or None
        Values of inputs, and what both graphs are there, if refuted.
    tried : tuple of str
        What was tried, a sentence for each method.
    """

    left: Variable
    right: Variable
    verdict: str
    derivation: Derivation | None = None
    counterexample: Refutation | None = None
    tried: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.verdict == "proved"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The equations that the derivation uses, in order; empty if there is none."""
        return () if self.derivation is None else tuple(self.derivation)

    @property
    def laws(self) -> tuple[str, ...]:
        """The names of the laws that the steps follow from, each once."""
        return tuple(dict.fromkeys(law for step in self.steps for law in step.laws))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the graphs assume to have a value: inverses, quotients, logarithms and roots."""
        return () if self.derivation is None else self.derivation.assumptions

    def __str__(self) -> str:
        sides = f"    {brief(self.left)}\n  = {brief(self.right)}"
        if self.derivation is not None:
            how = f"proved by {self.derivation.method} in {count_of(len(self.steps), 'step')}"
            where = f", where {' and '.join(self.assumptions)}" if self.assumptions else ""
            return f"{how}{where}\n{sides}\n{self.derivation}".rstrip()
        if self.counterexample is not None:
            return f"refuted: the sides differ for these values\n{sides}\n{self.counterexample}"
        tried = "\n".join(f"- {sentence}" for sentence in self.tried)
        return f"no proof found, and no counterexample\n{sides}\n{tried}"

    def __repr__(self) -> str:
        return str(self)

    def check(self) -> int:
        """Replay the proof without the method that found it.

        The steps must lead from both graphs to one, or to a difference that becomes zero if it is
        multiplied by what the graphs invert or divide by.  Both sides of each step are computed on
        random values, exactly where the ops have an exact meaning.  Uses of relations are asked of
        kanren.

        Returns
        -------
        int
            The number of steps that have values to compare; a step has none where a matrix that it
            inverts is singular for all values.

        Raises
        ------
        VerifyError
            If the proof is wrong, or if there is none.
        """
        if self.derivation is None:
            raise VerifyError(
                "there is no proof to check",
                {"verdict": self.verdict},
                "Print it: it lists what was tried.",
            )
        self.derivation.check()
        return replay([(step.before, step.after) for step in self.steps], (self.left, self.right))


@traceable
def prove(
    left: Any,
    right: Any,
    relations: Any = None,
    *,
    budget: int = STEPS,
    seconds: float | None = None,
) -> Proof:
    """Prove that two graphs are equal, or find values for which they are not.

    Random values come first.  Then both graphs are written as sums of words, products of matrices
    and scalars with exact coefficients, and compared (see :mod:`relgraph.search.words`); this needs
    no relations.  Then the relations rewrite both graphs, and the results are compared.

    A proof is one about real numbers, not about rounding: a float constant is the number that it
    holds.  It holds wherever both graphs have finite values, so what they invert is invertible and
    what they divide by is not 0; ``assumptions`` lists these.

    Parameters
    ----------
    left, right : Variable
        The graphs, of one type.
    relations : str, Query, relation, or list of them, optional
        What rewrites both graphs, as ``mode`` of :func:`rewrite_graph`; by default ``"o4"``.  If
        you pass any, rewriting with them comes before the words.
    budget : int
        The steps that each reading by words may take; there are at most six.
    seconds : float, optional
        A limit of time, after which words stop.  Rewriting has limits of its own.

    Returns
    -------
    Proof
        True if proved.  It prints the steps, the counterexample, or what was tried.

    Raises
    ------
    ArgumentError
        If a side is not a graph, or the budget is not positive.
    ShapeError
        For graphs of two types.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, B = rg.matrices("A B", shape=("n", "n"))
    >>> proof = rg.prove(rg.inv(A) + rg.inv(B), rg.inv(A) @ (A + B) @ rg.inv(B))
    >>> bool(proof), proof.assumptions
    (True, ('A is invertible', 'B is invertible'))
    >>> rg.prove(A @ B, B @ A).verdict
    'refuted'
    """
    _require(left, right, budget, seconds)
    end = None if seconds is None else monotonic() + seconds
    question = Question(left, right, budget, seconds, end)
    counterexample, held = refutation(left, right)
    if counterexample is not None:
        return Proof(left, right, "refuted", counterexample=counterexample)
    tried = [
        f"values: the sides agree on {count_of(held, 'draw')}"
        if held
        else "values: the sides have finite values on no draw"
    ]
    for name, method in _methods(relations):
        answer = method(question)
        if isinstance(answer, Derivation):
            return Proof(left, right, "proved", derivation=answer, tried=tuple(tried))
        tried.append(f"{name}: {answer}")
    return Proof(left, right, "not found", tried=tuple(tried))


def _methods(relations: Any) -> list[tuple[str, Method]]:
    """Return the methods in the order in which they are tried, with their names."""
    words: tuple[str, Method] = ("words", by_words)
    mode = DEFAULT if relations is None else relations
    rewriting: tuple[str, Method] = ("rewriting", partial(by_rewriting, mode=mode))
    both: tuple[str, Method] = (
        "rewriting and words",
        partial(by_rewriting, mode=mode, then=by_words),
    )
    return [words, both] if relations is None else [rewriting, words, both]


def by_rewriting(question: Question, mode: Any, then: Method | None = None) -> Derivation | str:
    """Rewrite both graphs and compare the results, as graphs or by another method."""
    left, right = question.left, question.right
    try:
        record = explain([left, right], mode=mode)
    except (RelgraphError, RecursionError) as error:
        return f"the relations do not rewrite both sides: {str(error).partition(chr(10))[0]}"
    ends = record.after[0], record.after[1]
    steps = tuple([Step(x.relations, x.before, x.after) for x in record.steps])
    if ends[0] is ends[1]:
        return Derivation("rewriting", left, right, steps, ends, records=(record,))
    if then is None or (ends[0] is left and ends[1] is right):
        return f"the sides become {brief(ends[0])} and {brief(ends[1])}"
    rest = then(replace(question, left=ends[0], right=ends[1]))
    if isinstance(rest, str):
        return f"the sides become {brief(ends[0])} and {brief(ends[1])}; {rest}"
    return Derivation(
        f"rewriting and {rest.method}",
        left,
        right,
        steps,
        ends,
        assumptions=rest.assumptions,
        records=(record,),
        then=rest,
    )


def _require(left: Any, right: Any, budget: Any, seconds: Any) -> None:
    """Raise for arguments that are no question."""
    for name, x in (("left", left), ("right", right)):
        if not isinstance(x, Variable) or not isinstance(x.type, TensorType):
            raise ArgumentError(
                f"prove compares graphs of arrays, and {name} is {x!r:.60}",
                fix="Pass two Variables; rg.constant(...) wraps a number or an array.",
            )
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise ArgumentError(
            f"budget must be a positive integer, not {budget!r:.60}",
            fix="It is a number of steps; leave it out for the default.",
        )
    if seconds is not None and (not isinstance(seconds, int | float) or not seconds > 0):
        raise ArgumentError(
            f"seconds must be a positive number, not {seconds!r:.60}",
            fix="Leave it out for no limit of time.",
        )
    if not _alike(left.type, right.type):
        raise ShapeError(
            "graphs of two types are not equal",
            {"left": left.type, "right": right.type},
            "Convert one with .astype(...) or .reshape(...), or give sizes one name.",
        )


def _alike(a: TensorType, b: TensorType) -> bool:
    """Return True for equal dtypes and shapes; an unknown size may be any but 1."""
    if a.dtype != b.dtype or a.ndim != b.ndim or a.layout != b.layout:
        return False
    pairs = zip(a.shape, b.shape, strict=True)
    return all([m == n or (None in (m, n) and 1 not in (m, n)) for m, n in pairs])


__all__ = ["Proof", "prove"]
