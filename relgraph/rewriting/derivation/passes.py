"""What passes over whole graphs did, so that derivations can name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from relgraph.ir.cost import flops
from relgraph.ir.node import Variable
from relgraph.ir.printing import brief

Outputs = tuple[Variable, ...]


@dataclass(frozen=True)
class Pass:
    """One change of a whole graph by a rewriter written in Python, which states no relation.

    Attributes
    ----------
    name : str
        The rewriter's.
    before, after : tuple of Variable
        The outputs as they were and as they are.
    """

    name: str
    before: Outputs
    after: Outputs

    @property
    def steps(self) -> tuple[()]:
        """Nothing: it gives no reasons."""
        return ()

    def check(self) -> None:
        """Do nothing: there is no relation that could be asked; see ``Derivation.unreplayed``."""

    def lines(self) -> Iterator[str]:
        """Yield its name and cost, and what it made of the outputs that it changed."""
        yield f"   {self.name}, a pass: {flops(self.before)} -> {flops(self.after)} flops"
        for old, new in zip(self.before, self.after, strict=True):
            if old is not new:
                yield f"    {brief(old)}"
                yield f"  = {brief(new)}"


# Called with the name of a pass that changed a graph, and the outputs before and after it.
LISTENER: ContextVar[Callable[[str, Outputs, Outputs], None] | None] = ContextVar(
    "LISTENER", default=None
)


def told(name: str, before: Outputs, after: Outputs) -> None:
    """Tell who listens, if anyone does, what a pass did.

    Parameters
    ----------
    name : str
        The pass.
    before, after : tuple of Variable
        The outputs of the graph.
    """
    listener = LISTENER.get()
    if listener is not None and before != after:
        listener(name, before, after)
