"""A corpus of graphs, and what a second run of a mode changes in them.

``python -m tests.rewriting.idempotence --programs 1000`` prints each graph that a second run
changes, in all modes.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import relgraph as rg
from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable
from tests.random_programs import batch
from tests.random_programs.generator import Generator, random_inputs
from tests.random_programs.judge import quiet

MODES = ("o1", "o2", "o3", "o4", "stabilization", "unsafe")
TABLES = Path(__file__).parents[1] / "relations" / "catalogue"


class Case(NamedTuple):
    """A graph and where it is from."""

    name: str
    graph: Variable


class Change(NamedTuple):
    """A graph that a second run of a mode changes."""

    case: Case
    mode: str
    once: Variable
    twice: Variable

    def __str__(self) -> str:
        return f"{self.case.name}, {self.mode}:\n  {self.case.graph}\n  {self.once}\n  {self.twice}"


def rows() -> Iterator[Case]:
    """Yield both sides of each row of the tables of the catalogue's tests."""
    for path in sorted(TABLES.glob("test_*.py")):
        module = import_module(f"tests.relations.catalogue.{path.stem}")
        for number, row in enumerate(getattr(module, "ROWS", ())):
            for side in ("left", "right", "miss"):
                graph = getattr(row, side, None)
                if isinstance(graph, Variable):
                    yield Case(f"{path.stem} {number} {side}", graph)


def programs(count: int) -> Iterator[Case]:
    """Yield the graphs of random programs."""
    for seed in range(count):
        rng = np.random.default_rng([seed, 13])
        inputs = random_inputs(rng, numbers=False)
        with quiet():
            program = Generator(rng, inputs, finite=True).program()
            sizes = str(rng.choice(["static", "named", "unknown"]))
            try:
                built = batch._built(program, batch.graphs_of(inputs, sizes))
            except RelgraphError:
                continue
        if isinstance(built, Variable):
            yield Case(f"program {seed}", built)


def changed(case: Case, mode: str) -> Change | None:
    """Return what a second run of a mode changes, or None."""
    once = rg.rewrite_graph(case.graph, mode=mode)
    twice = rg.rewrite_graph(once, mode=mode)
    return None if twice is once else Change(case, mode, once, twice)


def main() -> None:
    """Print each change and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--modes", nargs="+", default=MODES)
    given: Any = parser.parse_args()
    warnings.simplefilter("ignore")
    count = total = 0
    for case in (*rows(), *programs(given.programs)):
        for mode in given.modes:
            total += 1
            change = changed(case, mode)
            if change is not None:
                count += 1
                print(change, flush=True)
    print(f"{count} of {total} runs change at the second time")


if __name__ == "__main__":
    main()
