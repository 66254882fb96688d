"""What the modules of mistakes share: a collection of mistakes, and inputs."""

from __future__ import annotations

from collections.abc import Callable

import relgraph as rg

x = rg.vector("x", shape=("n",))
y = rg.vector("y", shape=("n",))
A, B = rg.matrices("A B", shape=("n", "n"))


class Cases(dict[str, Callable[[], object]]):
    """Functions that make a mistake, by the headings of their messages."""

    def add(self, function: Callable[[], object]) -> Callable[[], object]:
        """Add a function under its docstring, as a decorator."""
        self[function.__doc__ or ""] = function
        return function
