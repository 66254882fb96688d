"""What a command is about: a graph, a relation, or a mode, named on the command line."""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import relgraph as rg
from relgraph.cli.expressions import graph_of, inputs_of
from relgraph.db.catalogue import relations
from relgraph.errors import ArgumentError

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def declare_graph(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a graph."""
    parser.add_argument("graph", help="an expression, such as 'A@x + A@y', or module:function")
    parser.add_argument(
        "-i", "--inputs", action="append", default=[], metavar="INPUTS",
        help="inputs, such as 'A:f8[n,n] x,y:f8[n]{positive}'; ? is an unknown size",
    )  # fmt: skip


def declare_rewriting(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how to rewrite."""
    parser.add_argument("-m", "--mode", help="a mode, such as o4; by default fast_run")
    parser.add_argument(
        "-r", "--relation", action="append", default=[], metavar="RELATION",
        help="a relation of the catalogue or module:name, instead of a mode; may be repeated",
    )  # fmt: skip
    declare_nonfinite(parser)


def declare_nonfinite(parser: argparse.ArgumentParser) -> None:
    """Add the argument that keeps infinities and NaN."""
    parser.add_argument(
        "--nonfinite", choices=("assume", "keep"), default="assume",
        help="whether to use relations that hold for finite values only",
    )  # fmt: skip


def declare_sizes(parser: argparse.ArgumentParser) -> None:
    """Add the argument that gives values to sizes."""
    parser.add_argument(
        "-s", "--size", action="append", default=[], dest="sizes", metavar="NAME=N[,N...]",
        help="a value of a size with a name, or several for a curve; may be repeated",
    )  # fmt: skip


def sizes_of(texts: list[str]) -> dict[str, list[int]]:
    """Return values of sizes, by their names.

    Raises
    ------
    ArgumentError
        For a text of another form.
    """
    sizes = {}
    for text in texts:
        name, _, values = text.partition("=")
        numbers = values.split(",")
        if not name.isidentifier() or not all(number.isdecimal() for number in numbers):
            raise ArgumentError(
                f"the size {text!r} is not name=number", fix="Write n=1000, or n=100,1000,10000."
            )
        sizes[name] = list(map(int, numbers))
    return sizes


def named_graph(options: argparse.Namespace) -> Any:
    """Return the graph that the arguments name.

    Raises
    ------
    ArgumentError
        For an expression or a function that cannot be read.
    """
    inputs = inputs_of(options.inputs)
    if not _REFERENCE.fullmatch(options.graph):
        return graph_of(options.graph, inputs)
    function = _imported(options.graph)
    if isinstance(function, rg.Variable):
        return function
    if not callable(function):
        raise ArgumentError(
            f"{options.graph} is neither a function nor a graph",
            fix="Name a function, and declare its arguments with -i in their order.",
        )
    try:
        inspect.signature(function).bind(*inputs.values())
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"{options.graph} does not take these inputs: {error}",
            {"inputs": ", ".join(inputs) or "none"},
            "Declare one input with -i for each of its arguments, in their order.",
        ) from None
    result = function(*inputs.values())
    if not isinstance(result, rg.Variable):
        raise ArgumentError(
            f"{options.graph} returned {type(result).__name__}, not a graph",
            fix="Return one expression of the arguments.",
        )
    return result


def rewriting(options: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of rewrite_graph that the command line names."""
    chosen = [named_relation(name) for name in options.relation]
    mode = options.mode or (None if chosen else "fast_run")
    return chosen, {"mode": mode, "nonfinite": options.nonfinite}


def named_relation(name: str) -> Any:
    """Return a relation of the catalogue, or one of a module, by its name.

    ``.reversed`` after the name stands for the other direction.

    Raises
    ------
    ArgumentError
        For an unknown name.
    """
    if _REFERENCE.fullmatch(name):
        found = _imported(name)
        if not isinstance(found, rg.Relation):
            raise ArgumentError(
                f"{name} is not a relation", fix="Name one that @rg.identity declares."
            )
        return found
    base = name.removesuffix(".reversed")
    known = {relation.name: relation for relation in relations()}
    if base not in known:
        near = get_close_matches(base, known, 3)
        raise ArgumentError(
            f"the catalogue has no relation {name}",
            {"similar": ", ".join(near)} if near else (),
            "List them with relgraph catalogue, or name one of your own as module:name.",
        )
    relation = known[base]
    return relation if relation.backward == (base != name) else relation.reversed


def _imported(reference: str) -> Any:
    """Return the object that ``module:name`` names; modules of the current folder count."""
    module_name, _, path = reference.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise ArgumentError(
            f"{module_name} cannot be imported: {error}",
            fix="Name a module of this folder, or an installed one, without .py.",
        ) from None
    except AttributeError:
        names = [name for name in vars(importlib.import_module(module_name)) if name[0] != "_"]
        near = get_close_matches(path, names, 3)
        raise ArgumentError(
            f"{module_name} has no {path}", {"similar": ", ".join(near)} if near else ()
        ) from None
    return found


__all__ = [
    "declare_graph",
    "declare_nonfinite",
    "declare_rewriting",
    "declare_sizes",
    "named_graph",
    "named_relation",
    "rewriting",
    "sizes_of",
]
