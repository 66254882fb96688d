"""Ops, the functions that graphs apply: name, parameters, type rule, NumPy meaning, and laws.

An op is immutable and interned: the same class with the same parameters is one object, so ops
compare by identity.  As an S-expression an op without parameters is itself, and one with
parameters is its class followed by them (see :mod:`relgraph.ir.etuple`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from relgraph.errors import (
    ArgumentError,
    CompileError,
    DomainError,
    NotOverriddenError,
    RelgraphError,
    count_of,
)
from relgraph.ir import forks
from relgraph.ir.cost import size
from relgraph.ir.dispatch import interceptors
from relgraph.ir.facts import NOTHING, Facts
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable, apply, as_variable, digest_of
from relgraph.ir.types import Shape, TensorType, Type

if TYPE_CHECKING:
    from relgraph.ir.sizes import Tie

RATES = ("loop", "product", "factorisation", "substitution")

Measure = tuple[int, int | tuple[int, ...]]  # a weight, and the coefficients of the operands

_lock = forks.lock()


class Op:
    """A pure function of tensors.

    A subclass overrides :meth:`infer` (types), :meth:`perform` (NumPy meaning), :meth:`flops`
    (cost) and :meth:`facts`.  Its laws are class attributes.

    Attributes
    ----------
    name : str
        The name for printing and look-up.
    parameters : tuple of str
        The names of its parameters; ``op.params`` holds their values, in canonical form.
    arity : int or None
        The number of operands; None for any number.
    associative, commutative, idempotent : bool
        Laws of a binary op.  The matcher knows them; never declare them as relations.
    identity : number or None
        The operand on the right that changes nothing, as in ``x * 1``.
    sparse : bool
        Whether it accepts sparse operands; other ops raise an error.
    difference, inverse : Op or None
        For an op with inverses, such as addition: ``difference(x, y)`` is ``op(x, inverse(y))``.
    scale : Op or None
        The op that repeats it: ``scale(x, 3)`` is ``op(x, op(x, x))``, up to the order of operands.
    chains : bool
        Whether ``op(op(A, B), C)`` is ``op(A, op(B, C))`` where B has two dimensions or more.
        Patterns then match in any bracketing.
    computes : bool
        Whether the result holds numbers computed in its dtype; False if the op tests, selects,
        moves or converts numbers of the operands.
    returns_indices : bool
        Whether the result holds indices of elements, whose dtype is not that of the elements.
    pointwise : bool
        Whether each element of the result depends only on the matching elements of the operands.
    moves_elements : bool
        Whether nothing is rounded: the result holds elements of the operands, indices, sizes,
        zeros or ones.
    rearranges : bool
        Whether each element of the result is an element of the first operand, whatever the values.
    linear : bool
        Whether the result is a linear function of the first operand.
    returns_new_array : bool
        Whether :meth:`perform` never returns an operand or a view of one.
    takes_shape : bool
        Whether the first parameter is the shape of the result, and the operands after the first are
        its open sizes.
    reads_shape : bool
        Whether the result is the size of the operand along the axis in the first parameter.
    needs_regular : bool
        Whether a singular matrix gives an error or an infinite result.
    inverts : bool
        Whether the result is the inverse of the first operand, times the second if there is one.
    conditioned : bool
        Whether the error of the result grows with the condition number of a matrix.
    total : bool
        Whether an application to floats never raises, unless sizes do not fit.
    view : bool
        Whether an application reads and writes no element: its result is a view of its first
        operand, or a size.
    rate : str
        Which rate of a :class:`~relgraph.ir.machine.Machine` its arithmetic has: "loop",
        "product", "factorisation" or "substitution".  See also :meth:`work`.
    overhead : int
        The nanoseconds that a call takes on the smallest operands.
    decides : str
        How the result depends on a choice, as :mod:`relgraph.checking.branches` calls it, or "".
    choices : dict of str to sequence
        Values of the parameters for :func:`relgraph.check` to try, by the name of the parameter.
    measure, second_measure : pair of int and (int or tuple of int)
        The weight and the coefficients of the operands in the two readings of the termination
        order (:mod:`relgraph.relations.termination_order`).
    bodies : tuple of Body
        The graphs that it runs, if it is a loop or a choice.
    symbol : str
        The infix symbol, or "" to print as a call.
    precedence : int
        How tightly the symbol binds, as Python's operators do.
    latex : str
        The template of its LaTeX, with ``#1`` for the first operand; "" for a named function.  An
        operand in braces, parentheses or bars needs no parentheses.
    """

    __slots__ = ("__weakref__", "_nodes", "_types", "digest", "params")

    name: str = "op"
    parameters: ClassVar[tuple[str, ...]] = ()
    arity: int | None = None
    associative: bool = False
    commutative: bool = False
    idempotent: bool = False
    identity: Any = None
    difference: Op | None = None
    inverse: Op | None = None
    scale: Op | None = None
    chains: bool = False
    computes: bool = True
    returns_indices: bool = False
    pointwise: bool = False
    sparse: bool = False
    moves_elements: bool = False
    rearranges: bool = False
    linear: bool = False
    returns_new_array: bool = False
    takes_shape: bool = False
    reads_shape: bool = False
    needs_regular: bool = False
    inverts: bool = False
    conditioned: bool = False
    total: bool = False
    view: bool = False
    rate: str = "loop"
    overhead: int = 1200
    decides: str = ""
    choices: Mapping[str, Sequence[Any]] = MappingProxyType({})
    measure: Measure = (1, 1)
    second_measure: Measure = (1, 1)
    bodies: tuple[Any, ...] = ()
    symbol: str = ""
    precedence: int = 0
    latex: str = ""

    params: tuple[Any, ...]
    digest: int

    _interned: ClassVar[WeakValueDictionary[tuple[Any, ...], Op]] = WeakValueDictionary()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = cls.__dict__.get("name", "op")
        if isinstance(name, str) and not name.isidentifier():
            raise ArgumentError(
                f"the name of the op {cls.__name__} is an identifier of Python, not {name!r:.60}",
                fix='Write it as the name of a function, such as name = "huber_loss".',
            )
        rate = cls.__dict__.get("rate", "loop")
        if isinstance(rate, str) and rate not in RATES:
            raise ArgumentError(
                f"the op {cls.__name__} has no rate {rate!r}",
                {"rates": ", ".join(RATES)},
                "Say what is most like its arithmetic.",
            )

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            handler = getattr(type(value), "__relgraph_parameter__", None)
            if handler is not None:  # an open parameter, in a pattern
                return handler(value, cls, args, kwargs)
        params = cls.canonical(*args, **kwargs)
        key = (cls, *map(_typed, params))
        try:
            interned = cls._interned.get(key)
        except TypeError:
            raise ArgumentError(
                f"the parameters of {cls.__name__} must be hashable",
                {"given": params},
                "Give tuples for lists, and numbers for arrays; values are operands.",
            ) from None
        if interned is None:
            op = object.__new__(cls)
            op.params = params  # the name may depend on them
            if not op.name.isidentifier():  # generated source uses the name
                raise ArgumentError(
                    f"the name of an op is an identifier of Python, not {op.name!r:.60}",
                    {"op": cls.__qualname__},
                    "Write it as the name of a function, such as huber_loss.",
                )
            op._nodes = {}
            op._types = {}
            op.digest = digest_of(cls.__qualname__, op.name, params)
            with _lock:
                interned = cls._interned.setdefault(key, op)
        return interned

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the parameters in canonical, hashable form, in the order of ``parameters``.

        Parameters
        ----------
        *args, **kwargs
            The parameters as a caller gives them.

        Returns
        -------
        tuple
            One entry a parameter.

        Raises
        ------
        ArgumentError
            For parameters that the op does not have.
        """
        names = cls.parameters
        if len(args) > len(names) or not set(kwargs) <= set(names[len(args) :]):
            raise ArgumentError(
                f"{cls.__name__} takes the parameters ({', '.join(names)})",
                {"given": f"{args} {kwargs}"},
                "Operands are not parameters: pass them when you call the op.",
            )
        values = (*args, *(kwargs[name] for name in names[len(args) :] if name in kwargs))
        if len(values) != len(names):
            raise ArgumentError(
                f"{cls.__name__} needs the parameters ({', '.join(names)})",
                {"given": f"{args} {kwargs}"},
                "Give each of them a value, in this order or by name.",
            )
        return values

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.params

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: object) -> Op:
        return self

    def __length_hint__(self) -> int:
        """Return the length of its S-expression, as ``cons`` asks for it; 0 for an atom."""
        return 1 + len(self.params) if self.parameters else 0

    def __repr__(self) -> str:
        if not self.params:
            return self.name
        shown = ", ".join(
            f"{name}={value!r}" for name, value in zip(self.parameters, self.params, strict=True)
        )
        return f"{self.name}{{{shown}}}"

    def __getattr__(self, name: str) -> Any:
        if name in type(self).parameters:
            return self.params[type(self).parameters.index(name)]
        raise AttributeError(f"the op {type(self).__name__} has no attribute {name!r}")

    def __call__(self, *operands: Any, **unknown: Any) -> Any:
        """Apply the op: to Variables (a node), numbers and arrays (constants), or patterns.

        Parameters
        ----------
        *operands : Variable, array-like or pattern
            Python numbers are weak, as in NumPy: they take the dtype of the other operands.
        **unknown
            Raises an error.

        Returns
        -------
        Variable
            The node; equal ops and operands give the same object.

        Raises
        ------
        ArgumentError
            For a wrong number of operands, or an argument by name.
        ShapeError, DTypeError
            When the operands do not fit; the message names them.
        """
        for ask in interceptors:
            answer = ask(self, operands, unknown)
            if answer is not NotImplemented:
                return answer
        if unknown:
            raise ArgumentError(
                f"{self!r} does not take {next(iter(unknown))}=",
                {"operands": ", ".join(map(repr, operands)) or "none"},
                "Pass operands only; convert the result with .astype(...), and choose among "
                "elements with rg.where(condition, a, b).",
            )
        for operand in operands:
            if not isinstance(operand, Variable):
                handler = getattr(type(operand), "__relgraph_op__", None)
                if handler is not None:
                    return handler(operand, self, operands)
        if self.arity is not None and len(operands) != self.arity:
            if self.associative and len(operands) > self.arity:
                result = operands[0]
                for operand in operands[1:]:
                    result = self(result, operand)
                return result
            raise ArgumentError(
                f"{self!r} takes {count_of(self.arity, 'operand')}, not {len(operands)}",
                {"operands": ", ".join(map(repr, operands)) or "none"},
                "Call it with as many graphs, arrays or numbers.",
            )
        return apply(self, self.coerce(operands))

    def coerce(self, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
        """Turn numbers and arrays into constants; Python numbers take the others' dtype.

        Parameters
        ----------
        operands : tuple of Variable or array-like
            As a caller gives them.

        Returns
        -------
        tuple of Variable
            In the same order.

        Raises
        ------
        ArgumentError
            For an operand that is not a graph, number or array.
        """
        strong = [x.type for x in operands if isinstance(x, Variable)]
        for x in operands:
            if isinstance(x, np.ndarray | np.generic):
                strong.append(TensorType(x.dtype, x.shape))
        dtypes = [t.dtype for t in strong if isinstance(t, TensorType)]
        try:
            return tuple(
                x if isinstance(x, Variable) else as_variable(x, like=dtypes) for x in operands
            )
        except ArgumentError as error:
            shown = [
                f"{brief(x)} : {x.type}" if isinstance(x, Variable) else f"{x!r:.60}"
                for x in operands
            ]
            facts = [(f"operand {i}", text) for i, text in enumerate(shown)]
            raise ArgumentError(f"{self!r}: {error.what}", facts, error.fix) from None

    # Methods that subclasses override.

    def infer(self, *types: Any) -> Type:
        """Return the type of the result, or raise ShapeError or DTypeError.

        Parameters
        ----------
        *types : TensorType or TupleType
            Those of the operands.

        Returns
        -------
        TensorType or TupleType
            The type of the result, which may depend on the types of the operands only.
        """
        raise NotOverriddenError.of(self, "infer(self, *types)", "what type its results have")

    def perform(self, *values: Any) -> Any:
        """Compute the result with NumPy: the meaning that every backend must reproduce.

        Parameters
        ----------
        *values : array, or tuple of arrays
            The operands, of the types that :meth:`infer` received.

        Returns
        -------
        array, or tuple of arrays
            Of the type that :meth:`infer` returns.
        """
        raise NotOverriddenError.of(self, "perform(self, *values)", "what it computes with NumPy")

    def performer(self, node: Variable) -> Callable[..., Any]:
        """Return a function that computes an application: ``perform``, adapted to the node.

        Parameters
        ----------
        node : Variable
            The application; its operands declare sizes, unlike arrays.

        Returns
        -------
        callable
            Takes the values of the operands, and may reject some that ``perform`` accepts.
        """
        return self.perform

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Return the floating-point operations of one application.

        Elementwise: one for each element of the result (transcendental functions more); a product
        of m by k and k by n matrices: 2 m n k; a reduction: the size of its operand; an op that
        copies elements: none.

        Parameters
        ----------
        types : tuple of TensorType or TupleType
            Those of the operands.
        result : TensorType or TupleType
            That of the result.

        Returns
        -------
        int
            A size that is not static counts as :data:`relgraph.ir.cost.NOMINAL`.
        """
        return 0 if self.moves_elements else size(result)

    def node_flops(self, inputs: tuple[Variable, ...], types: tuple[Any, ...], result: Any) -> int:
        """Return the floating-point operations of an application to certain operands.

        Parameters
        ----------
        inputs : tuple of Variable
            The operands.
        types, result
            As for :meth:`flops`.

        Returns
        -------
        int
            :meth:`flops`, or fewer if what the operands are saves some: a matrix times its own
            transpose costs half of another product.
        """
        return self.flops(types, result)

    def work(self, flops: Any, types: tuple[Any, ...], result: Any) -> tuple[tuple[str, Any], ...]:
        """Return the operations of an application by rate.

        Parameters
        ----------
        flops : int or Polynomial
            All of them, as :meth:`node_flops` counts them.
        types, result
            As for :meth:`flops`.

        Returns
        -------
        tuple of (str, int or Polynomial)
            Some rates and the operations that have each; by default, all have ``rate``.
        """
        return ((self.rate, flops),)

    def calls(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return how many calls of a library one application makes.

        Parameters
        ----------
        types, result
            As for :meth:`flops`.

        Returns
        -------
        int or Polynomial
            1 by default.  An op that passes the matrices of a batch to a library one at a time
            makes one call for each of them.
        """
        return 1

    def unread(self, types: tuple[Any, ...]) -> Any:
        """Return how many bytes of its operands an application does not read.

        Parameters
        ----------
        types : tuple of TensorType or TupleType
            Those of the operands.

        Returns
        -------
        int or Polynomial
            None by default.
        """
        return 0

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Return the facts of the result, from the facts of the operands.

        Parameters
        ----------
        operands : tuple of Facts
            The facts of each operand.
        node : Variable
            The application, for its types and constants.

        Returns
        -------
        Facts
            Only facts that hold for every computed value.
        """
        return NOTHING

    def derivatives(self) -> Sequence[Any]:
        """Return the relations that state derivatives of the op.

        Returns
        -------
        sequence of Relation
            The differential, declared by :func:`relgraph.differential`, and the adjoints of a
            linear op, declared by :func:`relgraph.adjoint`.  They come before those of the
            catalogue, which has the ones of relgraph's own ops.
        """
        return ()

    def ties(self, shapes: Sequence[Shape]) -> list[Tie] | None:
        """Return the dimensions of operands that must be equal, or None if :meth:`infer` says it.

        Parameters
        ----------
        shapes : sequence of tuple
            Those of the operands.

        Returns
        -------
        list of Tie or None
            What the type rule does not reveal by raising for other sizes.
        """
        return None

    def result_sizes(self, shapes: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
        """Return the sizes of the result that are sums or products of sizes of the operands.

        Parameters
        ----------
        shapes : sequence of tuple
            The sizes of the operands: ints and polynomials.

        Returns
        -------
        tuple or None
            None if :meth:`infer` says all that is known.
        """
        return None

    def termination_measure(self) -> Measure:
        """Return ``measure``, or another one for certain parameters.

        Returns
        -------
        tuple
            The weight, and the coefficients of the operands.
        """
        return self.measure

    def demands(self, fact: str = "") -> tuple[str, ...]:
        """Return the facts of the operands that follow if an application has a value.

        Parameters
        ----------
        fact : str
            A known fact of the value, or "": the inverse of a matrix exists only if the matrix is
            invertible, and ``diag(v)`` is invertible only if ``v`` has no zero.

        Returns
        -------
        tuple of str
            A fact for each operand, or "" for none; empty if nothing follows.
        """
        return ()

    def described(self, operands: list[str]) -> str:
        """Return how a message names the op, or the application of it.

        Parameters
        ----------
        operands : list of str
            The operands, printed briefly.

        Returns
        -------
        str
            For the first line.
        """
        return repr(self)

    def infix(self, operands: list[str]) -> str | None:
        """Return a special text for an application, or None for the default.

        Parameters
        ----------
        operands : list of str
            The operands, printed.

        Returns
        -------
        str or None
            The text of the application.
        """
        return None

    def result_type(self, inputs: tuple[Variable, ...]) -> Type:
        """Return the type of ``self(*inputs)``, from the memo if possible.

        Parameters
        ----------
        inputs : tuple of Variable
            The operands.

        Returns
        -------
        TensorType or TupleType
            What :meth:`infer` returns for their types.

        Raises
        ------
        ShapeError, DTypeError
            Naming each operand with its type.
        CompileError
            If :meth:`infer` does not return a type.
        """
        key = tuple([x.type for x in inputs])
        type_ = self._types.get(key)
        if type_ is None:
            try:
                if not self.sparse:
                    refuse_sparse(key)
                type_ = self.infer(*key)
            except (ArgumentError, DomainError, TypeError, ValueError) as error:
                raise operand_error(self, inputs, error) from None
            if not isinstance(type_, Type):
                raise CompileError(
                    f"the type rule of {self!r} returned no type, but {type_!r:.60}",
                    {"operands": ", ".join(map(str, key)) or "none"},
                    "Return one of them, or TensorType(dtype, shape), from infer(self, *types).",
                )
            if len(self._types) >= 1024:
                self._types.clear()
            self._types[key] = type_
        return type_

    _nodes: dict[tuple[Any, ...], Any]
    _types: dict[tuple[Any, ...], Type]


def _typed(value: Any) -> Hashable:
    """Convert a parameter to a key in which ``1``, ``1.0`` and ``True`` differ."""
    if isinstance(value, tuple):
        return tuple(map(_typed, value))
    return (type(value), value)


def refuse_sparse(types: tuple[Type, ...]) -> None:
    """Raise ArgumentError for a sparse operand."""
    for position, type_ in enumerate(types):
        if type_.layout != "dense":
            raise ArgumentError(
                f"operand {position} is sparse ({type_.layout}), and this op takes dense arrays",
                fix="Write rg.densify(x) for its dense array; sparse matrices have products with "
                "@ and transposes.",
            )


def operand_error(op: Op, inputs: tuple[Variable, ...], error: Exception) -> Exception:
    """Return ``error`` with the op and its operands, each with its type."""
    if not isinstance(error, RelgraphError):
        return error
    rows = [(f"operand {i}", f"{brief(x)} : {x.type}") for i, x in enumerate(inputs)]
    name = op.described([brief(x) for x in inputs])
    return type(error)(f"{name}: {error.what}", [*rows, *error.facts], error.fix)


class GetItem(Op):
    """One result of an op that has several.

    Parameters
    ----------
    index : int
        Which of the results, from 0.
    """

    __slots__ = ()
    name = "getitem"
    parameters = ("index",)
    arity = 1
    moves_elements = True
    view = True
    overhead = 50

    def infer(self, *types: Any) -> Type:
        """Return the type of that result."""
        return types[0].items[self.params[0]]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Pick the result."""
        return values[0][self.params[0]]

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Return the facts that the op with the results proves for this one."""
        source = node.inputs[0]
        of_item = getattr(source.op, "item_facts", None)
        if of_item is None:
            return NOTHING
        facts = tuple([x._facts for x in source.inputs])
        return of_item(self.params[0], facts, source)  # type: ignore[no-any-return]
