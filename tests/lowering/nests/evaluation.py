"""What tests of nests share: kernels that the interpreter runs, for graphs of constant sizes."""

from __future__ import annotations

from math import prod

import numpy as np

from relgraph.backends.numba.schedules import FUSION, planned
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant
from relgraph.lowering.kernels import Kernel
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.verify import verify
from relgraph.lowering.nests import nest_of
from relgraph.lowering.nests.scans import has_scans
from relgraph.lowering.nests.short_rows import in_passes, short_rows
from relgraph.lowering.views import axes, is_view

ROWS = 3  # rows of a partial result


def softmax(x):
    """Return the softmax of rows, by NumPy."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(xp):
    """Return a function that normalises rows, of NumPy or relgraph."""

    def normalised(x):
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        return centred / xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)

    return normalised


def kernels_of(*outputs):
    """Return the graph of some outputs, and the steps that compute it."""
    graph, steps = planned(FunctionGraph(None, outputs), FUSION)
    return graph, steps


def run(graph, steps, arrays, functions):
    """Run a schedule, its kernels by the interpreter, and return the outputs.

    ``functions`` returns the functions of a kernel.
    """
    values = dict(zip(graph.inputs, map(np.array, arrays), strict=True))

    def value(x):
        if isinstance(x, Constant):
            return np.asarray(x.value)
        if x not in values:
            values[x] = np.asarray(x.op.perform(*map(value, x.inputs)))
        return values[x]

    for step in steps:
        if isinstance(step, Kernel):
            _run_kernel(step, value, values, functions(step))
        else:
            value(step.node)
    return [value(x) for x in graph.outputs]


def _run_kernel(step, value, values, functions):
    for function in functions:
        verify(function)
    loop = [int(n) for n in step.shape]
    groups = [prod([loop[axis] for axis in group]) for group in step.groups]
    arrays = [_grouped(step, k, value(x)) for k, x in enumerate(step.arrays)]
    arrays += [np.ravel(value(x)) for x in step.tables]
    arrays += [np.array([x.uniform for x in xs], dtype) for dtype, xs in step.slots.items()]
    updates = {update.node: update for update in step.updates}
    results = []
    for x in step.results:
        if x in updates:
            target = np.array(value(updates[x].array))
            values[x] = target
            results.append(_part(updates[x], target, value))
        else:
            values[x] = np.full(x.type.shape, 77, x.dtype)
            results.append(values[x])
    first, *rest = functions
    buffers = first.arrays[len(arrays) :]
    shaped = [_shaped(x, buffer, groups) for x, buffer in zip(results, buffers, strict=False)]
    known = {f"n{g}": n for g, n in enumerate(groups)}
    parts = -(-groups[0] // ROWS) if rest else 0
    known |= {"rows": ROWS, "stop": parts, "head": 0}
    more = [
        np.full([_size(n, known) for n in buffer.shape], 55, buffer.dtype)
        for buffer in buffers[len(shaped) :]
    ]
    integers = [known.get(x.name, 1) for x in first.integers]  # strides are those of the arrays
    everything = [*arrays, *shaped, *more]
    stop = parts if rest else groups[0]
    middle = stop // 2  # the range in two pieces, as threads run it
    lines = any(x.name == "head" for x in first.integers) and len(groups) == 1
    for low, high in ((0, stop),) if lines else ((0, middle), (middle, stop)):
        interpreter.run(first, integers, everything, low, high)
    if rest:
        interpreter.run(rest[0], integers, everything, 0, parts)


def _size(n, known):
    return n.value if not hasattr(n, "name") else known[n.name]


def _shaped(array, buffer, groups):
    """Return a view of a result with an axis for each group that it spans."""
    known = {f"n{g}": n for g, n in enumerate(groups)}
    shape = [_size(n, known) for n in buffer.shape]
    if array.size != prod(shape):  # updated at indices: the first axis is that of the array
        shape = [len(array), *array.shape[1:]]
    view = array.reshape(shape)
    assert view.size == 0 or np.shares_memory(view, array)
    return view


def _grouped(step, k, array):
    """Return an operand with an axis for each group that it spans."""
    spans = step.structure.arrays[k][1]
    offset = array.ndim - len(step.shape)
    shape = []
    for group, spanned in zip(step.groups, spans, strict=True):
        if spanned:
            sizes = [array.shape[axis + offset] for axis in group]
            shape.append(prod(sizes))
    x = step.arrays[k]
    if is_view(x) and axes(x) is not None:  # axes that repeat elements
        array = array[tuple([slice(1 if along.axis is None else None) for along in axes(x)])]
    return array.reshape(shape or [1])


def _part(update, target, value):
    if update.places is not None:
        return target
    key = update.part.op
    return np.asarray(key.perform(target, *map(value, update.key)))


PLAIN, SHORT, PAST = "plain", "short rows", "past the cache"


def functions_of(step, variant):
    """Return the functions of a kernel in a variant, or the plain ones if it has no such one."""
    s = step.structure
    if variant == SHORT and in_passes(s) is not None and not has_scans(s):
        return short_rows(s, "short")
    if variant == PAST and s.products is None and not s.targets and not has_scans(s):
        nest = nest_of(s, past=True)
        if not getattr(nest, "staged", ()) and not any(r.kind == "kept" for r in s.operands()):
            return nest.functions("past") if s.passes or not s.folds else nest_of(s).functions("f")
    return nest_of(s).functions("plain")


__all__ = ["PAST", "PLAIN", "SHORT", "functions_of", "kernels_of", "run"]
