"""The range of a kernel shared among numba's threads: one ``prange`` for all kernels.

Importing this module imports numba and starts its threads.  :mod:`.threads` imports it only if they
are TBB threads.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import cfunc, extending, njit, prange, types

intrinsic: Any = extending.intrinsic
_I = types.intp


@intrinsic
def _call(  # noqa: PLR0917 - the calling convention of kernels
    context: Any, kernel: Any, arrays: Any, integers: Any, start: Any, stop: Any
) -> Any:
    """Call a kernel by its address."""

    def generate(ctx: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [word] * 4)
        builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])
        return ctx.get_dummy_value()

    return types.void(_I, _I, _I, _I, _I), generate


@njit(types.void(*[_I] * 7), parallel=True, cache=True)
def _spread(  # noqa: PLR0917 - numba's loops take separate numbers
    kernel: int, arrays: int, integers: int, count: int, chunk: int, chunks: int, threads: int
) -> None:
    for first in prange(threads):
        for k in range(first, chunks, threads):
            _call(kernel, arrays, integers, k * chunk, min(count, (k + 1) * chunk))


@cfunc(types.void(*[_I] * 8), cache=True)
def spread(  # noqa: PLR0917 - the trampoline passes these
    kernel: int,
    arrays: int,
    integers: int,
    count: int,
    chunk: int,
    chunks: int,
    threads: int,
    pool: int,
) -> None:
    """Run the chunks of a kernel's range on numba's threads."""
    _spread(kernel, arrays, integers, count, chunk, chunks, threads)


address: int = spread.address
