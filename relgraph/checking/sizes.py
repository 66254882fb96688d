"""The check that a replacement runs wherever its graph does, for sizes known only at the call."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.backends.numpy.interpreter import NumpyBackend
from relgraph.checking.evaluation import all_finite, evaluate
from relgraph.checking.generators.arrays import draw, generator
from relgraph.checking.generators.cases import needs_regular, one_sided
from relgraph.checking.matching import inputs_of, match
from relgraph.checking.outcome import (
    CHANGES_SHAPE,
    CHANGES_VALUE,
    FAILS,
    HELD,
    SKIPPED,
    Counterexample,
    Outcome,
    Problem,
    Values,
)
from relgraph.checking.promises import extra_inputs
from relgraph.errors import RelgraphError
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.forks import cached_property
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Input, Variable, make_input
from relgraph.ir.types import TensorType
from relgraph.relations.relation import Relation

CALLS = 5  # calls of one graph with different sizes, the last with size 0


class _Calls:
    """A graph that a direction matches and its replacement, callable with arrays of any sizes."""

    def __init__(self, relation: Relation, graph: Variable) -> None:
        result = match(relation, graph)
        assert result is not None
        self.graph, self.result = graph, result
        self.inputs = inputs_of(relation, graph)
        self.extra = extra_inputs(relation, graph, result)

    @cached_property
    def programs(self) -> tuple[Any, Any]:
        """The programs of the graph and of its replacement."""
        first, second = (
            NumpyBackend().compile(FunctionGraph(self.inputs, [x]))
            for x in (self.graph, self.result)
        )
        return first, second

    def verdict(self, values: Values, kind: str) -> Problem | bool:
        """Run both on arrays of these sizes, if the graph runs on them."""
        if not _fit(self.inputs, values):
            return SKIPPED
        if self.extra is not None:
            return self.extra
        arrays = [values[x.name] for x in self.inputs]
        first, second = self.programs
        try:
            expected = np.asarray(first(arrays)[0])
        except (RelgraphError, np.linalg.LinAlgError, ValueError):
            return SKIPPED
        try:
            computed = np.asarray(second(arrays)[0])
        except (RelgraphError, np.linalg.LinAlgError, ValueError) as error:
            return Problem(FAILS, expected, error)
        if computed.shape != expected.shape or computed.dtype != expected.dtype:
            return Problem(CHANGES_SHAPE, expected, computed)
        both = self.graph, self.result
        if kind == "moderate" and all_finite(evaluate(both, values)):
            with np.errstate(all="ignore"):
                agree = np.allclose(computed, expected, rtol=1e-6, atol=1e-6)
            return HELD if agree else Problem(CHANGES_VALUE, expected, computed)
        return HELD


def _fit(inputs: list[Input], values: Values) -> bool:
    """Return True if arrays have the sizes that inputs declare, equal ones for equal names."""
    sizes: dict[Any, int] = {}
    for x in inputs:
        for declared, size in zip(x.type.shape, values[x.name].shape, strict=True):
            if declared is not None and sizes.setdefault(declared, size) != size:
                return False
            if isinstance(declared, int) and declared != size:
                return False
    return True


def runs_wherever(relation: Relation) -> Outcome:
    """Check that the built graph runs wherever the matched one does, for any sizes at the call."""
    tried = 0
    failures = []
    for clause, graph in dict.fromkeys((*one_sided(relation), *one_sided(relation, alike=True))):
        calls = _Calls(relation, graph)
        regular, text = needs_regular(graph, calls.result), str(graph)
        for number in range(CALLS):
            rng = generator(relation.label, text, number)
            kind = "zeros" if regular and number % 2 else "moderate"
            size = 0 if number == CALLS - 1 else None
            values = _arguments(calls.inputs, rng, kind, regular and kind == "moderate", size)
            verdict = calls.verdict(values, kind)
            if isinstance(verdict, Problem):
                failures.append(
                    Counterexample(relation, clause, graph, calls.result, values, verdict)
                )
            else:
                tried += verdict
    return Outcome(tried, min(failures, key=_elements, default=None))


def _elements(failure: Counterexample) -> tuple[int, int]:
    return len(failure.values), sum(v.size + v.ndim for v in failure.values.values())


def _arguments(
    inputs: list[Input],
    rng: np.random.Generator,
    kind: str,
    regular: bool,
    size: int | None,
) -> Values:
    """Return arrays for inputs; unknown sizes mostly agree, or all equal ``size``."""
    sizes: dict[Any, int] = {
        None: int(rng.choice([0, 1, 2, 3])),
        "n": int(rng.choice([0, 1, 2, 3])),
    }
    if rng.random() < 0.6:
        sizes["n"] = sizes[None] = 3
    if size is not None:
        sizes = {None: size, "n": size}
    for d in dict.fromkeys(d for x in inputs for d in x.type.shape if not isinstance(d, int)):
        sizes.setdefault(d, sizes["n"])
    arrays = {}
    for x in inputs:
        shape = [
            int(rng.integers(4))
            if d is None and size is None and rng.random() < 0.15
            else sizes.get(d, d)
            for d in x.type.shape
        ]
        if x.facts & set(MATRIX_FACTS):  # declared facts must hold
            fixed = [d for d in x.type.shape[-2:] if isinstance(d, int)]
            shape[-2:] = [fixed[0] if fixed else shape[-1]] * 2
        sized = make_input(x.name, TensorType(x.dtype, shape), x.facts)
        value = draw(sized, rng, kind, regular)
        if kind == "zeros" and not x.facts:
            value = np.where(rng.random(value.shape) < 0.5, 0.0, value)
        arrays[x.name] = value.astype(x.dtype)
    return arrays
