"""Targets: parts of arrays that kernels write to."""

from __future__ import annotations

from dataclasses import dataclass

from relgraph.ir.node import Variable
from relgraph.ir.op import Op


@dataclass(frozen=True, slots=True)
class Target:
    """A part of an array that values are written to.

    Attributes
    ----------
    op : Op, optional
        What joins the element that is there and a value; without one it is replaced.
    strides : tuple of (int or None, int)
        For each group of axes of the loop the step in elements, None where that is known when the
        program runs, and the axis of the part; empty where elements lie in the order of the loops.
    places : int, optional
        Which array operand holds places along the first axis; along all others elements lie one
        after the other.  Places may repeat, so elements are updated in order.
    """

    op: Op | None
    strides: tuple[tuple[int | None, int], ...] = ()
    places: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """An update of an array that a kernel makes.

    Attributes
    ----------
    node : Variable
        The update; its first operand is the array.
    part : Variable
        What its key selects; nobody computes it.
    furthest : Variable, optional
        The largest index, where the key is an array of them.
    places : int, optional
        Which of the kernel's arrays that is.
    """

    node: Variable
    part: Variable
    furthest: Variable | None = None
    places: int | None = None

    @property
    def array(self) -> Variable:
        """The array that is updated."""
        return self.node.inputs[0]

    @property
    def key(self) -> tuple[Variable, ...]:
        """The operands of the key."""
        return self.node.inputs[2:]

    @property
    def reads(self) -> tuple[Variable, ...]:
        """What it reads besides the value."""
        found = (self.array, *self.key)
        return found if self.furthest is None else (*found, self.furthest)


__all__ = ["Target", "Update"]
