"""Products that sum over an axis: matmul and its relatives, and einsum."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, ShapeError, count_of
from relgraph.ir.cost import extent, size
from relgraph.ir.facts import Facts, kept, proved, shared
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Dim, TensorType, Type, broadcast_dims, broadcast_shapes, unify_dims
from relgraph.ops.arguments import as_operand, is_open, no_rank
from relgraph.ops.definite import of_product
from relgraph.ops.docstrings import documented
from relgraph.ops.permutation import are_transposes, matrix_transpose, transpose
from relgraph.ops.shape import ravel
from relgraph.ops.sparse import SparseMatmul, is_sparse

_LETTERS = string.ascii_lowercase + string.ascii_uppercase


class Matmul(Op):
    """The matrix product, with NumPy's rules for vectors, matrices and batches of them."""

    __slots__ = ()
    name = "matmul"
    total = True
    measure = (40, 4)
    arity = 2
    symbol = "@"
    precedence = 12
    latex = r"#1 \, #2"
    returns_new_array = True
    chains = True
    rate = "product"
    overhead = 1000

    def infer(self, *types: Any) -> Type:
        """Return the type; the inner sizes agree, the batches broadcast."""
        a, b = types
        for position, one in enumerate(types):
            if one.ndim == 0:
                raise ShapeError(
                    f"operand {position} is a scalar, and a matrix product needs vectors or "
                    "matrices",
                    fix="Use * to multiply by a scalar.",
                )
        rows = a.shape[-2:-1] if a.ndim > 1 else ()
        columns = b.shape[-1:] if b.ndim > 1 else ()
        contracted(a.shape[-1], b.shape[-2 if b.ndim > 1 else -1])
        batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
        return TensorType(np.result_type(a.dtype, b.dtype), (*batch, *rows, *columns))

    def perform(self, *values: Any) -> Any:
        """Multiply with NumPy."""
        return np.matmul(*values)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost 2 m n k, for each matrix of the batch."""
        return 2 * size(result) * extent(types[0].shape[-1])

    def node_flops(self, inputs: tuple[Variable, ...], types: tuple[Any, ...], result: Any) -> int:
        """Cost half if a matrix is multiplied by its own transpose, which NumPy does by syrk."""
        whole = self.flops(types, result)
        x, y = inputs
        return whole // 2 if x.ndim >= 2 and are_transposes(x, y) else whole

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what products keep: structure, and signs of floats (integers wrap around)."""
        facts = product_facts(operands, node)
        x, y = node.inputs
        if min(x.ndim, y.ndim) < 2:
            return facts
        structure = kept(shared(operands), *_CLOSED_UNDER_PRODUCT)
        if are_transposes(x, y):
            structure |= proved("symmetric")
        return facts | structure | of_product(node)


_CLOSED_UNDER_PRODUCT = (
    "lower_triangular", "upper_triangular", "diagonal", "orthogonal", "invertible", "square",
    "permutation", "selection", "identity",
)  # fmt: skip


class Outer(Op):
    """The outer product of two vectors: every product of their elements."""

    __slots__ = ()
    name = "outer"
    total = True
    measure = (40, 1)
    arity = 2
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the type [m, n] for vectors of sizes m and n."""
        a, b = types
        if a.ndim != 1 or b.ndim != 1:
            raise ShapeError("an outer product is of two vectors", fix="Use ravel(x) first.")
        return TensorType(np.result_type(a.dtype, b.dtype), (*a.shape, *b.shape))

    def perform(self, *values: Any) -> Any:
        """Multiply with NumPy."""
        return np.outer(*values)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep signs and integrality; the product of a vector with itself is symmetric."""
        facts = product_facts(operands, node)
        if node.inputs[0] is not node.inputs[1]:
            return facts
        return facts | proved("psd" if node.dtype.kind == "f" else "symmetric")


class Einsum(Op):
    """Einstein's summation: multiply all operands, and sum over the labels not in the result.

    Parameters
    ----------
    subscripts : str
        The labels of each operand's axes, ``->``, and those of the result.  Stored with the
        labels renamed a, b, c, ... in the order in which they first occur.
    """

    __slots__ = ()
    name = "einsum"
    measure = (20, 4)
    parameters = ("subscripts",)

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the subscripts with an explicit result and canonical labels."""
        (subscripts,) = super().canonical(*args, **kwargs)
        if is_open(subscripts):
            return (subscripts,)
        terms, result = _parse(subscripts, None)
        return (_written(terms, result),)

    def infer(self, *types: Any) -> Type:
        """Return the type; sizes of one label agree, or are statically 1 and stretch."""
        terms, result = self._terms()
        if len(terms) != len(types):
            raise ArgumentError(
                f"{self.params[0]!r} has {count_of(len(terms), 'operand')}, not {len(types)}",
                fix="Write one term for each operand, separated by commas.",
            )
        sizes: dict[str, Dim] = {}
        for term, type_ in zip(terms, types, strict=True):
            if len(term) != type_.ndim:
                raise ShapeError(
                    f"the subscripts {term!r} do not fit {type_}",
                    fix="Write one label for each axis of the operand.",
                )
            dims: dict[str, Dim] = {}
            for label, dim in zip(term, type_.shape, strict=True):
                dims[label] = contracted(dims.get(label), dim)
            for label, dim in dims.items():
                try:
                    sizes[label] = broadcast_dims(sizes.get(label, 1), dim)
                except ShapeError as error:
                    raise ShapeError(
                        f"{error.what} for the label {label!r}",
                        fix="Give the axes of one label equal sizes, or label them differently.",
                    ) from None
        return TensorType(
            np.result_type(*[t.dtype for t in types]), [sizes[label] for label in result]
        )

    def perform(self, *values: Any) -> Any:
        """Contract with NumPy, in the order it finds best."""
        return np.einsum(self.params[0], *values, optimize=len(values) > 2)

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Cost the product of all sizes, times the number of operands."""
        terms, _ = self._terms()
        sizes: dict[str, int] = {}
        for term, type_ in zip(terms, types, strict=True):
            for label, dim in zip(term, type_.shape, strict=True):
                if dim != 1 or label not in sizes:
                    sizes[label] = extent(dim)
        total = len(types)
        for one in sizes.values():
            total *= one
        return total

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep signs and integrality where all operands have them."""
        common = shared(operands)
        return product_facts((common, common), node)

    def _terms(self) -> tuple[list[str], str]:
        inputs, result = self.params[0].split("->")
        return inputs.split(","), result


def contracted(a: Dim, b: Dim) -> Dim:
    """Return the size of two axes that are summed together, or raise ShapeError."""
    try:
        return unify_dims(a, b)
    except ShapeError as error:
        raise ShapeError(
            f"{error.what} along the axis that is summed over",
            fix="Transpose or reshape one operand so that these sizes agree.",
        ) from None


def product_facts(operands: tuple[Facts, ...], node: Variable) -> Facts:
    """Return what holds of a sum of products of elements of two operands.

    Products underflow and overflow, so nothing is strictly positive or finite; integers wrap
    around, so signs are kept for floats only.  Integers stay integers, even rounded.
    """
    a, b = operands
    facts = kept(shared(operands), "integer")
    if node.dtype.kind == "f":
        for first, second in ((a, b), (b, a)):
            if first.holds("nonnegative"):
                facts |= kept(second, "nonnegative", "nonpositive")
        if a.holds("nonpositive") and b.holds("nonpositive"):
            facts |= proved("nonnegative")
    return facts


@documented()
def matmul(x: Any, y: Any) -> Any:
    """Return the matrix product ``x @ y``.

    x (Variable, array-like or pattern, [..., m, k] or [k]): A vector counts as a row.
    y (Variable, array-like or pattern, [..., k, n] or [k]): A vector counts as a column.
    Returns (Variable, [..., m, n]): Of NumPy's common dtype, without the axis of a vector.
    ShapeError: When the inner sizes differ, or an operand is a scalar.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> A = make_input("A", TensorType("float64", ("m", "k")))
    >>> matmul(A, matrix_transpose(A)), matmul(A, matrix_transpose(A)).type
    (A @ A.mT, float64[m, m])
    """
    x, y = as_operand(x), as_operand(y)
    if is_sparse(x) or is_sparse(y):
        return SparseMatmul()(x, y)
    return Matmul()(x, y)


@documented()
def outer(x: Any, y: Any) -> Any:
    """Return the products of every element of ``x`` with every element of ``y``.

    x, y (Variable, array-like or pattern): Raveled first; patterns stand for vectors.
    Returns (Variable, [m, n]):
    """
    x, y = as_operand(x), as_operand(y)
    return Outer()(*(ravel(v) if isinstance(v, Variable) else v for v in (x, y)))


@documented()
def einsum(subscripts: str, *operands: Any) -> Any:
    """Return Einstein's summation of the operands.

    subscripts (str): NumPy's notation: one label an axis, ``...`` for axes that broadcast, ``->``
        and the result.
    *operands (Variable, array-like or pattern): One for each term. Patterns need explicit
        subscripts, without ``...``.
    Returns: A matrix product or a permutation of axes is built as such.
    ArgumentError: For subscripts that do not parse.
    ShapeError: When the sizes of one label differ.

    Examples
    --------
    >>> from relgraph.ir.node import make_input
    >>> from relgraph.ir.types import TensorType
    >>> A = make_input("A", TensorType("float64", ("m", "k")))
    >>> einsum("ij,kj->ik", A, A)
    A @ A.mT
    >>> einsum("ij,ij->i", A, A)
    einsum(A, A, subscripts='ab,ab->a')
    """
    if not isinstance(subscripts, str):
        if is_open(subscripts):
            return Einsum(subscripts)(*map(as_operand, operands))
        raise ArgumentError(
            f"einsum takes its subscripts as a string first, not {type(subscripts).__name__}",
            fix='Write them like "ij,jk->ik".',
        )
    nodes = [as_operand(x) for x in operands]
    ranks = [x.ndim if isinstance(x, Variable) else None for x in nodes]
    terms, result = _parse(subscripts, ranks)
    if len(nodes) == 1 and sorted(terms[0]) == sorted(result) and len(set(result)) == len(result):
        return transpose(nodes[0], tuple(terms[0].index(label) for label in result))
    if len(nodes) == 2:
        product = _as_matmul(terms, result, nodes)
        if product is not None:
            return product
    return Einsum(_written(terms, result))(*nodes)


def _as_matmul(terms: list[str], result: str, operands: list[Any]) -> Any:
    """Return the matrix or outer product that two terms are, or None where they are neither."""
    left, right = terms
    if any(len(set(term)) != len(term) for term in (left, right)):
        return None
    summed = [label for label in left if label in right and label not in result]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    batch = [label for label in left if label in right and label in result]
    if len(left) == len(right) == 1 and len(result) == 2:
        return Outer()(*(operands if result == left + right else reversed(operands)))
    if len(summed) != 1 or len(rows) > 1 or len(columns) > 1 or _stretches(terms, operands):
        return None
    if batch and (not rows or not columns):
        return None
    lead = "".join(batch)
    (k,), m, n = summed, "".join(rows), "".join(columns)
    if left not in (lead + m + k, lead + k + m) or right not in (lead + k + n, lead + n + k):
        return None
    if result not in (lead + m + n, lead + n + m):
        return None
    x, y = operands
    if left != lead + m + k:
        x = matrix_transpose(x)
    if right != lead + k + n:
        y = matrix_transpose(y)
    product = Matmul()(x, y)
    return product if result == lead + m + n else matrix_transpose(product)


def _stretches(terms: list[str], operands: list[Any]) -> bool:
    """Return True if a size 1 of one term may be stretched to that of the same label in another."""
    seen: dict[str, Dim] = {}
    for term, operand in zip(terms, operands, strict=True):
        if isinstance(operand, Variable):
            for label, dim in zip(term, operand.type.shape, strict=True):
                if label in seen and (seen[label] == 1) != (dim == 1):
                    return True
                seen[label] = dim
    return False


def _parse(subscripts: str, ranks: list[int | None] | None) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result, without ``...``."""
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    plain = text.replace("...", "").replace("->", "").replace(",", "")
    if (
        "->" in result
        or any(c not in _LETTERS for c in plain)
        or any(t.count("...") > 1 for t in terms)
    ):
        raise _malformed(subscripts, "only letters, commas, '...' and one '->' are allowed")
    if ranks is not None and len(ranks) != len(terms):
        terms_of = f"{count_of(len(terms), 'term')} for {count_of(len(ranks), 'operand')}"
        raise _malformed(subscripts, f"it has {terms_of}")
    if "..." in inputs:
        terms, result = _without_ellipsis(subscripts, terms, result, bool(arrow), ranks)
    elif not arrow:
        result = _implicit(inputs)
    if len(set(result)) != len(result) or not set(result) <= set("".join(terms)):
        raise _malformed(subscripts, "each label of the result occurs once, and in an operand")
    for term, rank in zip(terms, ranks or [None] * len(terms), strict=True):
        if rank is not None and len(term) != rank:
            raise ShapeError(
                f"einsum: the subscripts {term!r} do not fit an operand of "
                f"{count_of(rank, 'dimension')}",
                {"subscripts": subscripts},
                "Write one label for each axis.",
            )
    return terms, result


def _implicit(inputs: str) -> str:
    """Return the result that NumPy takes without ``->``: labels that occur once, sorted."""
    labels = inputs.replace(",", "").replace("...", "")
    return "".join(sorted(label for label in set(labels) if labels.count(label) == 1))


def _without_ellipsis(
    subscripts: str, terms: list[str], result: str, explicit: bool, ranks: list[int | None] | None
) -> tuple[list[str], str]:
    """Give labels to the axes that ``...`` stands for, aligned at the right."""
    spare = [label for label in _LETTERS if label not in subscripts]
    widths = []
    for term, rank in zip(terms, ranks or [None] * len(terms), strict=True):
        if "..." in term and rank is None:
            raise no_rank("einsum with '...'", "Write out the labels of a pattern's axes.")
        widths.append(max(0, (rank or 0) - len(term) + 3) if "..." in term else 0)
    most = max(widths)
    if most > len(spare):
        raise _malformed(subscripts, "there are not enough letters left for '...'")
    labels = "".join(spare[:most])
    full = [
        term.replace("...", labels[most - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    if not explicit:
        return full, labels + _implicit(",".join(terms))
    if most and "..." not in result:
        raise _malformed(subscripts, "the result lacks the '...' of the operands")
    return full, result.replace("...", labels)


def _written(terms: list[str], result: str) -> str:
    """Return subscripts with labels renamed in the order in which they first occur."""
    names: dict[str, str] = {}
    for label in "".join(terms):
        names.setdefault(label, _LETTERS[len(names)])
    renamed = ["".join(names[label] for label in term) for term in (*terms, result)]
    return ",".join(renamed[:-1]) + "->" + renamed[-1]


def _malformed(subscripts: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"einsum: {subscripts!r} is malformed: {why}", fix='Write subscripts like "ij,jk->ik".'
    )
