"""Streaming stores for results that do not fit in the cache.

Before a processor writes part of a cache line it reads the line from memory, and a large result
evicts data that must be read again.  Streaming (non-temporal) stores avoid both and save up to a
third of the memory traffic of a kernel.  They must write whole aligned vectors.

Each structure that can use them has a second kernel, which is compiled on the first call with a
large result.  It assumes that ranges and rows begin at a multiple of 64 elements from the first
aligned element of a result.  LLVM then infers which vector stores of the optimised loop are
aligned, and these are marked.  The usual kernel computes the elements before the first cache line.

Rows that a later pass of the same kernel reads use ordinary stores: streaming them in the last
pass, which does little else, was slower in measurements.

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

# Sizes in bytes from which streaming stores pay off, for caches of 32 MiB: operands that fill one,
# or results that exceed it (a store to a line that is in the cache is faster than a streaming one).
READ, WRITTEN = 2**25, 3 * 2**24
EVEN = 64  # ranges and rows are multiples of this many elements, at least a cache line
SCOPE = '!"past cache"'  # the alias scope of stores to such results
HERE = platform.machine() in ("x86_64", "AMD64")

DECLARED = ("declare void @llvm.assume(i1)", "declare void @llvm.x86.sse.sfence()")
FENCE = "  call void @llvm.x86.sse.sfence()"  # makes streaming stores visible to other threads

_STORE = re.compile(r"  store <(\d+) x (\w+)> .*, align (\d+).*, !alias\.scope (!\d+)")
_BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}


def aligned(address: str) -> str:
    """Return the instruction that tells LLVM that an address is aligned to a cache line."""
    return f'  call void @llvm.assume(i1 true) ["align"(ptr {address}, i64 64)]'


def marked(text: str) -> str:
    """Return an optimised module whose aligned vector stores in the scope are non-temporal."""
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
    """Return the fields of :class:`.calls.Layout` for a kernel with streaming stores.

    ``read`` holds the dtypes of the arrays with an element for each iteration; ``results`` holds
    the dtype of each result and whether it has such an element.
    """
    sizes = [np.dtype(dtype).itemsize for dtype, full in results if full]
    item = sizes[0] if len(set(sizes)) == 1 else 0
    least = WRITTEN // sum(sizes)
    if read:
        least = min(least, READ // sum(np.dtype(dtype).itemsize for dtype in read))
    return {"least": least, "results": len(results), "item": item}


__all__ = ["DECLARED", "EVEN", "FENCE", "HERE", "SCOPE", "aligned", "layout", "marked"]
