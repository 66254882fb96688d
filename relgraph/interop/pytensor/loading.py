"""Translation of PyTensor's graphs: traversal, leaves, inlining, ops without a translation."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.traversal import toposort

from relgraph.api.shared import shared
from relgraph.errors import ArgumentError, kind_of
from relgraph.interop.missing import unsupported
from relgraph.interop.pytensor import linear_algebra, loops, tensors
from relgraph.interop.pytensor.scalars import REFUSED, SCALARS, applied
from relgraph.interop.pytensor.special import ElementLoop
from relgraph.interop.pytensor.tensors import Unsupported
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant as Fixed
from relgraph.ir.node import Variable as Graph
from relgraph.ir.node import constant, make_input
from relgraph.ir.op import GetItem
from relgraph.ir.types import DTYPES, TensorType

TABLE: dict[str, Callable[..., Any]] = {
    **tensors.TABLE,
    **linear_algebra.TABLE,
    **loops.TABLE,
}
_FOLDED = 64  # elements up to which operations on known integers are computed at once


class Loader:
    """A translation: the images of variables, and the ops without a translation.

    Parameters
    ----------
    images : dict of Variable and relgraph.Variable
        Images chosen by the caller; the loader adds those of inputs and shared variables.
    """

    def __init__(self, images: dict[Any, Any]) -> None:
        self.leaves = images
        self.images: dict[Any, Any] = dict(images)
        self.vectors: dict[Any, tuple[Any, ...]] = {}
        self.buffers: dict[Any, loops.Buffer] = {}
        self.missing: Counter[tuple[str, str]] = Counter()
        self._names = {x.name for x in images.values() if hasattr(x, "name")}

    def load(self, outputs: Sequence[Any]) -> list[Any]:
        """Return the images of variables, and count ops without a translation."""
        for node in toposort(list(outputs)):
            if any(output not in self.images for output in node.outputs):
                self._translate(node)
        return [self.image(x) for x in outputs]

    def image(self, variable: Any) -> Any:
        """Return the image of a variable whose node was translated, or of a leaf."""
        if variable not in self.images:
            self.images[variable] = self._leaf(variable)
        return self.images[variable]

    def elements(self, vector: Any) -> tuple[Any, ...]:
        """Return the elements of an integer vector of static size: ints where they are known."""
        if vector in self.vectors:
            return self.vectors[vector]
        if isinstance(vector, Fixed):
            return tuple(int(x) for x in vector.value)
        (size,) = vector.type.shape
        if not isinstance(size, int):
            raise Unsupported("its number of dimensions depends on values")
        return tuple(tensors.as_size(vector[i]) for i in range(size))

    def selected(self, x: Any, key: Sequence[Any]) -> Any:
        """Return a part of the buffer of a loop that the loop computes on its own, or None."""
        return loops.selected(self.buffers.get(x), key)

    def inline(self, inner: Any, operands: Sequence[Any]) -> list[Any]:
        """Return the images of the outputs of an inner graph for operands."""
        loader = Loader(dict(zip(inner.inputs, operands, strict=True)))
        loader.vectors, loader.buffers = self.vectors, self.buffers
        loader._names = self._names
        results = loader.load(inner.outputs)
        self.missing.update(loader.missing)
        return results

    def apply(self, op: Any, node: Any, operands: Sequence[Any]) -> Any:
        """Return the translation of an op of operands; ``node`` has the types of its results."""
        name = op_name(op, TABLE)
        if name is not None:
            return TABLE[name](tensors.Use(self, op, node), *operands)
        if hasattr(op, "fgraph") and not is_refused(op):
            results = self.inline(op.fgraph, operands)
            return results if len(results) > 1 else results[0]
        raise Unsupported(reason_of(op))

    def scalar(self, op: Any, node: Any, operands: Sequence[Any]) -> Any:
        """Return the translation of a scalar op, applied elementwise."""
        if op_name(op, {"ScalarLoop": None}):
            return self._loop(op, operands)
        if hasattr(op, "fgraph"):
            results = self.inline(op.fgraph, operands)
            return results if len(results) > 1 else results[0]
        name = op_name(op, SCALARS)
        if name is None:
            raise Unsupported(reason_of(op))
        return applied(name, operands, node.outputs[0].type.dtype)

    def _loop(self, op: Any, operands: Sequence[Any]) -> Any:
        """Return the results of a loop on scalars, which runs elementwise."""
        inputs = [
            make_input(f"s{i}", TensorType(x.type.dtype, (None,)))
            for i, x in enumerate(op.fgraph.inputs)
        ]
        loader = Loader(dict(zip(op.fgraph.inputs, inputs, strict=True)))
        step = FunctionGraph(inputs, loader.load(op.fgraph.outputs))
        self.missing.update(loader.missing)
        both = ElementLoop(step, op.is_while)(*operands)
        results = [GetItem(i)(both) for i in range(len(step.outputs))]
        return results if len(results) > 1 else results[0]

    def _translate(self, node: Apply[Any, Any]) -> None:
        operands = [self.image(x) for x in node.inputs]
        try:
            is_scalar = hasattr(node.op, "nfunc_spec") and op_name(node.op, TABLE) is None
            apply = self.scalar if is_scalar or op_name(node.op, SCALARS) else self.apply
            results = self._known(node) or apply(node.op, node, operands)
        except Unsupported as problem:
            if not isinstance(problem, loops.Missing):
                self.missing[str(type(node.op).__name__), str(problem)] += 1
            results = [self.stand_in(x) for x in node.outputs]
        if not isinstance(results, list | tuple):
            results = [results]
        for variable, result in zip(node.outputs, results, strict=True):
            self.images[variable] = self._checked(variable, result)

    def _known(self, node: Any) -> list[Any] | None:
        """Let PyTensor compute an op without a translation if all operands are constants.

        Return None for other applications.
        """
        if not all(isinstance(x, Constant) for x in node.inputs):
            return None
        if op_name(node.op, TABLE) or hasattr(node.op, "scalar_op") or hasattr(node.op, "fgraph"):
            return None
        storage: list[list[Any]] = [[None] for _ in node.outputs]
        try:
            node.op.perform(node, [x.data for x in node.inputs], storage)
        except Exception:  # such an op is reported as one without a translation
            return None
        return [constant(np.asarray(x[0])) for x in storage]

    def _checked(self, variable: Any, result: Any) -> Any:
        """Return a result with the sizes that PyTensor knows.

        A few known integers are computed at once, because shapes often depend on them.
        """
        if not isinstance(result, Graph):
            return result
        if result.op is not None and result.dtype.kind in "iub":
            result = _computed(result)
        return tensors.with_sizes(result, variable.type)

    def _leaf(self, variable: Any) -> Any:
        if isinstance(variable, Constant):
            return _constant(variable)
        try:
            type_ = type_of(variable)
        except Unsupported as problem:
            self.missing[str(variable.type), str(problem)] += 1
            return self.stand_in(variable)
        if isinstance(variable, SharedVariable):
            value = variable.get_value(borrow=True)
            leaf: Any = shared(value, self._name(variable, "shared"), shape=type_.shape)
        else:
            leaf = make_input(self._name(variable, "x"), type_)
        self.leaves[variable] = leaf
        return leaf

    def _name(self, variable: Any, prefix: str) -> str:
        """Return a new name: the variable's own if it is an identifier."""
        name = variable.name or ""
        text = "".join(c if c.isalnum() else "_" for c in name) or prefix
        base = text if text.isidentifier() and not keyword.iskeyword(text) else f"{prefix}_{text}"
        unique, number = base, 0
        while unique in self._names or (unique == base and not name):
            unique, number = f"{base}{number}", number + 1
        self._names.add(unique)
        return unique

    def stand_in(self, variable: Any) -> Any:
        """Return an input for a value without a translation, so that the walk finds the others."""
        dtype = getattr(variable.type, "dtype", "float64")
        shape = getattr(variable.type, "shape", ())
        return make_input(
            f"missing{len(self._names)}", TensorType(dtype if dtype in DTYPES else "float64", shape)
        )


def load(outputs: Any, variables: dict[Any, Any] | None = None) -> Any:
    """Translate graphs of PyTensor to graphs of relgraph.

    Parameters
    ----------
    outputs : pytensor Variable, or a list, tuple or dict of them
        The graphs.
    variables : dict of pytensor Variable and Variable, optional
        Graphs that replace variables.  ``load`` adds those of other inputs and shared variables.

    Returns
    -------
    Variable, or a list, tuple or dict of Variable
        Graphs of the same dtypes, ranks and known sizes.  Inputs keep their names, unless these are
        not identifiers or occur twice.  Shared variables become shared variables with copies of the
        values.

    Raises
    ------
    ArgumentError
        For an output that is not a variable of PyTensor.
    UnsupportedOpError
        If ops have no translation; the error lists them, with the reasons.

    Examples
    --------
    >>> import pytensor.tensor as pt  # doctest: +SKIP
    >>> x = pt.vector("x")  # doctest: +SKIP
    >>> load(pt.log(1 + pt.exp(x)).sum())  # doctest: +SKIP
    sum(log(1 + exp(x)))
    """
    if isinstance(outputs, Mapping):
        return dict(zip(outputs, load(list(outputs.values()), variables), strict=True))
    single = isinstance(outputs, Variable)
    nodes = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    for position, node in enumerate(nodes):
        if not isinstance(node, Variable):
            raise ArgumentError(
                f"output {position} is {kind_of(node)}, not a variable of PyTensor: {node!r:.60}",
                fix="Pass variables of PyTensor; dump() translates in the other direction.",
            )
    loader = Loader({} if variables is None else variables)
    results = loader.load(nodes)
    if loader.missing:
        raise unsupported(loader.missing, "PyTensor")
    if single:
        return results[0]
    return tuple(results) if isinstance(outputs, tuple) else results


def op_name(op: Any, table: Mapping[str, Any]) -> str | None:
    """Return the key of a table for an op: the name of its class or of a class above."""
    for cls in type(op).__mro__:
        if cls.__name__ in table:
            return str(cls.__name__)
    return None


def is_refused(op: Any) -> bool:
    """Return True for an op that is refused, although it has an inner graph."""
    return any(op_name(op, dict.fromkeys(names)) for names in tensors.REFUSED.values())


def reason_of(op: Any) -> str:
    """Return why an op has no translation."""
    name = op_name(op, REFUSED)
    if name is not None:
        return REFUSED[name]
    for reason, names in tensors.REFUSED.items():
        if op_name(op, dict.fromkeys(names)):
            return reason
    return "relgraph has no such op"


def type_of(variable: Any) -> TensorType:
    """Return the type of a variable of PyTensor."""
    dtype = getattr(variable.type, "dtype", None)
    if dtype not in DTYPES or hasattr(variable.type, "format"):
        raise Unsupported("relgraph has no arrays of this type")
    return TensorType(dtype, getattr(variable.type, "shape", ()))


def _constant(variable: Any) -> Any:
    """Return an array as a constant, and None or a slice as it is."""
    data = variable.data
    if data is None or isinstance(data, slice):
        return data
    return constant(np.asarray(data))


def _computed(node: Graph) -> Graph:
    """Return a result of a few known integers as a constant."""
    fixed = [x.value for x in node.inputs if isinstance(x, Fixed)]
    dims = node.type.shape if isinstance(node.type, TensorType) else (None,)
    sizes = [s for s in dims if isinstance(s, int)]
    small = len(sizes) == len(dims) and prod(sizes) <= _FOLDED
    if len(fixed) < len(node.inputs) or not small or not node.inputs:
        return node
    assert node.op is not None
    return constant(np.asarray(node.op.perform(*fixed), dtype=node.dtype))


__all__ = ["TABLE", "Loader", "load", "op_name", "reason_of", "type_of"]
