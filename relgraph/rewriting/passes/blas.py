"""Calls of BLAS for sums that contain a product.

``beta * C + alpha * A @ B`` becomes one call.  Each number may be missing, negative, or a product
of constants that the dtype can hold, and each matrix may be transposed.  In a longer sum, the other
terms make up C.  The sum stays as it is if C would have to be broadcast to the product's shape.

A product with other users stays, since it is computed anyway.  So does a sum that an elementwise
op or a reduction reads: its reader adds it up in its own loop at no cost.  :class:`SyrkMotif`
handles the product of a matrix and its transpose, because NumPy computes only half of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from relgraph.ir.cost import extent
from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType
from relgraph.ops.contraction import Matmul, Outer
from relgraph.ops.elementwise import add, cast, multiply, negative, subtract
from relgraph.ops.linalg.blas import DTYPES, Gemm, Gemv, Ger, Syrk
from relgraph.ops.linalg.structured_matmul import (
    BAND,
    TRIANGLE,
    TriangularMatmul,
    TridiagonalMatmul,
)
from relgraph.ops.permutation import MatrixTranspose, are_transposes, matrix_transpose
from relgraph.ops.reductions import Reduction
from relgraph.ops.shape import expand_dims
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

MATMUL, OUTER, SWAP = Matmul(), Outer(), MatrixTranspose()
SUMS = (add, subtract)

Clients = Mapping[Variable, tuple[tuple[Variable | str, int], ...]]


class Term(NamedTuple):
    """A term of a sum, split into signs, a scalar and the core that they multiply."""

    node: Variable  # as written
    added: bool  # rather than subtracted
    core: Variable
    negated: bool  # the term as written is a negative multiple of the core
    number: Variable | None  # the scalar
    sole: bool  # nothing else reads the core, or a node between it and the sum

    def factor(self) -> Variable:
        """Return the signed scalar that multiplies the core in the sum, in the core's dtype."""
        dtype = self.core.dtype
        minus = self.added is self.negated
        x = self.number
        if x is None or isinstance(x, Constant):
            value = dtype.type(1 if x is None else x.value)
            return constant(-value if minus else value)
        scalar = x if x.dtype == dtype else cast(x, dtype)
        return negative(scalar) if minus else scalar


class BlasMotif(GraphRewriter, ABC):
    """Replaces sums that contain one kind of product by calls of one routine of BLAS."""

    routine: ClassVar[Op]
    called: ClassVar[str] = ""
    product: ClassVar[Op] = MATMUL
    rank: ClassVar[int] = 2

    def __init__(self) -> None:
        super().__init__(name=self.called or self.routine.name)

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with such sums as calls."""
        if not any([x.op is self.product for x in graph]):
            return graph
        clients = graph.clients
        calls: dict[Variable, Variable] = {}
        inner: set[Variable] = set()
        for root in reversed(graph.toposort()):
            if root not in inner and self._is_candidate(root, clients):
                made = self._called(root, terms_of(root, clients, inner))
                if made is not None and made.type.narrows(root.type):
                    calls[root] = made
        return with_changes(graph, calls)

    @abstractmethod
    def suits(self, product: Variable) -> bool:
        """Return True if the routine is the fastest way to compute a product of matching type."""

    def suits_array(self, array: Variable) -> bool:
        """Return True if the routine can add the product to an array of the product's type."""
        return True

    @abstractmethod
    def call(self, array: Variable, alpha: Variable, product: Variable, beta: Variable) -> Variable:
        """Return the call that computes ``beta * array + alpha * product``."""

    def _is_candidate(self, root: Variable, clients: Clients) -> bool:
        """Return True if a node is a sum for which a call is worthwhile, if it has a product."""
        if root.op not in SUMS or root.ndim != self.rank or root.dtype.name not in DTYPES:
            return False
        return not any([_in_a_loop(client) for client, _ in clients[root]])

    def _called(self, root: Variable, terms: list[Term]) -> Variable | None:
        """Return the calls that add up the terms of a sum, or None if no call fits."""
        products: list[Term] = []
        rest: list[Term] = []
        for term in terms:
            (products if self._is_product(term, root) else rest).append(term)
        if not rest and len(products) > 1:
            rest.append(products.pop(0))
        if not products or not rest:
            return None
        array, beta = _array(rest, root)
        if not _is_like(array, root) or not self.suits_array(array):
            return None
        for term in products:
            array = self.call(array, term.factor(), term.core, beta)
            beta = constant(root.dtype.type(1))
        return array

    def _is_product(self, term: Term, root: Variable) -> bool:
        core = term.core
        if not term.sole or core.op is not self.product or not _is_like(core, root):
            return False
        return all([x.dtype == root.dtype for x in core.inputs]) and self.suits(core)


class GemmMotif(BlasMotif):
    """Adds a product of matrices to a matrix by one call: ``gemm(C, alpha, A, B, beta)``.

    References
    ----------
    J. J. Dongarra, J. Du Croz, S. Hammarling and I. Duff, "A set of level 3 basic linear algebra
    subprograms", ACM Trans. Math. Softw. 16 (1990).

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.blas import GemmMotif
    >>> A, B, C = rg.matrices("A B C", shape=("n", "n"))
    >>> rg.rewrite_graph(2 * C - A.mT @ B, GemmMotif())
    gemm(C, -1, A.mT, B, 2)
    """

    routine = Gemm()

    def suits(self, product: Variable) -> bool:
        """Accept products of two matrices that are not each other's transpose."""
        return _ranks(product) == (2, 2) and not are_transposes(*product.inputs)

    def call(self, array: Variable, alpha: Variable, product: Variable, beta: Variable) -> Variable:
        """Return the call."""
        return self.routine(array, alpha, *product.inputs, beta)  # type: ignore[no-any-return]


class NarrowGemmMotif(GemmMotif):
    """Adds a product of few terms to a large matrix by one call, which costs no more than a loop.

    The call reads and writes the result once less, which matters if the product itself is cheap.
    With at least 256 rows and columns, 1 MiB of result and at most 128 terms in each element, the
    call is 0.9 to 1.2 times as fast on one thread, 1.0 in geometric mean, and 1.4 in geometric mean
    on two (``benchmarks/results/products.json``).  With more terms it makes no difference; a loop
    adds small or very oblong results faster.

    The graph stays as it is if any other product would remain: NumPy and SciPy each have a BLAS,
    and the idle threads of one keep cores from the threads of the other.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.blas import NarrowGemmMotif
    >>> A, B = rg.matrix("A", shape=(1000, 20)), rg.matrix("B", shape=(20, 1000))
    >>> C = rg.matrix("C", shape=(1000, 1000))
    >>> rg.rewrite_graph(C + A @ B, NarrowGemmMotif())
    gemm(C, 1, A, B, 1)
    >>> rg.rewrite_graph(C + (C @ A) @ B, NarrowGemmMotif())
    C + C @ A @ B
    """

    called = "gemm_narrow"
    SIDE, BYTES, TERMS = 256, 1 << 20, 128

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with such sums as calls, if they are all of its products."""
        made = super().apply(graph)
        return graph if any([x.op is MATMUL for x in made]) else made

    def suits(self, product: Variable) -> bool:
        """Accept products whose static sizes prove that the call is faster."""
        if not super().suits(product):
            return False
        rows, columns = product.type.shape
        terms = product.inputs[0].type.shape[1]
        if not (isinstance(rows, int) and isinstance(terms, int) and isinstance(columns, int)):
            return False
        large = rows * columns * product.dtype.itemsize >= self.BYTES
        return large and min(rows, columns) >= self.SIDE and terms <= self.TERMS


class GemvMotif(BlasMotif):
    """Adds a matrix times a vector to a vector by one call: ``gemv(y, alpha, A, x, beta)``.

    References
    ----------
    J. J. Dongarra, J. Du Croz, S. Hammarling and R. J. Hanson, "An extended set of Fortran basic
    linear algebra subprograms", ACM Trans. Math. Softw. 14 (1988).

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.blas import GemvMotif
    >>> A = rg.matrix("A", shape=("n", "n"))
    >>> x, y = rg.vectors("x y", shape=("n",))
    >>> rg.rewrite_graph(y - x @ A, GemvMotif())
    gemv(y, -1, A.mT, x, 1)
    """

    routine = Gemv()
    rank = 1

    def suits(self, product: Variable) -> bool:
        """Accept products of a matrix and a vector, in either order."""
        return _ranks(product) in ((2, 1), (1, 2))

    def call(self, array: Variable, alpha: Variable, product: Variable, beta: Variable) -> Variable:
        """Return the call; a vector on the left multiplies the transpose."""
        left, right = product.inputs
        if left.ndim == 1:
            left, right = matrix_transpose(right), left
        return self.routine(array, alpha, left, right, beta)  # type: ignore[no-any-return]


class GerMotif(BlasMotif):
    """Adds an outer product to a matrix by one call: ``ger(A, alpha, x, y)``.

    References
    ----------
    J. J. Dongarra, J. Du Croz, S. Hammarling and R. J. Hanson, "An extended set of Fortran basic
    linear algebra subprograms", ACM Trans. Math. Softw. 14 (1988).

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.blas import GerMotif
    >>> A = rg.matrix("A", shape=("n", "n"))
    >>> x, y = rg.vectors("x y", shape=("n",))
    >>> rg.rewrite_graph(A - 2 * rg.outer(x, y), GerMotif())
    ger(A, -2, x, y)
    """

    routine = Ger()
    product = OUTER

    def suits(self, product: Variable) -> bool:
        """Accept all outer products."""
        return True

    def call(self, array: Variable, alpha: Variable, product: Variable, beta: Variable) -> Variable:
        """Return the call; it has no operand ``beta``, so a product scales the matrix first."""
        scaled = array if isinstance(beta, Constant) and beta.value == 1 else multiply(beta, array)
        return self.routine(scaled, alpha, *product.inputs)  # type: ignore[no-any-return]


class SyrkMotif(BlasMotif):
    """Adds A times its transpose to a symmetric C by one call: ``syrk(C, alpha, A, beta)``.

    References
    ----------
    J. J. Dongarra, J. Du Croz, S. Hammarling and I. Duff, "A set of level 3 basic linear algebra
    subprograms", ACM Trans. Math. Softw. 16 (1990).

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.blas import SyrkMotif
    >>> A = rg.matrix("A", shape=("n", "n"))
    >>> S = rg.matrix("S", shape=("n", "n"), facts=("symmetric",))
    >>> rg.rewrite_graph(S + A.mT @ A, SyrkMotif())
    syrk(S, 1, A.mT, 1)
    """

    routine = Syrk()

    def suits(self, product: Variable) -> bool:
        """Accept products of a matrix and its transpose."""
        return _ranks(product) == (2, 2) and are_transposes(*product.inputs)

    def suits_array(self, array: Variable) -> bool:
        """Accept matrices that are proved symmetric: the routine reads one triangle only."""
        return fact(array, "symmetric") is True

    def call(self, array: Variable, alpha: Variable, product: Variable, beta: Variable) -> Variable:
        """Return the call; the second operand is the transpose of the first."""
        return self.routine(array, alpha, product.inputs[0], beta)  # type: ignore[no-any-return]


class StructuredKernels(GraphRewriter):
    """Multiplies by triangular and tridiagonal matrices without their zeros.

    Products of small static sizes stay, since they take no longer.

    References
    ----------
    G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.blas import StructuredKernels
    >>> B = rg.matrix("B", shape=("n", "n"))
    >>> L = rg.matrix("L", shape=("n", "n"), facts=("lower_triangular",))
    >>> rg.rewrite_graph(L @ B, StructuredKernels())
    triangular_matmul(L, B, lower=True, side=0)
    """

    def __init__(self) -> None:
        super().__init__(name="structured_kernels")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with such products as ops of their own."""
        products: dict[Variable, Variable] = {}
        for node in graph:
            if node.op is MATMUL and node.dtype.name in DTYPES and _ranks(node) == (2, 2):
                op = structured_matmul(node)
                if op is not None:
                    products[node] = op(*node.inputs)
        return with_changes(graph, products)


def structured_matmul(product: Variable) -> Op | None:
    """Return the op for a product with a triangular or a tridiagonal matrix, or None."""
    kernels = [
        structured_kernel(x, side)
        for side, x in enumerate(product.inputs)
        if x.dtype == product.dtype
    ]
    return next((op for op in kernels if op is not None), None)


def structured_kernel(x: Variable, side: int) -> Op | None:
    """Return the op for products with a triangular or a tridiagonal matrix on a side, or None."""
    if not fact(x, "square") or fact(x, "diagonal"):
        return None
    assert isinstance(x.type, TensorType)
    n = extent(x.type.shape[0])
    if n >= BAND and fact(x, "tridiagonal"):
        return TridiagonalMatmul(side)  # type: ignore[no-any-return]
    for lower, name in ((True, "lower_triangular"), (False, "upper_triangular")):
        if n >= TRIANGLE and fact(x, name):
            return TriangularMatmul(lower, side)  # type: ignore[no-any-return]
    return None


class OuterInLoop(GraphRewriter):
    """Computes outer products in the loop of the elementwise op or reduction that reads them.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.blas import OuterInLoop
    >>> A = rg.matrix("A", shape=("n", "n"))
    >>> x, y = rg.vectors("x y", shape=("n",))
    >>> rg.rewrite_graph(A - 2 * rg.outer(x, y), OuterInLoop())
    A - 2 * (expand_dims(x, axes=(-1,)) * y)
    """

    def __init__(self) -> None:
        super().__init__(name="outer_in_loop")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with such outer products as elementwise products."""
        products: dict[Variable, Variable] = {}
        for node in graph:
            if node.op is OUTER and all([_in_a_loop(user) for user, _ in graph.clients[node]]):
                x, y = node.inputs
                made = multiply(expand_dims(x, 1), y)
                if made.type.narrows(node.type):
                    products[node] = made
        return with_changes(graph, products)


def terms_of(root: Variable, clients: Clients, inner: set[Variable]) -> list[Term]:
    """Return the terms of a sum in order, opening sums and negations without other users."""
    terms: list[Term] = []
    stack = [(root, True)]
    while stack:
        x, added = stack.pop()
        if x is root or (len(clients[x]) == 1 and _is_like(x, root)):
            if x.op in SUMS:
                left, right = x.inputs
                inner.add(x)
                stack += [(right, added is (x.op is add)), (left, added)]
                continue
            if x.op is negative:
                stack.append((x.inputs[0], not added))
                continue
        terms.append(_term(x, added, clients))
    return terms


def _term(node: Variable, added: bool, clients: Clients) -> Term:
    """Split a term into its signs, the scalars that multiply it, and its core."""
    scalar: Variable | None = None
    core, negated, sole = node, False, len(clients[node]) == 1
    while core.op in (negative, multiply):
        other = core.inputs[0]
        if core.op is negative:
            negated = not negated
        else:
            number = core.inputs[1]
            if number.ndim:
                other, number = number, other
            if number.ndim or other.dtype != core.dtype:
                break
            both = number if scalar is None else _product(scalar, number)
            if both is None:
                break
            scalar = both
        core, sole = other, sole and len(clients[other]) == 1
    return Term(node, added, core, negated, scalar, sole)


def _product(x: Variable, y: Variable) -> Variable | None:
    """Return a product of two constants if their dtype holds it, else None.

    ``1e200 * (1e200 * (A @ B))`` is finite for a small product, and ``inf * (A @ B)`` is not.
    """
    if not (isinstance(x, Constant) and isinstance(y, Constant)) or x.dtype != y.dtype:
        return None
    with np.errstate(all="ignore"):
        value = x.dtype.type(x.value * y.value)
    normal = x.dtype.kind != "f" or np.finfo(x.dtype).tiny <= abs(value) < np.inf
    return constant(value) if normal else None


def _array(rest: list[Term], root: Variable) -> tuple[Variable, Variable]:
    """Return the array to which the products are added, and its factor.

    An elementwise loop that computes the array also multiplies it.
    """
    first = next((i for i, term in enumerate(rest) if term.added), None)
    if len(rest) == 1 and not _computes_elements(rest[0].core):
        return rest[0].core, rest[0].factor()
    total: Any = negative(rest[0].node) if first is None else rest[first].node
    for i, term in enumerate(rest):
        if i != (first or 0):
            total = (add if term.added else subtract)(total, term.node)
    return total, constant(root.dtype.type(1))


def _computes_elements(x: Variable) -> bool:
    return x.op is not None and x.op.pointwise


def _is_like(x: Variable, root: Variable) -> bool:
    """Return True if a node has the dtype of another one and need not be broadcast to its shape.

    Unknown sizes count as equal; the call compares them.
    """
    if x.dtype != root.dtype or x.ndim != root.ndim:
        return False
    sizes = zip(x.type.shape, root.type.shape, strict=True)
    return all([a == b or 1 not in (a, b) for a, b in sizes])


def _ranks(product: Variable) -> tuple[int, ...]:
    return tuple([x.ndim for x in product.inputs])


def _in_a_loop(client: Variable | str) -> bool:
    """Return True if the user of a sum adds it up in its own loop."""
    if isinstance(client, str) or client.op is None:
        return False
    return _computes_elements(client) or isinstance(client.op, Reduction)
