"""Rewriting compared with its peer, kanren relations in PyTensor, and with relgraph's targets.

All contenders run in one process, in turns; times are medians.  Run it as

    python benchmarks/rewriting.py              # all tables, and results/rewriting.json
    python benchmarks/rewriting.py relation     # one section: relation, chains, misses,
                                                # oscillation, registered, memo, workloads

Without PyTensor it measures relgraph alone.  Every timing starts from an empty memo, except those
that measure the memo; compiling a selection has a separate row.
"""

from __future__ import annotations

import gc
import json
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import kanren
from calibration import calibrate, growth_exponent, interleaved, machine, versions
from etuples import etuple
from kanren.assoccomm import assoc_flatten as kanren_flatten
from kanren.assoccomm import associative
from kanren.graph import mapo as kanren_mapo
from modes import workloads
from unification import vars as lvars

import relgraph as rg
from relgraph.api.rewrite import query_of
from relgraph.db.catalogue import build_database
from relgraph.db.default import default_database
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.rewriters import GraphRewriter, _Contextual
from relgraph.rewriting.selection import Selection

try:
    import peer_kanren as peer
except ImportError as error:
    peer = None
    print(f"PyTensor is not here ({error}): relgraph is measured alone.\n")

PATIENCE = 60  # seconds after which a peer's size counts as not finished
SIZES = (2, 4, 8, 16, 32, 64)
CHAINS = (100, 1_000, 10_000, 100_000)
REGISTERED = (50, 150, 300)


class _OutOfTime(BaseException):
    """Not an Exception, so that a rewriter that logs errors and goes on lets it through."""


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Raise :class:`_OutOfTime` when the block takes longer."""

    def stop(*_: Any) -> None:
        raise _OutOfTime

    earlier = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)


def timed(selection: Selection, build: Callable[[], Any], check: Any = None) -> float:
    """Return the seconds in which a fresh graph is rewritten with an empty memo."""
    graph = build()
    selection.forget()
    start = time.perf_counter()
    (result,) = normalise([graph], selection)
    seconds = time.perf_counter() - start
    assert check is None or result.op is check, result
    return seconds


def first_time(selection: Selection, build: Callable[[], Any], check: Any = None) -> float:
    """Return the seconds of a rewrite by relations that kanren has not met in this shape yet."""
    for shapes in selection.shapes:
        shapes.known.clear()
        shapes.levels.clear()
    return timed(selection, build, check)


def median(seconds: list[float]) -> float:
    """Return the median."""
    return statistics.median(seconds)


# The relation of the seed document, three ways.


@rg.identity
def distribute_matmulo(X: Any, Y: Any, Z: Any) -> Any:
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@rg.relation
def dot_distributeo(left: Any, right: Any) -> Any:
    """A (a + b + ...) = A a + A b + ..., by relgraph's goals."""
    a, term, terms, products, flat = lvars(5)
    return rg.lall(
        rg.eq(left, etuple(rg.matmul, a, term)),
        rg.heado(rg.add, term),
        rg.assoc_flatten(term, flat),
        rg.tailo(terms, flat),
        rg.conso(rg.add, products, right),
        rg.mapo(lambda x, y: rg.eq(y, etuple(rg.matmul, a, x)), terms, products),
    )


@rg.relation
def dot_distribute_interpretedo(left: Any, right: Any) -> Any:
    """The same by miniKanren's own goals, which do not end with both sides open."""
    a, term, terms, products, flat = lvars(5)
    return kanren.lall(
        kanren.eq(left, etuple(rg.matmul, a, term)),
        kanren.heado(rg.add, term),
        kanren_flatten(term, flat),
        kanren.tailo(terms, flat),
        kanren.conso(rg.add, products, right),
        kanren_mapo(lambda x, y: kanren.eq(y, etuple(rg.matmul, a, x)), terms, products),
    )


def left_side(terms: int) -> Any:
    """Return A (x1 + x2 + ...)."""
    xs = [rg.tensor(f"x{i}", ("n", "n")) for i in range(terms)]
    return rg.tensor("A", ("n", "n")) @ nested(xs)


def right_side(terms: int) -> Any:
    """Return A x1 + A x2 + ..."""
    a = rg.tensor("A", ("n", "n"))
    return nested([a @ rg.tensor(f"x{i}", ("n", "n")) for i in range(terms)])


def nested(terms: list[Any]) -> Any:
    """Return a sum nested to the left."""
    total = terms[0]
    for x in terms[1:]:
        total = total + x
    return total


def relation() -> list[dict[str, Any]]:
    """Measure the distributive law in both directions, beside PyTensor."""
    kanren.fact(associative, rg.add)
    rows = []
    for forward in (True, False):
        build, check = (left_side, rg.add) if forward else (right_side, rg.matmul)
        way = "forward" if forward else "backward"
        ours = {
            "identity": distribute_matmulo,
            "own goals": dot_distributeo,
            "interpreted": dot_distribute_interpretedo,
        }
        selections = {k: Selection([r if forward else r.reversed]) for k, r in ours.items()}
        gone = set()
        for terms in SIZES:
            contenders: dict[str, Callable[[], float]] = {}
            for name, selection in selections.items():
                contenders[name] = partial(timed, selection, partial(build, terms), check)
            contenders["interpreted, new"] = partial(
                first_time, selections["interpreted"], partial(build, terms), check
            )
            if peer is not None:
                for shape, nary in (("peer, binary", False), ("peer, n-ary", True)):
                    contenders[shape] = peer.run(forward, terms, nary)
            usable = {}
            for name, contender in contenders.items():
                if name in gone:
                    continue
                try:
                    with patience(PATIENCE):
                        contender()  # warm: compiles matchers, fills PyTensor's type caches
                except (_OutOfTime, AssertionError, RecursionError, rg.errors.RelgraphError) as e:
                    print(f"{way}, {terms} terms: {name} left out ({type(e).__name__})")
                    gone.add(name)
                else:
                    usable[name] = contender
            repeats = 7 if terms <= 16 else 3
            times = {k: median(v) for k, v in interleaved(usable, repeats).items()}
            rows.append({"direction": way, "terms": terms} | {k: v * 1e6 for k, v in times.items()})
    return rows


# Chains that canonicalize rewrites, or leaves unchanged.


def sums(nodes: int) -> Any:
    """Return sin(... * 1 + x): one product with 1 in every four nodes."""
    xs = [rg.vector(f"x{i}", "n") for i in range(8)]
    node = xs[0]
    for i in range(nodes // 3):
        node = rg.sin(node * 1 + xs[i % 8])
    return node


def long_sum(nodes: int) -> Any:
    """Return one sum of products with 1, of 512 different vectors."""
    xs = [rg.vector(f"x{i}", "n") for i in range(512)]
    node = xs[0]
    for i in range(nodes // 2):
        node = node + xs[i % 512] * 1
    return node


def pairs(nodes: int) -> Any:
    """Return log(exp(... + y)): every pair cancels, and one long sum remains."""
    x, y = rg.vectors("x y", "n")
    node = x
    for _ in range(nodes // 3):
        node = rg.log(rg.exp(node - y))
    return node


def irreducible(nodes: int) -> Any:
    """Return sin(... - x), which no relation changes."""
    x, y = rg.vectors("x y", "n")
    node = x
    for _ in range(nodes // 2):
        node = rg.sin(node - y)
    return node


def random_graph(nodes: int) -> Any:
    """Return a graph with sharing, of ops drawn from twelve."""
    draw = random.Random(nodes)
    unary = (rg.sin, rg.cos, rg.tanh, rg.sqrt, rg.exp, rg.arctan)
    binary = (rg.add, rg.subtract, rg.multiply, rg.maximum, rg.minimum, rg.hypot)
    pool: list[Any] = [rg.vector(f"x{i}", "n") for i in range(8)]
    for _ in range(nodes):
        recent = pool[-8:]
        if draw.random() < 0.4:
            pool.append(draw.choice(unary)(draw.choice(recent)))
        else:
            pool.append(draw.choice(binary)(recent[-1], draw.choice(recent)))
    return pool[-1]


GRAPHS: dict[str, Callable[[int], Any]] = {
    "sin(node * 1 + x)": sums,
    "one sum of x * 1": long_sum,
    "log(exp(node - y))": pairs,
    "sin(node - y)": irreducible,
    "random, 12 ops": random_graph,
}


def size_of(graph: Any) -> int:
    """Return how many applications a graph has."""
    return sum(1 for node in rg.FunctionGraph(None, graph) if node.inputs)


def canonicalizer() -> GraphRewriter:
    """Return a rewriter of its own that applies what the tag ``canonicalize`` selects."""
    found = default_database().query(query_of("canonicalize"))
    return found


def rewriter_time(rewriter: Any, graph: Any) -> float:
    """Return the seconds in which a rewriter rewrites a graph that it has never seen."""
    for selection in rewriter.selections:
        selection.forget()
    start = time.perf_counter()
    rewriter.rewrite(graph)
    return time.perf_counter() - start


def chains() -> list[dict[str, Any]]:
    """Measure canonicalize on growing graphs."""
    start = time.perf_counter()
    rewriter = canonicalizer()
    rewriter.rewrite(random_graph(200))
    compiled = time.perf_counter() - start
    rows: list[dict[str, Any]] = [{"graph": "compile canonicalize", "ms": compiled * 1e3}]
    for name, build in GRAPHS.items():
        row: dict[str, Any] = {"graph": name}
        seconds = []
        for count in CHAINS:
            graph = build(count)
            nodes = size_of(graph)
            repeats = 7 if count < 10_000 else 5
            seconds.append(median([rewriter_time(rewriter, graph) for _ in range(repeats)]))
            row[f"µs a node, {count:,}"] = seconds[-1] / nodes * 1e6
        row["exponent"] = growth_exponent(CHAINS, seconds)
        if peer is not None:
            try:
                with patience(PATIENCE):
                    once = peer.canonicalize(peer.sums, 300)
                    once()
                    if name == "sin(node * 1 + x)":
                        row["peer µs a node, 300"] = median([once() for _ in range(3)]) / 300 * 1e6
            except _OutOfTime:
                pass
        rows.append(row)
    return rows


# Graphs that do not match, one large gather, and the memo.


HEADS = (
    rg.exp, rg.log, rg.sqrt, rg.cos, rg.tan, rg.tanh, rg.floor, rg.ceil, rg.sign, rg.rint,
    rg.exp2, rg.log2, rg.log1p, rg.cosh, rg.arctan,
)  # fmt: skip


def idle_relations(count: int = 100) -> list[Any]:
    """Return identities on sin and subtract, none of which matches sin(node - y)."""
    pairs_of = [(f, g) for g in HEADS for f in HEADS[:10]][: count // 2]
    return [
        relation for i, (f, g) in enumerate(pairs_of) for relation in _two_identities(f, g, f"{i}o")
    ]


def _two_identities(f: Any, g: Any, name: str) -> tuple[Any, Any]:
    return (
        rg.identity(lambda x: (rg.sin(f(g(x))), f(x)), name=f"sin{name}"),
        rg.identity(lambda x: (f(x) - g(x), g(f(x)) + 3), name=f"subtract{name}"),
    )


def misses() -> list[dict[str, Any]]:
    """Measure a miss of 100 relations, and a gather of 4096 terms."""
    rows = []
    selection = Selection(idle_relations(100))
    graph = irreducible(20_000)
    timed(selection, lambda: irreducible(100))
    seconds = median([timed(selection, lambda: graph) for _ in range(7)])
    rows.append(
        {"what": "miss of 100 relations", "measured": seconds / size_of(graph) * 1e6,
         "unit": "µs a node", "target": 2.0}
    )  # fmt: skip
    gather = Selection([distribute_matmulo.reversed])
    timed(gather, lambda: right_side(8))
    timed(gather, lambda: right_side(4096))
    seconds = median([timed(gather, lambda: right_side(4096), rg.matmul) for _ in range(15)])
    rows.append(
        {"what": "gather of 4096 terms", "measured": seconds * 1e3, "unit": "ms", "target": 10.0}
    )
    distribute = Selection([distribute_matmulo])
    timed(distribute, lambda: left_side(8))
    timed(distribute, lambda: left_side(4096))
    seconds = median([timed(distribute, lambda: left_side(4096), rg.add) for _ in range(15)])
    rows.append(
        {"what": "distribution over 4096 terms", "measured": seconds * 1e3, "unit": "ms",
         "target": None}
    )  # fmt: skip
    return rows


@rg.identity
def factor_addo(a: Any, b: Any) -> Any:
    """a b + a = a (b + 1)."""
    return a * b + a, a * (b + 1)


@rg.identity
def expand_multiplyo(a: Any, b: Any) -> Any:
    """a (b + 1) = a b + a."""
    return a * (b + 1), a * b + a


def oscillation() -> list[dict[str, Any]]:
    """Measure the time until an oscillation of two relations is reported."""
    x, y = rg.vectors("x y", "n")
    rows = []
    for nodes in (0, 1_000):
        seconds = []
        for i in range(7):
            graph = irreducible(nodes) + i if nodes else x  # a new graph
            graph = graph * (y + i) + graph
            rg.clear_caches()
            start = time.perf_counter()
            try:
                rg.rewrite_graph(graph, factor_addo, expand_multiplyo)
            except rg.errors.OscillationError as error:
                seconds.append(time.perf_counter() - start)
                assert error.cycle
        assert len(seconds) == 7
        rows.append(
            {"what": f"OscillationError above {nodes:,} nodes", "measured": median(seconds) * 1e3,
             "unit": "ms", "target": 10.0}
        )  # fmt: skip
    return rows


def registered() -> list[dict[str, Any]]:
    """Measure modes of a database that holds more and more relations, none of which applies.

    Half of them match a subtraction, half a sine of something else: the ops of the graph.  What is
    shipped runs beside them in the last columns.
    """
    graph = irreducible(20_000)
    nodes = size_of(graph)
    rows: list[dict[str, Any]] = []
    for count in REGISTERED:
        row: dict[str, Any] = {"registered": count}
        idle = idle_relations(count)
        alone = rg.EquilibriumDB("idle")
        shipped = build_database()
        for relation in idle:
            alone.register(relation, "idle")
            shipped["canonicalize"].register(relation, "fast_run")
        for name, rewriter in (
            ("alone", alone.query("idle")),
            ("o4, with them", shipped.query(rg.mode("o4"))),
        ):
            rewriter.rewrite(irreducible(100))  # compiles the matchers
            seconds = median([rewriter_time(rewriter, graph) for _ in range(7)])
            row[f"{name}, µs a node"] = seconds / nodes * 1e6
        rows.append(row)
    first = rows[0]
    for row in rows:
        for key in [k for k in first if k.endswith("node")]:
            row[key.replace("µs a node", "times the first")] = row[key] / first[key]
    return rows


def balanced(leaves: list[Any]) -> Any:
    """Return a balanced tree over leaves, of ops that do not simplify."""
    level = leaves
    step = 0
    while len(level) > 1:
        op = (rg.subtract, rg.hypot, rg.arctan2)[step % 3]
        level = [op(a, b) for a, b in zip(level[::2], level[1::2], strict=True)]
        level = [rg.sin(x) if i % 2 else x for i, x in enumerate(level)]
        step += 1
    return level[0]


class Watching(rg.NodeRewriter):
    """Asks for the clients of every subtraction, and changes nothing."""

    contextual = True

    def tracks(self) -> tuple[Any, ...]:
        """Return the ops it asks about."""
        return (rg.subtract,)

    def transform(self, graph: Any, node: Any) -> None:
        """Look at the clients of a node."""
        assert graph.clients[node]


def memo() -> list[dict[str, Any]]:
    """Measure what is not done again: an unchanged graph, and one with a changed leaf."""
    rewriter = canonicalizer()
    leaves = [rg.vector(f"x{i}", "n") for i in range(8192)]
    graph = balanced(leaves)
    nodes = size_of(graph)
    first = median([rewriter_time(rewriter, graph) for _ in range(5)])
    rewriter.rewrite(graph)
    same, changed = [], []
    for i in range(7):
        start = time.perf_counter()
        rewriter.rewrite(graph)
        same.append(time.perf_counter() - start)
        leaves[i * 1000] = rg.vector(f"y{i}", "n")
        other = balanced(leaves)
        start = time.perf_counter()
        rewriter.rewrite(other)
        changed.append(time.perf_counter() - start)
    rows = [
        {"what": f"balanced graph of {nodes:,} nodes", "measured": first / nodes * 1e6,
         "unit": "µs a node", "target": 4.0},
        {"what": "the same graph again", "measured": median(same) * 1e6, "unit": "µs",
         "target": None},
        {"what": "with one leaf changed", "measured": median(changed) * 1e6, "unit": "µs",
         "target": None},
    ]  # fmt: skip
    view = rg.FunctionGraph(None, graph)
    start = time.perf_counter()
    assert view.clients
    counted = time.perf_counter() - start
    contextual = _Contextual([Watching()])
    passes = []
    for _ in range(7):
        start = time.perf_counter()
        contextual.apply(view)
        passes.append(time.perf_counter() - start)
    rows += [
        {"what": "counting clients once", "measured": counted / nodes * 1e6,
         "unit": "µs a node", "target": None},
        {"what": "a pass of a contextual rewriter", "measured": median(passes) / nodes * 1e6,
         "unit": "µs a node", "target": 0.3},
    ]  # fmt: skip
    return rows


# Output.


def show(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows as a table."""
    head = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(row.get(key)) for key in head] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
    print(f"\n{title}")
    for line in (head, *cells):
        print("  ".join(x.rjust(w) for x, w in zip(line, widths, strict=True)))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return (
        f"{value:,.3g}"
        if isinstance(value, float) and abs(value) < 100
        else (f"{value:,.0f}" if isinstance(value, float) else str(value))
    )


def ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare the peer with relgraph at each size that it finished.

    The same graph for both is one whose sums are binary, as ``+`` builds them.  PyTensor can also
    hold them in one addition, where its goals have less to do; relgraph has no such node.
    """
    targets = {"identity": 30.0, "own goals": 10.0, "interpreted": 1.0, "interpreted, new": 1.0}
    found = []
    for row in rows:
        line: dict[str, Any] = {"direction": row["direction"], "terms": row["terms"]}
        for form in ("binary", "n-ary"):
            for name, target in targets.items():
                if f"peer, {form}" in row and name in row:
                    ratio = row[f"peer, {form}"] / row[name]
                    line[f"{name}, {form} (target {target:g}x)"] = ratio
        if len(line) > 2:
            found.append(line)
    return found


SECTIONS: dict[str, tuple[str, Callable[[], list[dict[str, Any]]]]] = {
    "relation": ("A (x1 + ... + xn) = A x1 + ... + A xn, µs a rewrite", relation),
    "chains": ("Canonicalize (target 4 µs a node, exponent 1.1)", chains),
    "misses": ("Misses and gathering", misses),
    "oscillation": ("Two relations that undo each other", oscillation),
    "registered": ("Relations that do not apply, sin(node - y), 20,000 nodes", registered),
    "memo": ("Memo and contextual pass", memo),
    "workloads": ("Programs under o4 (target 10 times as fast, as few ops)", workloads),
}


def main() -> None:
    """Run the sections asked for, print them, and write them to results/rewriting.json."""
    wanted = sys.argv[1:] or list(SECTIONS)
    report: dict[str, Any] = {
        "machine": machine(),
        "versions": versions("numpy", "pytensor", "miniKanren", "logical-unification", "etuples"),
        "calibration": calibrate(),
    }
    for name, values in report.items():
        print(f"{name}: " + ", ".join(f"{k} {v}" for k, v in values.items()))
    for name in wanted:
        title, section = SECTIONS[name]
        gc.collect()
        gc.freeze()  # objects of earlier sections and PyTensor are not traversed again
        rows = section()
        report[name] = rows
        show(title, rows)
        if name == "relation" and ratios(rows):
            report["ratios"] = ratios(rows)
            show("How many times as fast as PyTensor", ratios(rows))
    if len(wanted) == len(SECTIONS):
        path = Path(__file__).parent / "results" / "rewriting.json"
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
