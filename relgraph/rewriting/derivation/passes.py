"""Records of passes over whole graphs, so that derivations can name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar

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
        Lines that describe the change; without any, displays compare the outputs.
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


# Called with each pass that changed a graph.
LISTENER: ContextVar[Callable[[Pass], None] | None] = ContextVar("LISTENER", default=None)


def report_pass(name: str, before: Outputs, after: Outputs, details: Sequence[str] = ()) -> None:
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
