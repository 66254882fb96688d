"""Every relation of the catalogue, in every direction that it can run, keeps what it promises."""

from __future__ import annotations

import contextlib
from functools import cache
from importlib import import_module
from zlib import crc32

import mpmath
import numpy as np
import pytest

from relgraph.checking import instances as made
from relgraph.checking import numbers
from relgraph.db.catalogue import THEMES
from relgraph.errors import RelgraphError
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.relations.measure import decreases

SHAPES_OF = {
    "linalg": "linalg", "products": "linalg", "structure": "linalg", "decompositions": "linalg",
    "reductions": "reductions", "shape": "shape", "indexing": "shape",
}  # fmt: skip
PHASES = {"canonicalize", "stabilize", "specialize"}
EVERY_DTYPE = ("float64", "float32", "int64", "int32", "int8", "uint8", "bool")


def shipped():
    return [
        (theme, r)
        for theme in THEMES
        for r in import_module(f"relgraph.relations.catalogue.{theme}").RELATIONS
    ]


def directions():
    """Return each relation of the catalogue, forward and backward where it can run."""
    found = []
    for theme, listed in shipped():
        forward = listed.reversed if listed.backward else listed
        both = [forward]
        with contextlib.suppress(RelgraphError):
            both.append(forward.reversed)
        found += [(theme, r) for r in both if runs(r)]
    return found


def runs(relation):
    try:
        return bool(relation.rewrites)
    except RelgraphError:
        return False


RELATIONS = directions()
IDS = [f"{r.label}" for _, r in RELATIONS]
every_direction = pytest.mark.parametrize(("theme", "relation"), RELATIONS, ids=IDS)


def profile(theme, clause):
    """Return which shapes to try; reductions and products appear outside of their themes, too."""
    if theme in SHAPES_OF:
        return SHAPES_OF[theme]
    return "elementwise" if made.is_pointwise(clause) else "reductions"


@cache
def cases(theme, relation, dtypes=("float64",), most=24, facts=True):
    """Return ``(clause, sides to match, sides to make)`` for all clauses that run this way."""
    found = []
    runnable = {rewrite_key(r) for r in relation.rewrites}
    for clause in relation.clauses:
        if clause_key(clause, relation.backward) not in runnable:
            continue
        if dtypes == ("float64",) and takes_bool(clause):
            dtypes = ("bool", "float64")
        drawn = made.instances(clause, profile(theme, clause), dtypes, most, facts)
        sides = [(x.right, x.left, x) if relation.backward else (x.left, x.right, x) for x in drawn]
        found.append((clause, [s for s in sides if isinstance(s[0], Variable)]))
    return found


def takes_bool(clause):
    """Tell whether a clause has a condition or combines truth values."""
    logic = ("where", "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or")
    return any(
        isinstance(x, made.PatternNode) and getattr(x.op, "name", "") in logic
        for side in (clause.left, clause.right)
        for x in made.subterms(side)
    )


def rewrite_key(rewrite):
    origin = rewrite.origin
    return str(origin.left)


def clause_key(clause, backward):
    from relgraph.relations.clause import with_block

    return str(with_block(clause).left)


def generator(*parts):
    return np.random.default_rng(crc32(repr(parts).encode()))


def needs_regular(*graphs):
    return any(
        x.op is not None and x.op.name in ("inv", "solve", "solve_triangular")
        for x in toposort(list(graphs))
    )


@every_direction
def test_it_fires_and_keeps_type_and_value(theme, relation):
    for clause, sides in cases(theme, relation):
        fired = 0
        for graph, other, instance in sides:
            result = made.match(relation, graph)
            if result is None:
                must = made.is_pointwise(clause) and one_dtype(graph, other, *instance.inputs)
                assert not must, f"{relation.label} does not fire on {graph}"
                continue
            fired += 1
            assert result.type.narrows(graph.type), f"{graph} : {graph.type} became {result.type}"
            first = not relation.backward or len(relation.clauses) == 1
            if first and isinstance(other, Variable) and other.type.narrows(graph.type):
                assert made.canonical(result) == made.canonical(other)
            check_values(relation, instance, graph, result)
        assert fired, f"no instance of {clause} fires"


def one_dtype(graph, other, *inputs):
    """Tell whether the sides have one dtype, and the inputs have one."""
    same_result = not isinstance(other, Variable) or other.dtype == graph.dtype
    return same_result and len({x.dtype for x in inputs}) == 1


@every_direction
def test_it_keeps_values_of_every_dtype(theme, relation):
    checked = 0
    for _, sides in cases(theme, relation, EVERY_DTYPE, 60):
        for graph, _, instance in sides:
            result = made.match(relation, graph)
            if result is not None:
                assert result.type.narrows(graph.type)
                check_values(relation, instance, graph, result)
                checked += 1
    assert checked


def check_values(relation, instance, graph, result, *, kind="moderate", draws=2):
    """Compare what a graph and its replacement compute, by the labels of the relation."""
    regular = needs_regular(graph, result)
    for number in range(draws):
        rng = generator(relation.name, str(instance), kind, number)
        values = {x.name: numbers.draw(x, rng, kind, regular) for x in instance.inputs}
        try:
            numbers.evaluate((graph,), values)
        except ValueError:  # sizes that are operands need not fit
            continue
        try:
            done = numbers.evaluate((graph, result), values)
        except np.linalg.LinAlgError:
            continue
        improves = "stabilize" in relation.tags and kind == "moderate"
        if (relation.specials == "assumes_finite" or improves) and not numbers.all_finite(done):
            continue
        a, b = done[graph], done[result]
        exact = relation.rounding == "exact"
        eps = coarsest(done, graph)
        agree = numbers.same(a, b, True) if exact else numbers.close(a, b, done, eps)
        assert agree, f"{relation.label}: {graph} -> {result}\n{values}\n{a}\n{b}"


def coarsest(done, graph):
    """Return the spacing of the narrowest floats that a graph itself computes with."""
    dtypes = {done[x].dtype for x in toposort([graph]) if done[x].dtype.kind == "f"}
    return max([float(np.finfo(d).eps) for d in dtypes], default=0.0)


@every_direction
def test_it_keeps_specials_as_labelled(theme, relation):
    kinds = ["special"] if relation.specials == "kept" else ["zeros"]
    if relation.specials == "kept" and "stabilize" not in relation.tags:
        kinds.append("extreme")
    checked = 0
    for _, sides in cases(theme, relation, ("float64",), 12):
        for graph, _, instance in sides:
            result = made.match(relation, graph)
            if result is None or needs_regular(graph, result):
                continue
            for kind in kinds:
                check_values(relation, instance, graph, result, kind=kind, draws=6)
                checked += 1
    if not needs_regular(*[s[0] for _, sides in cases(theme, relation) for s in sides[:1]]):
        assert checked or SHAPES_OF.get(theme) == "linalg"


ROUNDED = [(theme, r) for theme, r in RELATIONS if r.rounding == "rounded"]
DIGITS = 800  # 1 + exp(-800) has 348 of them


@pytest.mark.parametrize(("theme", "relation"), ROUNDED, ids=[r.label for _, r in ROUNDED])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_its_error_is_bounded(theme, relation, dtype):
    """Both sides have one exact value, and what is made is as accurate as its own steps allow."""
    stable = "stabilize" in relation.tags and relation in [r for _, r in shipped()]
    judged = 0
    for _, sides in cases(theme, relation, (dtype,), 40):
        fired = [
            (graph, result, instance)
            for graph, _, instance in sides
            if (result := made.match(relation, graph)) is not None and graph.dtype.kind == "f"
        ]
        for graph, result, instance in fired[:2]:
            judged += judge(relation, instance, graph, result, kind="moderate", digits=60)
            if stable:
                judged += judge(relation, instance, graph, result, kind="large", digits=DIGITS)
    assert judged or relation.name in ("merge_extremeo", "remove_reduceo")


def judge(relation, instance, graph, result, *, kind, digits):
    """Compare exact values of both sides, and the computed result with them; 0 if none exists."""
    rng = generator(relation.name, str(instance), kind)
    regular = needs_regular(graph, result)
    for attempt in range(8):
        values = {x.name: numbers.draw(x, rng, kind, regular) for x in instance.inputs}
        if attempt > 4:  # some are defined for positive arguments only
            values = {name: np.abs(v) for name, v in values.items()}
        with mpmath.workdps(digits):
            try:
                left, right = numbers.exact(graph, values), numbers.exact(result, values)
                eps = float(np.finfo(graph.dtype).eps)
                width = numbers.bound(result, values, eps, right)
                if not left.size:
                    continue
                where = f"{relation.label}: {graph} -> {result} at {values}"
                assert_one_value(left, right, width, mpmath.mpf(10) ** (-digits // 2), where)
                computed = numbers.evaluate((result,), values)[result]
                assert_accurate(computed, right, width, where)
                return 1
            except numbers.Undefined:
                continue
    return 0


def assert_one_value(left, right, width, floor, where):
    for x, y, w in zip(left.flat, right.flat, np.broadcast_to(width, left.shape).flat, strict=True):
        assert abs(x - y) <= (abs(w) + abs(x)) * 1e-12 + floor, where


def assert_accurate(computed, right, width, where):
    info = np.finfo(computed.dtype)
    widths = np.broadcast_to(width, right.shape).flat
    for x, y, w in zip(computed.flat, right.flat, widths, strict=True):
        if abs(y) < info.max / 2:
            allowed = 16 * w + 4 * float(info.eps) * abs(y) + float(info.tiny)
            assert np.isfinite(x) and abs(mpmath.mpf(float(x)) - y) <= allowed, (
                f"{where}: {x} is not {mpmath.nstr(y, 20)}"
            )


@every_direction
def test_kanren_and_matcher_agree(theme, relation):
    for clause, sides in cases(theme, relation, ("float64",), 8):
        agreed = 0
        for graph, _, _ in sides:
            if made.match(relation, graph) is not None:
                assert made.answers(relation, graph), f"kanren has no answer for {graph}"
                agreed += 1
        assert agreed, f"no instance of {clause} fires"


@every_direction
def test_near_misses_do_not_match(theme, relation):
    for clause, _ in cases(theme, relation):
        side = clause.right if relation.backward else clause.left
        tried = 0
        for mutant in made.mutants(side):
            changed = type(clause)(
                *((clause.left, mutant) if relation.backward else (mutant, clause.right)),
                clause.conditions,
            )
            dtypes = ("bool", "float64") if takes_bool(clause) else ("float64",)
            for x in made.instances(changed, profile(theme, clause), dtypes, 1):
                graph = x.right if relation.backward else x.left
                if not isinstance(graph, Variable) or graph.op is None:
                    continue
                fires, answered = made.match(relation, graph), made.answers(relation, graph)
                assert (fires is not None) == answered, f"{relation.label} on {graph}: {fires}"
                tried += 1
        assert tried or not made.mutants(side)


@every_direction
def test_a_condition_that_is_not_proved_holds_it_back(theme, relation):
    asked = 0
    for clause, sides in cases(theme, relation, facts=False):
        conditional = has_facts(relation, clause)
        for graph, _, instance in sides:
            if conditional and all(x.dtype.kind == "f" for x in instance.inputs):
                asked += 1
                # Only squareness is seen from a type.
                assert made.match(relation, graph) is None or "square(" in str(clause)
    assert asked or not any(has_facts(relation, c) for c in relation.clauses)


def has_facts(relation, clause):
    """Tell whether a direction of a clause asks for facts, beyond those its pattern proves."""
    return any(
        made.facts_of(rewrite, v)
        for rewrite in relation.rewrites
        if rewrite_key(rewrite) == clause_key(clause, relation.backward)
        for v in made.variables(rewrite.pattern)
    )


def test_every_shipped_direction_decreases_the_measure():
    for _, relation in shipped():
        if PHASES & set(relation.tags):
            for rewrite in relation.rewrites:
                assert decreases(rewrite), rewrite


def test_docstrings_and_names():
    seen = set()
    for _, relation in shipped():
        name, doc = relation.name, relation.__doc__ or ""
        assert name.endswith("o") and name not in seen
        seen.add(name)
        first, _, rest = doc.partition("\n")
        assert "=" in first or "by " in first or "solve" in first, name
        assert "Holds" in rest and "Source:" in rest, name
        labels = rest.split("Source:")[0]
        assert relation.rounding in labels, f"{name} is {relation.rounding}"
        assert relation.specials in labels, f"{name}: {relation.specials}"
        other = "rounded" if relation.rounding == "exact" else "exact,"
        assert other not in labels.replace("exact value", ""), name
