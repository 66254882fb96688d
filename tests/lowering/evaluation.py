"""What tests of lowering share: a fusion that depends on no backend, and schedules run by NumPy.

``run`` executes each step with nothing in hand but what the step says that it reads;
``run_structure`` computes a kernel from its structure alone, as generated source would.
"""

import numpy as np

from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import Constant
from relgraph.lowering.kernels import Kernel, schedule
from relgraph.lowering.regions import Fusion
from relgraph.lowering.sizes import Sizes
from relgraph.lowering.views import is_view
from relgraph.ops.cumulative import Cumulative

REDUCTIONS = frozenset({"sum", "prod", "max", "min", "mean"})


def reduces(node):
    return node.op.name in REDUCTIONS or isinstance(node.op, Cumulative)


def fusion(**changes):
    """Return a fusion in which all ops weigh 1, no constant is a literal, and all can fuse."""
    defaults = {
        "maps": lambda node: True,
        "reduces": reduces,
        "weight": lambda node: 1,
        "literals": lambda node: frozenset(),
    }
    return Fusion(**{**defaults, **changes})


def graph_of(*outputs):
    return FunctionGraph(None, outputs)


def steps_of(*outputs, **changes):
    """Return the schedule of some outputs."""
    return schedule(graph_of(*outputs), fusion(**changes))


def sizes_of(*outputs, **changes):
    """Return the sizes of some outputs, and their schedule."""
    graph = graph_of(*outputs)
    steps = schedule(graph, fusion(**changes))
    return Sizes(graph, steps), steps


def names(step):
    """Return the names of the ops that a step computes."""
    nodes = step.nodes if isinstance(step, Kernel) else (step.node,)
    return [node.op.name for node in nodes]


def perform(node, *values):
    with np.errstate(all="ignore"):
        return np.asarray(node.op.perform(*values))


def values_of(graph, arrays):
    """Compute every node of a graph, one by one."""
    values = dict(zip(graph.inputs, arrays, strict=True))
    for x in toposort(graph.outputs):
        if isinstance(x, Constant):
            values[x] = x.value
        elif x not in values:
            values[x] = perform(x, *(values[y] for y in x.inputs))
    return values


def compute(step, reads):
    """Return the results of a step, computed from the values it reads and from constants."""
    values = dict(reads)

    def value(x):
        if isinstance(x, Constant):
            return x.value
        if x not in values:
            assert is_view(x)  # the step neither reads nor computes it: it moves no element
            values[x] = perform(x, value(x.inputs[0]))
        return values[x]

    for node in (*step.repeated, *step.nodes) if isinstance(step, Kernel) else (step.node,):
        values[node] = perform(node, *map(value, node.inputs))
    return {x: value(x) for x in step.results}


def run(graph, steps, arrays):
    """Run a schedule; return the outputs."""
    values = dict(zip(graph.inputs, arrays, strict=True))
    for step in steps:
        reads = {x: values[x] for x in step.reads if not isinstance(x, Constant)}
        values.update(compute(step, reads))
    return [x.value if isinstance(x, Constant) else values[x] for x in graph.outputs]


def check_run(graph, steps, arrays, **tolerances):
    """Check that a schedule computes what the graph does."""
    expected = values_of(graph, arrays)
    for result, x in zip(run(graph, steps, arrays), graph.outputs, strict=True):
        np.testing.assert_allclose(result, expected[x], **{"rtol": 1e-12, **tolerances})


def run_in_memory(graph, steps, plan, arrays):
    """Run a schedule in the memory that a plan gives each value; return the outputs."""
    values = dict(zip(graph.inputs, (np.array(x) for x in arrays), strict=True))
    for step in steps:
        reads = {x: values[x] for x in step.reads if not isinstance(x, Constant)}
        for x, result in compute(step, reads).items():
            old = plan.takes.get(x)
            if old is None:
                values[x] = np.array(result)
            else:
                values[old][...] = result
                values[x] = values[old]
    return [values[x] for x in graph.outputs]


def run_structure(kernel, values):
    """Compute the results of a kernel from its structure, in the order of ``kernel.results``.

    Every array spans all groups of axes or has size 1 along them; so loops are broadcasting.
    """
    structure, groups = kernel.structure, kernel.groups
    loop = _loop_shape(kernel, values)
    sizes = [int(np.prod([loop[axis] for axis in group], initial=1)) for group in groups]
    arrays = []
    for x, (dtype, spans) in zip(kernel.arrays, structure.arrays, strict=True):
        value = np.asarray(x.value if isinstance(x, Constant) else values[x])
        assert value.dtype == dtype
        arrays.append(value.reshape([n if s else 1 for n, s in zip(sizes, spans, strict=True)]))
    reduced = tuple(axis for axis, yes in enumerate(structure.reduced) if yes)
    rows, folds, results = [], [], {}

    def operand(ref):
        if ref.kind == "array":
            return arrays[ref.index]
        if ref.kind == "slot":
            return np.asarray(kernel.slots[ref.dtype][ref.index].uniform)
        if ref.kind == "literal":
            return np.asarray(ref.value, ref.dtype)
        return {"row": rows, "fold": folds, "kept": results}[ref.kind][ref.index]

    def statement(row):
        with np.errstate(all="ignore"):
            rows.append(np.asarray(row.op.perform(*map(operand, row.operands))))
        assert rows[-1].dtype == row.dtype

    def reduction(fold):
        full = [n if axis in reduced else None for axis, n in enumerate(sizes)]
        value = operand(fold.operand)
        shape = [have if n is None else n for have, n in zip(np.shape(value), full, strict=True)]
        wide = np.broadcast_to(value, shape)
        function = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "mean": np.mean}
        folds.append(function[fold.op.name](wide, axis=reduced, keepdims=True).astype(fold.dtype))

    if structure.passes:
        for part in structure.passes:
            for row in structure.rows[slice(*part.rows)]:
                statement(row)
            for fold in structure.folds[slice(*part.folds)]:
                reduction(fold)
            for ref, k in part.stores:
                dtype, full = structure.results[k]
                shape = [n if full or axis not in reduced else 1 for axis, n in enumerate(sizes)]
                results[k] = np.broadcast_to(operand(ref), shape).astype(dtype)
        found = [results[k] for k in range(len(structure.results))]
    else:
        for row in structure.rows:
            statement(row)
        for fold in structure.folds:
            reduction(fold)
        found = [np.broadcast_to(rows[k], sizes) for k in structure.stored] + folds
    return found


def _loop_shape(kernel, values):
    """Return the shape of a kernel's loop, from the arrays that it reads."""
    shapes = [np.shape(x.value if isinstance(x, Constant) else values[x]) for x in kernel.arrays]
    ndim = len(kernel.shape)
    known = [dim if isinstance(dim, int) else 1 for dim in kernel.shape]
    return np.broadcast_shapes(known, *(s for s in shapes if len(s) <= ndim))


def check_structures(graph, steps, arrays, **tolerances):
    """Check that the structure of every kernel computes the values of its results."""
    values = values_of(graph, arrays)
    for step in steps:
        if isinstance(step, Kernel):
            for result, x in zip(run_structure(step, values), step.results, strict=True):
                expected = np.asarray(values[x])
                np.testing.assert_allclose(
                    np.asarray(result).reshape(expected.shape),
                    expected,
                    **{"rtol": 1e-12, **tolerances},
                )
