"""Results that go past the cache, where they are too large to be found there again.

A processor reads a line of memory before it writes a part of it, and what a large result pushes
out of the cache has to be read again.  A store that is marked as not temporal does neither, which
saves up to a third of the traffic of a kernel.  It has to be of a whole vector that is aligned.

So there is a second kernel of each structure that can use it, compiled when the first large result
comes.  It is told where lines of memory begin in the results, that ranges begin at a multiple of 64
elements from there, and that rows do.  From that LLVM infers which of the vector stores of the
optimised loop are aligned, and these are marked.  The usual kernel computes what is before the
first line.

Rows of a result that a later pass of the same kernel reads stay in the cache: to write them past it
in the last pass, which does little else, was measured to take longer.

References
----------
AMD, "Software Optimization Guide for the AMD EPYC Processors", section on streaming stores; Intel,
"64 and IA-32 Architectures Optimization Reference Manual", section on non-temporal stores.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence

import numpy as np

# Bytes from which on it pays, where caches hold 32 MiB: operands that fill one, or results that do
# so more than once (a store to what is in the cache already costs less than one past it).
READ, WRITTEN = 2**25, 3 * 2**24
EVEN = 64  # elements of which a range or row is a multiple: at least the bytes of a line of memory
SCOPE = '!"past cache"'  # the name of the scope of aliases that the stores to such results carry
HERE = platform.machine() in ("x86_64", "AMD64")

DECLARED = ("declare void @llvm.assume(i1)", "declare void @llvm.x86.sse.sfence()")
FENCE = "  call void @llvm.x86.sse.sfence()"  # other threads see what was written

_STORE = re.compile(r"  store <(\d+) x (\w+)> .*, align (\d+).*, !alias\.scope (!\d+)")
_BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}


def aligned(address: str) -> str:
    """Return the instruction that tells LLVM that a line of memory begins at an address."""
    return f'  call void @llvm.assume(i1 true) ["align"(ptr {address}, i64 64)]'


def marked(text: str) -> str:
    """Return an optimised module with its vector stores in the scope marked that are aligned.

    Parameters
    ----------
    text : str
        The module in LLVM's language.
    """
    scope = re.search(rf"^(!\d+) = distinct !{{\1, !\d+, {SCOPE}}}$", text, re.MULTILINE)
    if scope is None:
        return text
    inside = re.findall(rf"^(!\d+) = (?:distinct )?!{{{scope[1]}}}$", text, re.MULTILINE)
    number = 1 + max(map(int, re.findall(r"^!(\d+) =", text, re.MULTILINE)))
    lines = []
    for line in text.splitlines():
        store = _STORE.match(line)
        if store and store[4] in inside and int(store[3]) >= _bytes(store) >= 16:
            line += f", !nontemporal !{number}"
        lines.append(line)
    return "\n".join([*lines, f"!{number} = !{{i32 1}}", ""])


def _bytes(store: re.Match[str]) -> int:
    return int(store[1]) * _BYTES.get(store[2], 0)


def layout(read: Sequence[str], results: Sequence[tuple[str, bool]]) -> dict[str, int]:
    """Return what a call has to know of a kernel whose results can go past the cache.

    Parameters
    ----------
    read : sequence of str
        The dtypes of the arrays of which it reads an element for each of the loop.
    results : sequence of (str, bool)
        The dtype of each result, and whether it has an element for each of the loop.

    Returns
    -------
    dict of str to int
        From how many elements on it pays, how many results there are, and the bytes of an element,
        0 where these differ: fields of :class:`.calls.Layout`.
    """
    sizes = [np.dtype(dtype).itemsize for dtype, full in results if full]
    item = sizes[0] if len(set(sizes)) == 1 else 0
    least = WRITTEN // sum(sizes)
    if read:
        least = min(least, READ // sum(np.dtype(dtype).itemsize for dtype in read))
    return {"least": least, "results": len(results), "item": item}


__all__ = ["DECLARED", "EVEN", "FENCE", "HERE", "SCOPE", "aligned", "layout", "marked"]
