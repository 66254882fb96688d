"""A small model of a machine: how long one application of an op takes.

The time of an application is the overhead of its call, plus the longer of the times for its
arithmetic and for the bytes that it moves.  An op says by which rate its arithmetic runs
(:attr:`Op.rate`) and what a call costs (:attr:`Op.overhead`); a :class:`Machine` has the rates.

Rewriting decides by :data:`FIXED`, so that its results don't depend on the machine it runs on.

Examples
--------
>>> import relgraph as rg
>>> from relgraph.ir.machine import node_seconds
>>> A, B = rg.matrices("A B", shape=("n", "n"))
>>> [f"{node_seconds(rg.solve(A, B), {'n': n}):.2g}" for n in (2, 1000)]
['2.9e-06', '0.12']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from relgraph.ir.cost import nbytes, resolved
from relgraph.ir.node import Variable
from relgraph.ir.op import RATES

if TYPE_CHECKING:
    from relgraph.ir.op import Op
    from relgraph.ir.types import Type


@dataclass(frozen=True)
class Rate:
    """The speed of one kind of arithmetic on float64; float32 is twice as fast.

    With ``f`` operations, it takes ``f / peak + surface * f**(2/3)`` seconds: a routine on small
    matrices is slower by work that grows with the square of their size.

    Parameters
    ----------
    peak : float
        Operations per second of large applications.
    surface : float
        Seconds.
    """

    peak: float
    surface: float = 0.0

    def seconds(self, flops: float) -> float:
        """Return the time of a number of operations."""
        return flops / self.peak + self.surface * float(flops ** (2 / 3))


@dataclass(frozen=True)
class Machine:
    """The figures of a machine.

    Parameters
    ----------
    loop, product, factorisation : Rate
        The rates that ops name: of loops over elements, of BLAS and of LAPACK.
    caches : tuple of (float, float)
        For each level of the memory, how many bytes it holds and how many move in a second; the
        last one holds any number.
    calls : float
        How many times as long as :attr:`Op.overhead` a call takes.
    kernel : float
        The seconds that a call of a compiled kernel takes, apart from its loop.
    """

    loop: Rate = Rate(10e9)
    product: Rate = Rate(50e9, 0.8e-9)
    factorisation: Rate = Rate(25e9, 8e-9)
    caches: tuple[tuple[float, float], ...] = ((2**20, 100e9), (2**24, 50e9), (inf, 15e9))
    calls: float = 1.0
    kernel: float = 0.2e-6
    rates: dict[str, Rate] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rates = {name: getattr(self, name) for name in RATES}
        object.__setattr__(self, "rates", rates)

    def moving(self, moved: float) -> float:
        """Return the seconds that reading and writing a number of bytes takes."""
        for capacity, speed in self.caches:
            if moved <= capacity:
                return moved / speed
        raise AssertionError("the last level of the memory holds everything")

    def seconds(self, op: Op, flops: float, moved: float, itemsize: int = 8) -> float:
        """Return the time of one application, given its operations and its bytes."""
        work = self.rates[op.rate].seconds(flops) * itemsize / 8
        return op.overhead * 1e-9 * self.calls + max(work, self.moving(moved))


FIXED = Machine()  # one thread of a server of 2020


def node_seconds(
    node: Variable, sizes: Mapping[str, int] | None = None, machine: Machine = FIXED
) -> float:
    """Return the estimated time of one application, without that of its operands.

    Parameters
    ----------
    node : Variable
        The application.  An input or a constant takes no time.
    sizes : mapping of str to int, optional
        Values of named sizes; others count as :data:`relgraph.ir.cost.NOMINAL`.
    machine : Machine
        Its figures.

    Returns
    -------
    float
        Seconds.
    """
    op = node.op
    if op is None:
        return 0.0
    inputs = node.inputs
    types = [x.type for x in inputs]
    return op_seconds(op, types, node.type, sizes, machine=machine, inputs=inputs)


def op_seconds(
    op: Op,
    types: list[Type] | tuple[Type, ...],
    result: Type,
    sizes: Mapping[str, int] | None = None,
    *,
    machine: Machine = FIXED,
    inputs: tuple[Variable, ...] | None = None,
) -> float:
    """Return the estimated time of an application that need not exist as a node.

    Parameters
    ----------
    op : Op
        The op.
    types, result : sequence of Type, and Type
        Those of the operands and of the result.
    sizes, machine
        As for :func:`node_seconds`.
    inputs : tuple of Variable, optional
        The operands, for ops whose cost depends on more than types, as that of ``X @ X.T`` does.

    Returns
    -------
    float
        Seconds.
    """
    known = tuple(types)
    if sizes:
        known = tuple([resolved(x, sizes) for x in known])
        result = resolved(result, sizes)
    flops = op.flops(known, result) if inputs is None else op.node_flops(inputs, known, result)
    if op.view:
        return op.overhead * 1e-9 * machine.calls
    itemsize = getattr(result, "dtype", None)
    moved = sum([nbytes(x) for x in known]) + nbytes(result)
    return machine.seconds(op, flops, moved, 8 if itemsize is None else itemsize.itemsize)


__all__ = ["FIXED", "Machine", "Rate", "node_seconds", "op_seconds"]
