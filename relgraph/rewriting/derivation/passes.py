"""Records of passes over whole graphs, so that derivations can name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar

from relgraph.ir.cost import compared_flops
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable
from relgraph.ir.records import record

Outputs = tuple[Variable, ...]


@record
class Pass:
    """One change of a whole graph by a rewriter written in Python, which has no relation.

    Attributes
    ----------
    name : str
        The name of the rewriter.
    before, after : tuple of Variable
        The outputs before and after the pass.
    details : tuple of str
        What it says of its change, in lines; by default the outputs that it changed.
    """

    name: str
    before: Outputs
    after: Outputs
    details: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[()]:
        """No steps: a pass records none."""
        return ()

    def check(self) -> None:
        """Do nothing: a pass has no relation to check; see ``Derivation.unreplayed``."""

    def lines(self) -> Iterator[str]:
        """Yield its name and cost, and its details."""
        yield f"   {self.name}, a pass: {compared_flops(self.before, self.after)}"
        if self.details:
            yield from self.details
            return
        for old, new in zip(self.before, self.after, strict=True):
            if old is not new:
                yield f"    {brief(old)}"
                yield f"  = {brief(new)}"


# Called with each pass that changed a graph.
LISTENER: ContextVar[Callable[[Pass], None] | None] = ContextVar("LISTENER", default=None)


def told(name: str, before: Outputs, after: Outputs, details: Sequence[str] = ()) -> None:
    """Report a pass to the current listener, if there is one.

    Parameters
    ----------
    name : str
        The pass.
    before, after : tuple of Variable
        The outputs of the graph.
    details : sequence of str
        Lines that say what changed; the first report of a pass counts.
    """
    listener = LISTENER.get()
    if listener is not None and before != after:
        listener(Pass(name, before, after, tuple(details)))
