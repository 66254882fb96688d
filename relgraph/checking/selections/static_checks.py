"""Static checks of a selection: the effect of each relation in the presence of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from typing import Any

import numpy as np

from relgraph.checking.evaluation import evaluate
from relgraph.checking.generators.arrays import draw
from relgraph.checking.generators.cases import Firing, each_case, firings, one_sided
from relgraph.checking.generators.shapes import EVERY_DTYPE
from relgraph.checking.matching import canonical, match
from relgraph.checking.selections import critical_pairs
from relgraph.checking.selections.expected_findings import expected
from relgraph.checking.selections.findings import Finding, SelectionReport
from relgraph.db.database import Pipeline, RewriteDatabase
from relgraph.db.default import default_database
from relgraph.db.modes import mode
from relgraph.db.query import RewriteDatabaseQuery
from relgraph.errors import (
    ArgumentError,
    BudgetError,
    OscillationError,
    RelgraphError,
    UnknownTagError,
)
from relgraph.ir.cost import flops
from relgraph.ir.graph import free_inputs
from relgraph.ir.node import Variable
from relgraph.relations.clause import Clause, orient, with_block
from relgraph.relations.relation import Relation
from relgraph.relations.termination_order import decreases
from relgraph.rewriting.derivation.derivation import recording
from relgraph.rewriting.passes.constant_folding import ConstantFolding
from relgraph.rewriting.rewriters import GraphRewriter, SequentialGraphRewriter, as_item, flat
from relgraph.viz.progress import progress

EXAMPLES = 6  # graphs of each clause
UNKNOWN = 300  # graphs with unknown sizes to build from a clause if needed
MANY = 8  # above this number of clauses, graphs have one dtype only
DTYPES = (("float64",), EVERY_DTYPE)


@dataclass(frozen=True)
class Stage:
    """A phase: its relations, and its rewriters written in Python."""

    name: str
    items: tuple[Any, ...]

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations, in order."""
        return tuple(x for x in self.items if isinstance(x, Relation))

    def rewriter(self) -> GraphRewriter:
        """Return the rewriter with all relations of the phase."""
        return GraphRewriter(list(self.items))

    def others(self, relation: Relation, *, with_it: bool = False) -> GraphRewriter:
        """Return the rewriter with the other relations that promise at least as much.

        An exact relation does not follow from rounded ones, since a query may exclude these.
        """
        promised = [
            x
            for x in self.relations
            if (with_it or x is not relation)
            and (relation.rounding == "rounded" or x.rounding == "exact")
            and (relation.specials == "assumes_finite" or x.specials == "kept")
        ]
        folding = [x for x in self.items if isinstance(x, ConstantFolding)]
        return GraphRewriter([*promised, *folding])


def check_selection(
    subject: Any,
    *,
    pairs: bool = True,
    most: int | None = None,
    only: Iterable[str] | None = None,
) -> SelectionReport:
    """Check the relations of each phase of a selection against each other; see ``rg.check``.

    The checks run on graphs built from the sides of the relations, the same ones in every run.
    """
    subject, findings = _in_one_direction(subject)
    name, stages, final = stages_of(subject)
    wanted = _named(only, stages)
    if not (most is None or (isinstance(most, int) and most >= 0)):
        raise ArgumentError(
            f"most is a number of critical pairs, not {most!r}",
            fix="Give an int of at least 0, or leave it out for all.",
        )
    counts: Counter[str] = Counter()
    for number, stage in enumerate(stages):
        check = StageCheck(stage, wanted)
        findings += check.findings()
        counts += check.counts
        if pairs:
            findings += check.forks(final[number + 1 :], most)
            counts += check.counts_of_pairs
    counts["phases"] = len(stages)
    return SelectionReport(name, counts, [expected(f) for f in findings])


def _named(only: Iterable[str] | None, stages: list[Stage]) -> set[str] | None:
    """Return the names of relations to check; raise if the selection lacks one."""
    if only is None:
        return None
    wanted = {only} if isinstance(only, str) else set(only)
    names = {x.name for stage in stages for x in stage.relations}
    for name in sorted(wanted - names, key=str):
        near = get_close_matches(str(name), names, 1)
        raise UnknownTagError(
            f"only= names {name!r}, which is no relation of the selection",
            {"relations": len(names)},
            f"Did you mean {near[0]!r}?" if near else "Give names of relations that it has.",
        )
    return wanted


def _in_one_direction(subject: Any) -> tuple[Any, list[Finding]]:
    """Return a list without second directions of relations, and a fault for each."""
    if not isinstance(subject, list | tuple | set | frozenset | Iterator):
        return subject, []
    kept: list[Any] = []
    findings: list[Finding] = []
    first: dict[int, Relation] = {}
    for x in flat(subject):
        other = first.setdefault(id(x.goal), x) if isinstance(x, Relation) else None
        if other is None or other.backward == x.backward:
            kept.append(x)
            continue
        text = f"{other.label}: {x.label} is selected too, and each undoes the other"
        findings.append(Finding("oscillates", "", (other.label, x.label), text))
    return kept, findings


def stages_of(subject: Any) -> tuple[str, list[Stage], list[Any]]:
    """Return the name of a selection, its phases, and its rewriters in order."""
    if isinstance(subject, str | RewriteDatabaseQuery):
        name = subject if isinstance(subject, str) else repr(subject)
        subject = default_database().query(mode(subject))
    elif isinstance(subject, RewriteDatabase):
        name = subject.name
        subject = subject.query(*[database.name for database in subject.databases()])
    elif isinstance(subject, GraphRewriter):
        name = str(subject.name)
    else:
        items = list(flat(subject)) if isinstance(subject, Iterable) else None
        if not items:
            raise ArgumentError(
                f"check takes a relation or a selection of relations, not {subject!r}",
                fix="Give a relation, a list of them, a mode such as 'o4', a query or a database.",
            )
        subject = GraphRewriter([as_item(x) for x in items])
        name = ", ".join(str(getattr(x, "label", x)) for x in subject.items)
        name = name if len(name) < 60 else f"{len(subject.items)} relations"
    rewriters = list(subject.rewriters) if _sequence(subject) else [subject]
    phases = [x for x in rewriters if isinstance(x, GraphRewriter) and x.selections]
    return name, [Stage(_name(x, subject), tuple(x.items)) for x in phases], phases


def _sequence(x: Any) -> bool:
    return isinstance(x, Pipeline | SequentialGraphRewriter)


def _name(rewriter: GraphRewriter, whole: Any) -> str:
    return "" if rewriter is whole else str(rewriter.name)


class StageCheck:
    """The relations of one phase, and the findings about them; ``only`` names those to check."""

    def __init__(self, stage: Stage, only: set[str] | None = None) -> None:
        self.stage = stage
        self.rewriter = stage.rewriter()
        self.relations = [r for r in stage.relations if only is None or r.name in only]
        self.counts: Counter[str] = Counter(relations=len(self.relations))
        self.counts_of_pairs: Counter[str] = Counter()

    def findings(self) -> list[Finding]:
        """Return the findings about every relation."""
        findings: list[Finding] = []
        for relation in progress(self.relations, f"relations {self.stage.name}".rstrip()):
            if relation.interpreted:
                self.counts["interpreted"] += 1
                continue
            try:
                findings += self.of_relation(relation)
            except (RelgraphError, ArithmeticError, np.linalg.LinAlgError) as error:
                what = f"{type(error).__name__}: {error}".partition("\n")[0]
                findings.append(self.finding("fails", relation, what))
        return findings

    def of_relation(self, relation: Relation) -> list[Finding]:
        """Return the findings about one relation."""
        findings = self.directions(relation)
        examples = self.examples(relation)
        if not examples:
            return [*findings, self.finding("unproved", relation, _why_idle(relation))]
        shadow = self.shadow(relation, examples)
        if shadow is not None:
            return [*findings, shadow]
        if self.derivable(relation, examples):
            self.counts["derived"] += 1
            kind = "derived" if "derived" in relation.tags else "derivable"
            findings.append(self.finding(kind, relation, f"{relation}"))
        return findings

    def finding(self, kind: str, relation: Relation, text: str, *others: str) -> Finding:
        """Return a finding about one relation."""
        names = (relation.label, *others)
        shown = text if text.startswith(relation.label) else f"{relation.label}: {text}"
        return Finding(kind, self.stage.name, names, " ".join(shown.split()))

    def directions(self, relation: Relation) -> list[Finding]:
        """Return findings about clauses and directions that cannot run."""
        findings = []
        for clause in relation.clauses or ():
            why = refusal(relation, clause, relation.backward)
            if why is not None:
                findings.append(self.finding("cannot run", relation, f"{clause}: {why}"))
        backward = [refusal(relation, c, not relation.backward) for c in relation.clauses or ()]
        if all(backward):
            findings.append(self.finding("one way", relation, str(backward[0])))
        if not all(decreases(r) for r in relation.rewrites):
            findings.append(self.finding("unmeasured", relation, str(relation)))
        return findings

    def examples(self, relation: Relation) -> list[tuple[Variable, Variable]]:
        """Return a few graphs of each clause that a relation matches, with their replacements."""
        examples: list[tuple[Variable, Variable]] = []
        for dtypes in DTYPES:
            if examples and len(relation.clauses or ()) > MANY:
                break
            for of_clause in fired(relation, dtypes):
                examples += [(graph, result) for graph, result, _ in islice(of_clause, EXAMPLES)]
        self.counts["graphs"] += len(examples)
        return examples

    def shadow(
        self, relation: Relation, examples: Sequence[tuple[Variable, Variable]]
    ) -> Finding | None:
        """Return a finding that others fire instead, if a relation never fires on its own sides.

        A query may exclude rewriters written in Python and relations that promise less, so if these
        fire first, the check runs again without them.
        """
        finding = None
        for rewriter in (self.rewriter, self.stage.others(relation, with_it=True)):
            finding = self.shadow_of(relation, examples, rewriter)
            if finding is None or finding.kind == "oscillates":
                break
        return finding

    def shadow_of(
        self, relation: Relation, examples: Sequence[tuple[Variable, Variable]], rewriter: Any
    ) -> Finding | None:
        """Return a finding that others fire instead of a relation under one rewriter."""
        instead: Counter[str] = Counter()
        more = (
            graph
            for dtypes in DTYPES
            for of_clause in fired(relation, dtypes)
            for graph, _, _ in of_clause
        )
        for graph in chain((graph for graph, _ in examples), _of_unknown_sizes(relation), more):
            try:
                with recording() as phases:
                    rewriter.outputs_of((graph,))
            except (OscillationError, BudgetError) as error:
                cycle = [name for name, _, _ in getattr(error, "cycle", ())]
                others = [name for name in dict.fromkeys(cycle) if name != relation.label]
                text = f"{graph}: {error.what}"
                return self.finding("oscillates", relation, text, *others)
            firings = [f.rewrite.relation for p in phases for step in p.steps for f in step.firings]
            if relation.label in firings:
                return None
            instead.update(dict.fromkeys(firings, 1))
        names = [name for name, _ in instead.most_common(3)]
        text = f"{relation}; there is {' or '.join(names) or 'nothing'} instead"
        return self.finding("shadowed", relation, text, *names)

    def derivable(self, relation: Relation, examples: Sequence[tuple[Variable, Variable]]) -> bool:
        """Return True if both sides have one normal form without the relation."""
        others = self.stage.others(relation)
        if not all(self.joins(others, graph, result) for graph, result in examples):
            return False
        unknown = islice(_of_unknown_sizes(relation), EXAMPLES)
        return all(self.joins(others, x, match(relation, x)) for x in unknown)

    def joins(self, rewriter: Any, a: Variable, b: Any) -> bool:
        """Return True if two graphs have one normal form, up to order and bracketing."""
        try:
            first, second = rewriter.outputs_of((a,))[0], rewriter.outputs_of((b,))[0]
        except RelgraphError:
            return False
        return first is second or canonical(first) == canonical(second)

    def forks(self, later: Sequence[Any], most: int | None) -> list[Finding]:
        """Return the critical pairs that give two results, even after the later phases."""
        labels = {r.label for r in self.relations}
        every = [
            peak
            for peak in critical_pairs.peaks(critical_pairs.rules_of(self.stage.relations))
            if peak.outer.relation.label in labels or peak.inner.relation.label in labels
        ]
        below = [peak for peak in every if peak.path]
        if most is not None:
            below = below[:: max(1, -(-len(below) // most))] if most > 0 else []
        chosen = [*(peak for peak in every if not peak.path), *below]
        counts = self.counts_of_pairs
        findings: dict[tuple[str, ...], Finding] = {}
        for peak in progress(chosen, f"critical pairs {self.stage.name}".rstrip()):
            names = (peak.outer.relation.label, peak.inner.relation.label)
            counts["overlaps"] += 1
            shapes = critical_pairs.shapes_for((peak.outer, peak.inner))
            fork = critical_pairs.fork(peak, shapes)
            if fork is None:
                continue
            counts["critical pairs"] += 1
            finding = self.parting(fork, later)
            if finding is not None:
                findings.setdefault((finding.kind, *names), finding)
        return list(findings.values())

    def parting(self, fork: critical_pairs.Fork, later: Sequence[Any]) -> Finding | None:
        """Return the finding about a fork whose two steps give two results."""
        ways = [(fork.first,), (fork.second,), (fork.graph,)]
        for rewriter in (self.rewriter, *later):
            try:
                ways = [rewriter.outputs_of(x) for x in ways]
            except RelgraphError as error:
                ends = not isinstance(error, OscillationError | BudgetError)
                if ends and not has_value(fork.graph):
                    return None
                return self.of_fork("oscillates", fork, error.what)
            (first,), (second,), (whole,) = ways
            if canonical(first) == canonical(second):
                return None
        kind = "not joined"
        if flops([whole]) > min(flops([first]), flops([second])):
            kind = "missed" if self.is_met(fork) else "inner first"
        text = f"{fork.names[0]} leads to {first}, {fork.names[1]} to {second}"
        return self.of_fork(kind, fork, text)

    def is_met(self, fork: critical_pairs.Fork) -> bool:
        """Return True if both relations apply at the root of the graph, whose operands are normal.

        Only then does the order of the relations decide.

        References
        ----------
        D. Kapur, D. R. Musser and P. Narendran, "Only prime superpositions need be considered in
        the Knuth-Bendix completion procedure", Journal of Symbolic Computation 6, 1988.
        """
        operands = fork.graph.inputs
        return not fork.peak.path and self.rewriter.outputs_of(operands) == operands

    def of_fork(self, kind: str, fork: critical_pairs.Fork, text: str) -> Finding:
        """Return a finding about two relations."""
        shown = " ".join(f"{fork.graph}: {text}".split())
        return Finding(kind, self.stage.name, fork.names, shown)


def has_value(graph: Variable) -> bool:
    """Return True if NumPy can compute a graph.

    If rewriting proves that a size is 0, the minimum of such an array is an error.
    """
    rng = np.random.default_rng(0)
    try:
        evaluate((graph,), {x.name: draw(x, rng) for x in free_inputs([graph])})
    except (ArithmeticError, ValueError, IndexError):
        return False
    return True


def fired(relation: Relation, dtypes: tuple[str, ...]) -> Iterator[Iterator[Firing]]:
    """Yield, for each clause, the graphs with inputs of these dtypes that a relation matches."""
    for _, sides in each_case(relation, dtypes, _most(dtypes)):
        yield firings(relation, sides)


def _most(dtypes: tuple[str, ...]) -> int:
    return 60 if dtypes == EVERY_DTYPE else 24


def _of_unknown_sizes(relation: Relation) -> Iterator[Variable]:
    """Yield, lazily, graphs that a relation matches and whose sizes are mostly unknown.

    With static sizes, ops simplify much of what a relation on shapes would rewrite.
    """
    yield from (graph for _, graph in one_sided(relation, UNKNOWN))


def refusal(relation: Relation, clause: Clause, backward: bool) -> str | None:
    """Return why a clause cannot run in a direction, or None if it can."""
    try:
        orient(
            with_block(clause), backward, relation.name, relation.location,
            broadcast=relation.broadcast, exact=relation.rounding == "exact",
        )  # fmt: skip
    except RelgraphError as error:
        return error.what.partition(": ")[2]
    return None


def _why_idle(relation: Relation) -> str:
    sides = each_case(relation, EVERY_DTYPE, _most(EVERY_DTYPE))
    tried = sum(len(list(of_clause)) for _, of_clause in sides)
    conditions = [repr(c) for clause in relation.clauses or () for c in clause.conditions]
    rest = f"; it asks for {', '.join(conditions)}" if conditions else ""
    if not tried:
        return f"no graph of its sides can be built{rest}"
    return f"it fires on none of {tried} graphs built from its sides{rest}"
