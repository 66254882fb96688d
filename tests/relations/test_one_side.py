"""On every graph that a direction matches it keeps the value, and runs wherever the graph does.

The graphs are made from the matched side alone, whether or not the other side can be built, with
sizes of 0 and 1, unknown ones and named ones, and matrices that may have no inverse.
"""

from __future__ import annotations

import random
from itertools import islice, product

import numpy as np

import relgraph as rg
from relgraph.checking import instances as made
from relgraph.checking import numbers
from relgraph.errors import RelgraphError
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.graph import free_inputs, toposort
from relgraph.ir.node import Variable, constant, make_input
from relgraph.ir.types import TensorType
from tests.relations.test_soundness import (
    clause_key,
    every_direction,
    generator,
    needs_regular,
    profile,
    rewrite_key,
    takes_bool,
)

SHAPES = {
    "elementwise": [(), (None,), (1,), (0,), (3,), ("n",), (None, 3), (1, None), (2, 1)],
    "reductions": [(), (None,), (1,), (0,), (None, None), (1, None), (2, 3), (None, 1, "n")],
    "shape": [(None,), (1,), (6,), (None, 3), (1, None), (0, 2), (2, 3), (None, 1, None), (1, 1)],
    "linalg": [
        (None,), (1,), (3,), ("n",), (None, None), (None, None), ("n", "n"), (3, 3), (1, None),
        (None, 1), (0, 0), (3, 1), (1, 1), (2, None, None), (None, 3, 3), (),
    ],
}  # fmt: skip
CALLS = 4


def graphs(relation, theme, most=40):
    """Return graphs that the matched side of a relation stands for, the same in every run."""
    found = {}
    runnable = {rewrite_key(r) for r in relation.rewrites}
    for clause in relation.clauses:
        if clause_key(clause, relation.backward) not in runnable:
            continue
        made_here = candidates(clause, clause.right if relation.backward else clause.left, theme)
        matched = (x for x in made_here if made.match(relation, x) is not None)
        found |= dict.fromkeys(islice(matched, most))
    return list(found)


def candidates(clause, side, theme):
    """Yield graphs of one side of a clause."""
    fields = made.fields_of(type(clause)(side, side))
    variables = made.variables(side)
    dtypes = ("bool", "float64") if takes_bool(clause) else ("float64",)
    shapes = list(product(SHAPES[profile(theme, clause)], dtypes))
    every = made.fields_of(clause)
    computed = [c for c in clause.conditions if c.kind == "calc" and c.args[0] not in every]
    constants = {x for c in computed for x in c.args[1:]}
    choices = []
    for v in variables:
        op, _, name = fields.get(v, "").partition(".")
        if v not in fields:
            choices.append(shapes)
        else:
            choices.append(made.SINGLE[op] if op in made.SINGLE else made.PARAMETERS[name])
    rng = random.Random(str(clause))
    for _ in range(1500):
        chosen = dict(zip(variables, [rng.choice(c) for c in choices], strict=True))
        facts = rng.random() < 0.7
        try:
            values = {
                v: chosen[v]
                if v in fields
                else constant(float(i))
                if v in constants
                else make_input(
                    "xyzwuv"[i],
                    TensorType(chosen[v][1], chosen[v][0]),
                    made.facts_of(clause, v) if facts else (),
                )
                for i, v in enumerate(variables)
            }
            graph = made.build(side, values)
        except (RelgraphError, IndexError, TypeError, ValueError):
            continue
        if isinstance(graph, Variable) and graph.op is not None:
            yield graph


def arguments(inputs, rng, kind, regular):
    """Return arrays for inputs, of which unknown sizes mostly agree."""
    sizes = {None: int(rng.choice([0, 1, 2, 3])), "n": int(rng.choice([0, 1, 2, 3]))}
    if rng.random() < 0.6:
        sizes["n"] = sizes[None] = 3
    found = []
    for x in inputs:
        shape = [
            int(rng.integers(4)) if d is None and rng.random() < 0.15 else sizes.get(d, d)
            for d in x.type.shape
        ]
        if x.facts & set(MATRIX_FACTS):  # what is declared holds
            fixed = [d for d in x.type.shape[-2:] if isinstance(d, int)]
            shape[-2:] = [fixed[0] if fixed else shape[-1]] * 2
        value = numbers.draw(
            make_input(x.name, TensorType(x.dtype, shape), x.facts), rng, kind, regular
        )
        if kind == "zeros" and not x.facts:
            value = np.where(rng.random(value.shape) < 0.5, 0.0, value)
        found.append(value.astype(x.dtype))
    return found


@every_direction
def test_it_runs_wherever_the_graph_does(theme, relation):
    checked = 0
    for graph in graphs(relation, theme):
        result = made.match(relation, graph)
        inputs = free_inputs([graph])
        assert set(free_inputs([result])) <= set(inputs)
        regular = needs_regular(graph, result)
        first = rg.function(inputs, graph, mode=None, target="numpy")
        second = rg.function(inputs, result, mode=None, target="numpy")
        for number in range(CALLS):
            rng = generator(relation.label, str(graph), number)
            kind = "zeros" if regular and number % 2 else "moderate"
            arrays = arguments(inputs, rng, kind, regular and kind == "moderate")
            with np.errstate(all="ignore"):
                try:
                    expected = np.asarray(first(*arrays))
                except (RelgraphError, np.linalg.LinAlgError, ValueError):
                    continue
                shapes = [a.shape for a in arrays]
                where = f"{relation.label}: {graph} -> {result} at {shapes}"
                try:
                    found = np.asarray(second(*arrays))
                except (RelgraphError, np.linalg.LinAlgError, ValueError) as error:
                    raise AssertionError(f"{where}: {error}\n{arrays}") from error
            checked += 1
            assert found.shape == expected.shape and found.dtype == expected.dtype, where
            if kind == "moderate" and finite(graph, result, inputs, arrays):
                np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=where)
    assert checked


def finite(graph, result, inputs, arrays):
    """Tell whether no step of either side overflows or is undefined."""
    values = dict(zip([x.name for x in inputs], arrays, strict=True))
    done = numbers.evaluate((graph, result), values)
    return all(np.isfinite(done[x]).all() for x in toposort([graph, result]))
