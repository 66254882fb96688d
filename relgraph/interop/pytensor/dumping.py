"""Translation of relgraph's graphs to PyTensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.scalar as ps
import pytensor.tensor as pt
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert
from pytensor.tensor import slinalg
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.special import log_softmax, softmax

import relgraph.ops.elementwise as ew
from relgraph.api.shared import Shared
from relgraph.errors import UnsupportedOpError
from relgraph.interop.missing import unsupported
from relgraph.interop.pytensor.scalars import SCALARS
from relgraph.ir.graph import as_outputs, toposort
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ops.elementwise import Elementwise


def _scalar_ops() -> dict[Any, Any]:
    """Return PyTensor's op, or an expression of its ops, for each elementwise op that has one."""
    instances = {
        type(op).__name__: op
        for module in (ps.basic, ps.math)
        for op in vars(module).values()
        if isinstance(op, ps.ScalarOp)
    }
    ops = {
        row.apply: Elemwise(instances[name])
        for name, row in SCALARS.items()
        if isinstance(row.apply, Elementwise) and name in instances
    }
    return {**ops, **_OTHERS}


_OTHERS: dict[Any, Any] = {
    ew.add: pt.add,
    ew.multiply: pt.mul,
    ew.where: pt.switch,
    ew.clip: pt.clip,
    ew.bitwise_and: pt.bitwise_and,
    ew.bitwise_or: pt.bitwise_or,
    ew.bitwise_xor: pt.bitwise_xor,
    ew.logical_and: lambda x, y: pt.neq(x, 0) & pt.neq(y, 0),
    ew.logical_or: lambda x, y: pt.neq(x, 0) | pt.neq(y, 0),
    ew.logical_xor: lambda x, y: pt.neq(pt.neq(x, 0), pt.neq(y, 0)),
    ew.logical_not: lambda x: pt.eq(x, 0),
    ew.isfinite: lambda x: ~(pt.isnan(x) | pt.isinf(x)),
    ew.logaddexp: pt.logaddexp,
    ew.xlogy: lambda x, y: pt.switch(pt.eq(x, 0), 0, x * pt.log(y)),
    ew.xlog1py: lambda x, y: pt.switch(pt.eq(x, 0), 0, x * pt.log1p(y)),
    ew.logit: lambda x: pt.log(x) - pt.log1p(-x),
    ew.ndtr: lambda x: pt.erfc(-x / np.sqrt(2)) / 2,
    ew.betaln: lambda x, y: pt.gammaln(x) + pt.gammaln(y) - pt.gammaln(x + y),
    ew.hypot: lambda x, y: pt.sqrt(x**2 + y**2),
}


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def dumped(node: Variable, x: Any) -> Any:
        axis, keepdims = node.op.params  # type: ignore[union-attr]
        result = function(x, axis=_axes(axis, x.ndim), keepdims=keepdims)
        return result if result.dtype == node.dtype else pt.cast(result, node.dtype.name)

    return dumped


def _axes(axis: Any, ndim: int) -> Any:
    """Return axes counted from the front."""
    if axis is None:
        return None
    return axis % ndim if isinstance(axis, int) else tuple(a % ndim for a in axis)


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, x: function(x, axis=node.op.axis % x.ndim)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *operands: function(*operands)


def _shape(entries: Sequence[Any], sizes: Sequence[Any]) -> list[Any]:
    """Return a shape, with ``sizes`` in the entries that are not static."""
    rest = iter(sizes)
    return [entry if isinstance(entry, int) else next(rest) for entry in entries]


def _broadcast(node: Variable, x: Any, *sizes: Any) -> Any:
    return pt.alloc(x, *_shape(node.op.params[0], sizes))  # type: ignore[union-attr]


def _reshape(node: Variable, x: Any, *sizes: Any) -> Any:
    return x.reshape(_shape(node.op.params[0], sizes), ndim=node.ndim)  # type: ignore[union-attr]


def _key(spec: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return the key of an index from its spec and operands."""
    rest = iter(operands)
    parts: list[Any] = []
    for kind, *values in spec:
        if kind == "int":
            parts.append(values[0])
        elif kind == "slice":
            parts.append(slice(*[next(rest) if v == "dynamic" else v for v in values]))
        elif kind == "newaxis":
            parts.append(None)
        elif kind == "ellipsis":
            parts.append(Ellipsis)
        else:
            parts.append(next(rest))
    return tuple(parts)


def _index(node: Variable, x: Any, *operands: Any) -> Any:
    return x[_key(node.op.params[0], operands)]  # type: ignore[union-attr]


def _update(function: Callable[..., Any]) -> Callable[..., Any]:
    def dumped(node: Variable, x: Any, value: Any, *operands: Any) -> Any:
        return function(x[_key(node.op.params[0], operands)], value)  # type: ignore[union-attr]

    return dumped


def _solve(node: Variable, a: Any, b: Any) -> Any:
    return pt.linalg.solve(a, b, b_ndim=1 if b.ndim == 1 else 2)


def _solve_triangular(node: Variable, a: Any, b: Any) -> Any:
    op: Any = node.op
    return slinalg.solve_triangular(
        a,
        b,
        lower=op.lower,
        trans=op.trans,
        unit_diagonal=op.unit_diagonal,
        b_ndim=1 if b.ndim == 1 else 2,
    )


def _assert(node: Variable, x: Any, condition: Any) -> Any:
    message = node.op.params[0]  # type: ignore[union-attr]
    return Assert(message if isinstance(message, str) else message[1])(x, pt.all(condition))


def _specify(node: Variable, x: Any) -> Any:
    return pt.specify_shape(x, node.op.params[0])  # type: ignore[union-attr]


def _body(body: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of a body for operands."""
    return dump(body.graph.outputs, dict(zip(body.graph.inputs, operands, strict=True)))  # type: ignore[no-any-return]


def _scan(node: Variable, number: Any, *operands: Any) -> list[Any]:
    op: Any = node.op
    n = op.carries
    starts, sequences = operands[:n], operands[n : n + op.sequences]
    step = slice(None, None, -1 if op.reverse else None)

    def run(*values: Any) -> list[Any]:
        index, *slices = values[: 1 + op.sequences]
        carried = values[1 + op.sequences :][:n]
        rest = values[1 + op.sequences + n :]
        return _body(op.body, [index, *carried, *slices, *rest])

    results = pytensor.scan(
        run,
        sequences=[x[step] for x in (pt.arange(number), *sequences)],
        outputs_info=[*starts, *[None] * (len(op.body.types) - n)],
        non_sequences=list(operands[n + op.sequences :]),
        return_list=True,
        return_updates=False,
    )
    never = not isinstance(op.size, int) or op.size == 0
    ends = [
        pt.concatenate([start[None], ys])[-1] if never else ys[-1]
        for start, ys in zip(starts, results, strict=False)
    ]
    return [*ends, *[ys[step] for ys in results[n:]]]


def _cond(node: Variable, test: Any, *operands: Any) -> list[Any]:
    op: Any = node.op
    results = ifelse(test, _body(op.then, operands), _body(op.other, operands))
    return list(results) if isinstance(results, list | tuple) else [results]


TABLE: dict[str, Callable[..., Any]] = {
    "Cast": lambda node, x: pt.cast(x, node.dtype.name),
    "Assume": lambda node, x: x,
    "StopGradient": lambda node, x: pytensor.gradient.disconnected_grad(x),
    "Sum": _reduction(pt.sum),
    "Prod": _reduction(pt.prod),
    "Max": _reduction(pt.max),
    "Min": _reduction(pt.min),
    "Mean": _reduction(pt.mean),
    "Any": _reduction(pt.any),
    "All": _reduction(pt.all),
    "LogSumExp": _reduction(pt.logsumexp),
    "Argmax": _reduction(pt.argmax),
    "Argmin": _reduction(pt.argmin),
    "Softmax": _along(softmax),
    "LogSoftmax": _along(log_softmax),
    "Cumsum": _along(pt.cumsum),
    "Cumprod": _along(pt.cumprod),
    "Sort": _along(pt.sort),
    "Argsort": _along(pt.argsort),
    "Transpose": lambda node, x: x.transpose([a % x.ndim for a in node.op.axes]),
    "MatrixTranspose": lambda node, x: x.mT,
    "ExpandDims": lambda node, x: pt.expand_dims(x, [a % node.ndim for a in node.op.axes]),
    "Squeeze": lambda node, x: pt.squeeze(x, axis=[a % x.ndim for a in node.op.axes]),
    "Reshape": _reshape,
    "BroadcastTo": _broadcast,
    "Dim": lambda node, x: x.shape[node.op.axis % x.ndim],
    "Concatenate": lambda node, *xs: pt.concatenate(xs, axis=node.op.axis % node.ndim),
    "Stack": lambda node, *xs: pt.stack(xs, axis=node.op.axis % node.ndim),
    "Matmul": _plain(pt.matmul),
    "Outer": _plain(pt.outer),
    "Einsum": lambda node, *xs: pt.einsum(node.op.subscripts, *xs),
    "Index": _index,
    "SetIndex": _update(pt.set_subtensor),
    "AddIndex": _update(pt.inc_subtensor),
    "Diag": lambda node, x: pt.diag(x, node.op.k),
    "Diagonal": lambda node, x: x.diagonal(node.op.k, x.ndim - 2, x.ndim - 1),
    "Trace": lambda node, x: pt.sum(x.diagonal(0, x.ndim - 2, x.ndim - 1), axis=-1),
    "Eye": lambda node: pt.eye(node.op.n, node.op.m, node.op.k, dtype=node.dtype.name),
    "Tril": lambda node, x: pt.tril(x, node.op.k),
    "Triu": lambda node, x: pt.triu(x, node.op.k),
    "Inv": _plain(pt.linalg.inv),
    "Det": _plain(pt.linalg.det),
    "Slogdet": _plain(pt.linalg.slogdet),
    "Cholesky": lambda node, x: pt.linalg.cholesky(x, lower=node.op.lower),
    "Solve": _solve,
    "SolveTriangular": _solve_triangular,
    "Eigh": _plain(pt.linalg.eigh),
    "Expm": _plain(pt.linalg.expm),
    "Kron": _plain(pt.linalg.kron),
    "BlockDiag": _plain(slinalg.block_diag),
    "GetItem": lambda node, parts: parts[node.op.index],
    "Scan": _scan,
    "Cond": _cond,
    "Assert": _assert,
    "SpecifyShape": _specify,
}


_REASONS = {"WhileLoop": "loops of PyTensor have a largest number of steps"}


def dump(outputs: Any, variables: dict[Any, Any] | None = None) -> Any:
    """Translate graphs of relgraph to graphs of PyTensor.

    Parameters
    ----------
    outputs : Variable, or a list, tuple or dict of Variable
        The graphs.
    variables : dict of Variable and pytensor Variable, optional
        Variables that replace inputs.  ``dump`` adds a variable for each other input.

    Returns
    -------
    pytensor Variable, or a list, tuple or dict of them
        Graphs of the same dtypes and known sizes.  Shared variables become shared variables with
        copies of the values.

    Raises
    ------
    UnsupportedOpError
        If ops have no translation; the error lists them.
    """
    if isinstance(outputs, Mapping):
        return dict(zip(outputs, dump(list(outputs.values()), variables), strict=True))
    nodes = as_outputs(outputs)
    variables = {} if variables is None else variables
    images: dict[Any, Any] = dict(variables)
    missing: Counter[tuple[str, str]] = Counter()
    scalar_ops = _scalar_ops()
    for node in toposort(nodes):
        if node in images:
            continue
        if isinstance(node, Constant):
            images[node] = pt.constant(node.value)
        elif isinstance(node, Input):
            images[node] = variables[node] = _leaf(node)
        else:
            images[node] = _dumped(node, [images[x] for x in node.inputs], scalar_ops, missing)
    if missing:
        raise unsupported(missing, "relgraph to PyTensor")
    if isinstance(outputs, Variable):
        return images[outputs]
    results = [images[x] for x in nodes]
    return tuple(results) if isinstance(outputs, tuple) else results


def _leaf(node: Input) -> Any:
    if isinstance(node, Shared):
        return pytensor.shared(node.get_value(), name=node.name)
    shape = tuple(s if isinstance(s, int) else None for s in node.type.shape)
    return pt.tensor(node.name, dtype=node.dtype.name, shape=shape)


def _dumped(
    node: Variable, operands: list[Any], scalar_ops: Mapping[Any, Any], missing: Counter[Any]
) -> Any:
    """Return the application of an op; if it has no translation, count it and return a stand-in."""
    op: Any = node.op
    name = type(op).__name__
    if isinstance(op, Elementwise):
        if op in scalar_ops:
            result = scalar_ops[op](*operands)
            return result if result.dtype == node.dtype else pt.cast(result, node.dtype.name)
    elif any(x is None for x in operands):  # an op without a translation has several results
        return _stand_in(node)
    elif name in TABLE:
        try:
            return TABLE[name](node, *operands)
        except UnsupportedOpError as error:  # of a body
            missing.update(Counter({(key, str(reason)): 1 for key, reason in error.facts}))
            return _stand_in(node)
    missing[op.name, _REASONS.get(name, "PyTensor has no such op")] += 1
    return _stand_in(node)


def _stand_in(node: Variable) -> Any:
    """Return a value of the type of a node, so that the walk finds other ops."""
    return (
        pt.zeros((1,) * node.ndim, dtype=node.dtype.name) if hasattr(node.type, "shape") else None
    )


__all__ = ["TABLE", "dump"]
