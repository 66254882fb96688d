"""A small model of a machine: how long one application of an op takes.

The time of an application is the overhead of its call, plus the longer of the times for its
arithmetic and for the bytes that it moves.  An op says by which rates its arithmetic runs
(:attr:`Op.rate`, :meth:`Op.work`), and how many calls it makes, at which cost (:meth:`Op.calls`,
:attr:`Op.overhead`); a
:class:`Machine` has the rates.

Rewriting decides by :data:`FIXED`, so that its results don't depend on the machine it runs on.

Examples
--------
>>> import relgraph as rg
>>> from relgraph.ir.machine import node_seconds
>>> A, B = rg.matrices("A B", shape=("n", "n"))
>>> [f"{node_seconds(rg.solve(A, B), {'n': n}):.2g}" for n in (2, 1000)]
['2.8e-06', '0.073']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from relgraph.ir.cost import AnyType, nbytes, resolved
from relgraph.ir.node import Variable
from relgraph.ir.op import RATES

if TYPE_CHECKING:
    from relgraph.ir.op import Op

Work = Sequence[tuple[str, Any]]  # the operations that have each rate


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
    loop, product, factorisation, substitution : Rate
        The rates that ops name: of loops over elements, of products by BLAS, of factorisations by
        LAPACK, and of systems with triangular factors.  Loops differ most, from 8e9 for ``tanh``
        to 43e9 for a polynomial in ``benchmarks/costs.py``; the fixed rate is between these.
    caches : tuple of (float, float)
        For each level of the memory, how many bytes it holds and how many move in a second; the
        last one holds any number.
    calls : float
        How many times as long as :attr:`Op.overhead` a call takes.
    kernel : float
        The seconds that a call of a compiled kernel takes, apart from its loop.
    """

    loop: Rate = Rate(18e9)
    product: Rate = Rate(40e9, 0.8e-9)
    factorisation: Rate = Rate(40e9, 4e-9)
    substitution: Rate = Rate(40e9, 2e-9)
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

    def seconds(
        self, op: Op | None, work: Work, moved: float, itemsize: int = 8, calls: float = 1
    ) -> float:
        """Return the time of one application, or of one kernel.

        Parameters
        ----------
        op : Op or None
            The op; None for a kernel.
        work : sequence of (str, float)
            The operations by rate.
        moved : float
            The bytes that are read and written.
        itemsize : int
            The bytes of one element of the result.
        calls : float
            How many calls the application makes.
        """
        call = self.kernel if op is None else op.overhead * 1e-9 * self.calls * calls
        if op is not None and op.view:
            return call
        arithmetic = 0.0
        for name, flops in work:
            arithmetic += self.rates[name].seconds(flops)
        return call + max(arithmetic * itemsize / 8, self.moving(moved))


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
    types: Sequence[AnyType],
    result: AnyType,
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
    types, result : sequence of Type or Sized, and one of them
        Those of the operands and of the result.  A Sized has no names.
    sizes, machine
        As for :func:`node_seconds`.
    inputs : tuple of Variable, optional
        The operands, for ops whose cost depends on more than types, as that of ``X @ X.T`` does.

    Returns
    -------
    float
        Seconds.
    """
    operands = tuple(types)
    if sizes:
        operands = tuple([resolved(x, sizes) for x in operands])
        result = resolved(result, sizes)
    if inputs is None:
        flops = op.flops(operands, result)
    else:
        flops = op.node_flops(inputs, operands, result)
    dtype = getattr(result, "dtype", None)
    moved = sum(map(nbytes, operands)) + nbytes(result) - op.unread(operands)
    work = op.work(flops, operands, result)
    itemsize = 8 if dtype is None else dtype.itemsize
    return machine.seconds(op, work, moved, itemsize, op.calls(operands, result))


__all__ = ["FIXED", "Machine", "Rate", "node_seconds", "op_seconds"]
