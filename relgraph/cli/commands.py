"""The commands: what each reads from the command line, and the answer that it gives."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import relgraph as rg
from relgraph.cli.doctor import report as doctor
from relgraph.cli.subjects import (
    declare_graph,
    declare_nonfinite,
    declare_rewriting,
    declare_sizes,
    named_graph,
    named_relation,
    rewriting,
    sizes_of,
)
from relgraph.db.modes import MODES
from relgraph.errors import ArgumentError
from relgraph.viz.display import Displayed


@dataclass(frozen=True)
class Answer:
    """What a command prints: a text, or an object that displays itself; the same as data for JSON;
    and whether it is positive."""

    text: str | Displayed
    data: Any
    positive: bool = True


@dataclass(frozen=True)
class Command:
    """A command: its name, a line of help, its arguments, and what it does."""

    name: str
    help: str
    declare: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Answer]


def _of_graph(parser: argparse.ArgumentParser) -> None:
    declare_graph(parser)
    declare_rewriting(parser)


def _rewrite(options: argparse.Namespace) -> Answer:
    graph = named_graph(options)
    chosen, how = rewriting(options)
    result = rg.rewrite_graph(graph, *chosen, **how)
    data = {"graph": str(graph), "result": str(result), "changed": result is not graph}
    return Answer(str(result), data)


def _explain(options: argparse.Namespace) -> Answer:
    graph = named_graph(options)
    chosen, how = rewriting(options)
    derivation = rg.explain(graph, *chosen, **how)
    steps = [
        {"relations": step.relations, "before": str(step.before), "after": str(step.after)}
        for step in derivation.steps
    ]
    return Answer(derivation, {"graph": str(graph), "steps": steps})


def _why_not_arguments(parser: argparse.ArgumentParser) -> None:
    declare_graph(parser)
    parser.add_argument("relation", help="a relation of the catalogue, or module:name")
    parser.add_argument("-m", "--mode", help="ask about rewriting with this mode")
    declare_nonfinite(parser)


def _why_not(options: argparse.Namespace) -> Answer:
    graph, relation = named_graph(options), named_relation(options.relation)
    answer = rg.why_not(graph, relation, mode=options.mode, nonfinite=options.nonfinite)
    places = [
        {
            "node": str(place.node),
            "reasons": [
                {"kind": r.kind, "text": r.text, "advice": r.advice} for r in place.reasons
            ],
        }
        for place in answer.places
    ]
    data = {"fires": bool(answer.fired), "at": list(map(str, answer.fired)), "places": places}
    return Answer(answer, data, bool(answer.fired))


def _benchmark_arguments(parser: argparse.ArgumentParser) -> None:
    _of_graph(parser)
    declare_sizes(parser)
    parser.add_argument("--peer", action="append", default=[], help="numpy, jax, torch, ...")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds in which to end")


def _benchmark(options: argparse.Namespace) -> Answer:
    graph = named_graph(options)
    chosen, how = rewriting(options)
    result = rg.benchmark(
        graph, *chosen, mode=how["mode"] or "default", sizes=sizes_of(options.sizes) or None,
        peers=options.peer, budget=options.budget,
    )  # fmt: skip
    return Answer(result, json.loads(result.to_json()))


def _draw_arguments(parser: argparse.ArgumentParser) -> None:
    _of_graph(parser)
    parser.add_argument("-o", "--output", required=True, help="a file: .svg, .html, .png or .pdf")
    parser.add_argument(
        "--as-written", action="store_true", help="draw the graph without rewriting it"
    )


def _draw(options: argparse.Namespace) -> Answer:
    graph = named_graph(options)
    chosen, how = rewriting(options)
    subject = graph if options.as_written else rg.explain(graph, *chosen, **how)
    rg.draw(subject, options.output)
    return Answer(f"drew {options.output}", {"file": options.output})


def _profile_arguments(parser: argparse.ArgumentParser) -> None:
    _of_graph(parser)
    parser.add_argument("--every", action="store_true", help="list what did not fire, too")


def _profile(options: argparse.Namespace) -> Answer:
    graph = named_graph(options)
    chosen, how = rewriting(options)
    profile = rg.profile(graph, mode=[*chosen, *([how["mode"]] if how["mode"] else [])])
    return Answer(profile.text(every=options.every), profile.table())


def _source_arguments(parser: argparse.ArgumentParser) -> None:
    declare_graph(parser)
    parser.add_argument("--library", default="numpy", help="numpy, jax or torch")


def _source(options: argparse.Namespace) -> Answer:
    text = str(rg.source(named_graph(options), options.library))
    return Answer(text.rstrip(), {"library": options.library, "source": text})


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", help="a relation, as for -r, or a mode")
    parser.add_argument(
        "--most", type=int, metavar="N", help="of a mode: critical pairs to try for each phase"
    )


def _check(options: argparse.Namespace) -> Answer:
    mode = options.subject in MODES
    subject = options.subject if mode else named_relation(options.subject)
    if options.most is not None and not mode:
        raise ArgumentError("--most is for a mode", fix="Leave it out for a relation.")
    report = rg.check(subject, most=options.most) if mode else rg.check(subject)
    data = {"subject": options.subject, "holds": bool(report), "report": str(report)}
    return Answer(report, data, bool(report))


def _catalogue_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", nargs="*", help="words to search for; all relations by default")


def _catalogue(options: argparse.Namespace) -> Answer:
    rows = rg.catalogue(" ".join(options.text))
    data = [
        {"name": r.name, "theme": r.theme, "runs": r.ways, "phases": r.phases, "tags": r.tags,
         "identity": r.identity}
        for r in rows
    ]  # fmt: skip
    return Answer(str(rows), data, len(rows) > 0)


def _cache_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("size", "list", "clear"), nargs="?", default="size")


def _cache(options: argparse.Namespace) -> Answer:
    if options.action == "clear":
        before = rg.cache.info().size
        rg.cache.clear()
        return Answer(f"removed {before:,} bytes", {"removed": before})
    info = rg.cache.info()
    if options.action == "size":
        data = {"folder": str(info.directory), "bytes": info.size, "limit": info.limit}
        return Answer(str(info), data)
    folder = info.directory
    files = sorted(folder.glob("*.rgc")) if folder is not None and folder.is_dir() else []
    rows = [(path.name, path.stat().st_size) for path in files]
    lines = [f"{size:>10,}  {name}" for name, size in rows]
    return Answer("\n".join(lines) or "empty", [{"name": n, "bytes": size} for n, size in rows])


def _doctor(options: argparse.Namespace) -> Answer:
    facts = doctor()
    width = max(map(len, facts))
    return Answer("\n".join(f"{key:<{width}}  {value}" for key, value in facts.items()), facts)


COMMANDS = (
    Command("rewrite", "Rewrite a graph, and print the result.", _of_graph, _rewrite),
    Command("explain", "Rewrite a graph, and print every step.", _of_graph, _explain),
    Command("why-not", "Say why a relation does not fire.", _why_not_arguments, _why_not),
    Command("benchmark", "Time a graph rewritten.", _benchmark_arguments, _benchmark),
    Command("profile", "Show where time goes.", _profile_arguments, _profile),
    Command("draw", "Draw a graph before and after rewriting.", _draw_arguments, _draw),
    Command("source", "Write a graph as a function of a library.", _source_arguments, _source),
    Command("check", "Check a relation or a mode on values.", _check_arguments, _check),
    Command(
        "catalogue", "List relations, rewriters and choices.", _catalogue_arguments, _catalogue
    ),
    Command("cache", "Show or clear the compiled code on disk.", _cache_arguments, _cache),
    Command(
        "doctor", "Show versions, threads, the cache and the GPU.", lambda parser: None, _doctor
    ),
)


__all__ = ["COMMANDS", "Answer", "Command"]
