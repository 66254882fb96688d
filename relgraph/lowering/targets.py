"""Targets: the parts of arrays that kernels write updates to."""

from __future__ import annotations

from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.records import record


@record
class Target:
    """A part of an array that a kernel writes to.

    Attributes
    ----------
    op
        The op that combines the old element with the new value; None to replace the element.
    strides
        For each group of the loop nest, the stride in elements (None if it is known only at run
        time) and the axis of the part.  Empty if elements are contiguous in the order of the loops.
    places
        The array operand that holds indices along the first axis; the other axes are contiguous.
        Indices may repeat, so the kernel updates elements in order.
    """

    op: Op | None
    strides: tuple[tuple[int | None, int], ...] = ()
    places: int | None = None


@record(eq=False)
class Update:
    """An update that a kernel makes.

    Attributes
    ----------
    node
        The update; its first operand is the array.
    part
        The part of the array that the key selects; it only serves as a description.
    furthest
        The largest index, if the key is an array of indices.
    places
        The array operand of the kernel that holds the indices.
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
        """The values that it reads besides the new value."""
        operands = (self.array, *self.key)
        return operands if self.furthest is None else (*operands, self.furthest)


__all__ = ["Target", "Update"]
