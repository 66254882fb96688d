"""Nodes: the one kind of thing a graph is made of, immutable and hash-consed.

A :class:`Variable` is an :class:`Input`, a :class:`Constant`, or an :class:`Apply`, which *is* the
value it computes.  Building the same op on the same inputs returns the same object, so equal
subgraphs are one object and ``is`` decides equality.  Tables hold weak references and are published
under a lock: threads that build one graph get one object, and graphs that are dropped are freed.
Digests, pickles and every other walk visit nodes in the order of :func:`toposort`.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from unification import isvar

from relgraph.errors import (
    ArgumentError,
    DomainError,
    ImmutableGraphError,
    NumberRangeError,
    RelgraphError,
    kind_of,
)
from relgraph.ir import forks
from relgraph.ir.facts import check_declared
from relgraph.ir.infix import brief, constant_text
from relgraph.ir.operators import FUNCTIONS, Operators
from relgraph.ir.types import NAME_OF, TensorType, Type, check_dtype
from relgraph.viz.display import Displayed

if TYPE_CHECKING:
    from relgraph.ir.op import Op
    from relgraph.viz.document import Element

_lock = forks.lock()
_SMALL = 4096  # bytes up to which a constant is keyed by its contents rather than by their SHA-256


def digest_of(*parts: object) -> int:
    """Return a 64-bit digest of the text of ``parts``, the same in every process."""
    text = "\x00".join(map(repr, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)


class _Ref(weakref.ref["Variable"]):
    """A weak reference that knows its key in its table."""

    __slots__ = ("key", "table")
    key: Any
    table: dict[Any, _Ref]


def _forget(ref: Any, lock: threading.RLock = _lock) -> None:
    """Remove a dead node's entry, unless a new node has replaced it.

    The lock is an argument because module globals are gone when the interpreter shuts down.
    """
    with lock:
        if ref.table.get(ref.key) is ref:
            del ref.table[ref.key]


def _publish(table: dict[Any, Any], key: Any, new: Any) -> Any:
    """Store a node, or return the one that another thread stored first.

    ``setdefault`` is atomic, so only a dead entry that its callback has not removed yet needs the
    lock; nobody replaces an entry in place.
    """
    ref = _Ref(new, _forget)
    ref.table = table
    ref.key = key
    while True:
        earlier = table.setdefault(key, ref)
        if earlier is ref:
            return new
        node = earlier()
        if node is not None:
            return node
        _forget(earlier)


class _Slots:
    """The storage of a node, open to assignment while it is being built."""

    __slots__ = ("__weakref__", "_digest", "_facts", "inputs", "op", "type")

    op: Op | None
    inputs: tuple[Variable, ...]
    type: Any
    _digest: int | None
    _facts: Any


class _Open(_Slots):
    """A node that is being built; it becomes an immutable node by a change of class."""

    __slots__ = ()


class Variable(_Slots, Operators, Displayed):
    """A node of a graph.

    Attributes
    ----------
    op : Op or None
        The op applied, None for an input or a constant.
    inputs : tuple of Variable
        The operands, in order.
    type : TensorType or TupleType
        Its dtype and shape.
    """

    __slots__ = ()

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        if cls.__module__ != __name__:  # a stand-in for a node
            return object.__new__(cls)
        raise ArgumentError(
            f"{cls.__name__} is not called: equal nodes are one object",
            fix="Inputs are made by rg.tensor, constants by rg.constant, others by calling ops.",
        )

    @property
    def digest(self) -> int:
        """A structural digest, the same in every process; computed once, without recursion."""
        if self._digest is None:
            for x in toposort(self):
                if x._digest is not None:
                    continue
                if isinstance(x, Constant):
                    _set_digest(x, digest_of("constant", *_contents(x.value)))
                elif x.op is not None:
                    parts = (x.op.digest, *[i._digest for i in x.inputs])
                    _set_digest(x, hash(parts))
        digest = self._digest
        assert digest is not None
        return digest

    def __setattr__(self, name: str, value: object) -> None:
        raise ImmutableGraphError(
            f"a graph cannot be changed: {type(self).__name__}.{name}",
            {"node": self},
            "Build a new node, or use FunctionGraph.replace(old, new), which returns a new graph.",
        )

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    if not TYPE_CHECKING:  # type checkers report this themselves

        def __getattr__(self, name: str) -> Any:
            raise FUNCTIONS["__getattr__"](self, name)

    _leaf_text: Callable[[], str]  # what an input or a constant prints as; an op prints the others

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: object) -> Variable:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (flatten([self]),)

    def __repr__(self) -> str:
        return brief(self)

    def _document(self) -> list[Element]:
        from relgraph.ir.statements import described

        return described(toposort(self), (self,))

    def _latex(self) -> str:
        from relgraph.ir.statements import latex

        return latex(toposort(self), (self,))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the value."""
        return self.type.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.type.ndim  # type: ignore[no-any-return]


class Input(Variable):
    """A value that the caller passes.  Inputs with equal name, type and facts are one object."""

    __slots__ = ("facts", "name")
    name: str
    facts: frozenset[str]

    def _leaf_text(self) -> str:
        return self.name

    def _row(self) -> tuple[Any, ...]:
        """Return what a pickle holds of it, for :func:`unflatten`."""
        return "input", self.name, self.type, tuple(sorted(self.facts))


class Constant(Variable):
    """A known value, held as a private read-only array.

    ``uniform`` is the one value of all its elements, as a NumPy scalar, or None if they differ or
    there are none; ``bits`` is that value's dtype and bytes, which patterns look up.
    """

    __slots__ = ("bits", "uniform", "value")
    value: npt.NDArray[Any]
    uniform: Any
    bits: bytes | None

    def _leaf_text(self) -> str:
        return constant_text(self)


class Apply(Variable):
    """An op applied to operands; the variable it computes."""

    __slots__ = ()
    op: Op

    def __length_hint__(self) -> int:
        """Return the length of its S-expression, as ``cons`` asks for it."""
        return 1 + len(self.inputs)


_new = object.__new__
_set_digest: Any = vars(_Slots)["_digest"].__set__
set_facts: Any = vars(_Slots)["_facts"].__set__

_SCALARS = {dtype: TensorType(dtype) for dtype in NAME_OF}

_inputs: dict[Any, Any] = {}
_constants: dict[Any, Any] = {}


def apply(op: Op, inputs: tuple[Variable, ...]) -> Apply:
    """Return the node ``op(*inputs)``; operands must be Variables already."""
    ref = op._nodes.get(inputs)
    if ref is not None:
        node = ref()
        if node is not None:
            return node  # type: ignore[no-any-return]
    type_ = op._types.get(tuple([x.type for x in inputs]))
    new: Any = _new(_Open)
    new.type = op.result_type(inputs) if type_ is None else type_
    new.op = op
    new.inputs = inputs
    new._digest = new._facts = None
    new.__class__ = Apply
    return _publish(op._nodes, inputs, new)  # type: ignore[no-any-return]


def apply_chain(op: Op, operands: Sequence[Variable]) -> Variable:
    """Return a binary op applied to any number of operands, nested to the left."""
    result, *rest = operands
    table = op._nodes
    first = second = type_ = None
    for x in rest:
        inputs = (result, x)
        ref = table.get(inputs)
        node = ref() if ref is not None else None
        if node is None:
            if result.type is not first or x.type is not second:
                first, second, type_ = result.type, x.type, op.result_type(inputs)
            new: Any = _new(_Open)
            new.type = type_
            new.op = op
            new.inputs = inputs
            new._digest = new._facts = None
            new.__class__ = Apply
            node = _publish(table, inputs, new)
        result = node
    return result


def leaf(cls: type[Any], type_: Type, digest: int | None) -> Any:
    leaf, put = _new(cls), object.__setattr__
    put(leaf, "op", None)
    put(leaf, "inputs", ())
    put(leaf, "type", type_)
    put(leaf, "_digest", digest)
    put(leaf, "_facts", None)
    return leaf


def make_input(name: str, type_: TensorType, facts: Iterable[str] = ()) -> Input:
    """Return the input of that name, type and declared facts, which must exist and apply."""
    if not isinstance(name, str) or not name.isidentifier():
        raise DomainError(
            f"an input needs a name that is an identifier, not {name!r}",
            fix='Name it like a variable, for instance rg.tensor("x", shape=(3,)).',
        )
    declared = check_declared(name, type_, facts)
    key = (name, type_, declared)
    ref = _inputs.get(key)
    node = ref() if ref is not None else None
    if node is not None:
        return node  # type: ignore[no-any-return]
    node = leaf(Input, type_, digest_of("input", name, type_, sorted(declared)))
    object.__setattr__(node, "name", name)
    object.__setattr__(node, "facts", declared)
    return _publish(_inputs, key, node)  # type: ignore[no-any-return]


def fresh_input(name: str, type_: TensorType, facts: Iterable[str] = ()) -> Input:
    """Return an input that is no other's object, whatever their names: a bound variable.

    A derivative takes the arguments of a function for such inputs, and puts the arguments in their
    places in its result.
    """
    node = leaf(Input, type_, digest_of("input", name, type_, sorted(facts)))
    object.__setattr__(node, "name", name)
    object.__setattr__(node, "facts", frozenset(facts))
    return node  # type: ignore[no-any-return]


def constant(value: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> Constant:
    """Return the constant of an array; equal dtype, shape and bytes are one object.

    Parameters
    ----------
    value : array-like
        Copied, so later changes do not affect the graph.
    dtype : dtype-like, optional
        The dtype to convert to.

    Returns
    -------
    Constant
        A private, read-only copy.

    Raises
    ------
    DTypeError
        For a dtype that relgraph does not compute with.
    NumberRangeError
        For a number beyond the range of the dtype, or an integer beyond 64 bits.
    ArgumentError, DomainError
        For an object that is not an array, a masked array, or a value that does not convert to the
        dtype.
    """
    # The first test spares numbers the import of numpy.ma.
    if isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            "a constant cannot be a masked array: graphs have no masks",
            fix="Fill it first: array.filled(value).",
        )
    try:
        array = np.array(value, dtype=dtype, order="C")
    except OverflowError as error:
        raise NumberRangeError(
            f"{_value_text(value)} does not become a constant of dtype {np.dtype(dtype)}",
            {"numpy": error},
            "Give a wider dtype, or numbers in its range.",
        ) from None
    except (ValueError, TypeError) as error:
        if isinstance(error, RelgraphError):
            raise
        kind = DomainError if isinstance(error, ValueError) else ArgumentError
        raise kind(
            f"{value!r:.60} does not become a constant",
            {"numpy": error},
            "Pass an array, a number, or lists of equal lengths, and a dtype that they convert to.",
        ) from None
    if array.dtype == object and array.size and all(isinstance(x, int) for x in array.flat):
        raise _too_long(_value_text(value))
    native = check_dtype(array.dtype)
    if native is not array.dtype:
        array = array.astype(native)
    key = _contents(array)
    ref = _constants.get(key)
    interned = ref() if ref is not None else None
    if interned is not None:
        return interned  # type: ignore[no-any-return]
    array.flags.writeable = False
    if array.ndim:
        type_, uniform = TensorType(native, array.shape), _uniform(array)
    else:
        type_, uniform = _SCALARS[native], array[()]
    new, put = leaf(Constant, type_, None), object.__setattr__
    put(new, "value", array)
    put(new, "uniform", uniform)
    put(new, "bits", None if uniform is None else native.char.encode() + uniform.tobytes())
    return _publish(_constants, key, new)  # type: ignore[no-any-return]


def _contents(array: npt.NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    """Return a key that is equal for arrays of equal dtype, shape and bytes."""
    raw = array.tobytes()
    if len(raw) > _SMALL:
        raw = hashlib.sha256(raw).digest()
    return NAME_OF[array.dtype], array.shape, raw


def _uniform(array: npt.NDArray[Any]) -> Any:
    """Return the one value of all elements (bit for bit), or None."""
    if array.size == 0:
        return None
    flat = array.reshape(-1)
    first = flat[0]
    as_bytes = flat.view(np.uint8).reshape(array.size, array.itemsize)
    return first if bool((as_bytes == as_bytes[0]).all()) else None


def as_variable(value: Any, like: Iterable[np.dtype[Any]] = ()) -> Variable:
    """Return ``value`` as a node: itself, or a constant.

    A Python number is weak: beside operands of the dtypes ``like`` it takes the dtype that NumPy
    would give it (NEP 50), and raises NumberRangeError if it does not fit.  A Python bool raises
    ArgumentError, because it usually comes from ``x == 1``.
    """
    if isinstance(value, Variable):
        return value
    handler = getattr(type(value), "__relgraph_operand__", None)
    if handler is not None:  # a traced array
        return handler(value, list(like))  # type: ignore[no-any-return]
    if type(value) is bool:
        raise ArgumentError(f"an operand is the Python bool {value}", fix=_EQUALITY)
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        dtypes = list(like)
        if isinstance(value, float) and not dtypes:
            return constant(value)
        if not dtypes and not -(2**63) <= value < 2**64:
            raise _too_long(_value_text(value))
        dtype = np.result_type(*dtypes, value) if dtypes else _integer(value)
        try:
            with np.errstate(over="ignore"):  # beyond float32 a number is inf, without a warning
                return constant(value, dtype)
        except NumberRangeError as error:
            raise NumberRangeError(
                f"{_value_text(value)} does not fit {', '.join(d.name for d in dtypes)}",
                error.facts,
                "Cast the array first, for instance with .astype('int64')."
                if -(2**63) <= value < 2**64
                else _AS_FLOAT,
            ) from None
    if isinstance(value, np.ndarray | np.generic | list | tuple):
        try:
            array = np.asarray(value)
        except ValueError:  # of lists of unequal lengths
            return constant(value)
        if array.dtype != object:
            return constant(value if isinstance(value, np.ndarray) else array)
    raise ArgumentError(
        f"{value!r:.60} is not a graph, a number or an array: it is {kind_of(value)}",
        fix="Write it as etuple(op, ...), or take the variables of a goal from rg.lvars."
        if isvar(value)
        else "Pass Variables, Python numbers or NumPy arrays.",
    )


def as_literal(value: Any) -> Any:
    """Return a Python bool as a NumPy bool, to serve as a constant; other values unchanged."""
    return np.bool_(value) if type(value) is bool else value


_EQUALITY = (
    "'==' and '!=' on graphs ask whether two nodes are the same; use rg.equal(a, b) or "
    "rg.not_equal(a, b) to compare elements, and np.True_ or np.False_ as a constant."
)


def is_weak(value: Any) -> bool:
    """Return True for a Python number, even one whose value is not known yet.

    It takes the dtype of the other operands.
    """
    if isinstance(value, Variable | np.generic):
        return False
    return isinstance(value, bool | int | float) or hasattr(type(value), "__relgraph_weak__")


def _integer(value: float) -> str:
    """Return NumPy's dtype of a Python integer on its own, which has 64 bits at most."""
    return "int64" if value < 2**63 else "uint64"


_AS_FLOAT = "Write it as a float; integers have at most 64 bits."


def _too_long(text: str) -> NumberRangeError:
    return NumberRangeError(f"{text} does not fit an integer", {"largest": "uint64"}, _AS_FLOAT)


def _value_text(value: Any) -> str:
    """Return a value as text; Python prints no integer of thousands of digits."""
    if isinstance(value, int):
        long = value.bit_length() > 128
        return f"the number of {value.bit_length()} bits" if long else f"the number {value}"
    try:
        return f"{value!r:.60}"
    except ValueError:  # such an integer in a list
        return kind_of(value)


Outputs = Variable | Iterable[Variable]


def as_outputs(outputs: Outputs) -> tuple[Variable, ...]:
    """Return outputs as a tuple of nodes, or raise ArgumentError for other objects."""
    nodes = (outputs,) if isinstance(outputs, Variable) else listed(outputs, "outputs")
    for position, node in enumerate(nodes):
        if not isinstance(node, Variable):
            raise ArgumentError(
                f"output {position} is {kind_of(node)}, not a graph: {node!r:.60}",
                fix="List graphs side by side: a container among outputs is not opened."
                if isinstance(node, list | tuple | dict)
                else "Build graphs from rg.tensor(...) inputs; rg.constant(...) wraps an array.",
            )
    return nodes


def listed(nodes: Any, what: str) -> tuple[Any, ...]:
    """Return several nodes as a tuple, or raise ArgumentError for other objects."""
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise ArgumentError(
            f"the {what} are graphs, not {nodes!r:.60}",
            fix=graph_of(nodes) or "Pass a Variable such as rg.vector('x'), or a list of them.",
        )
    return tuple(nodes)


def graph_of(function: Any) -> str:
    """Return the advice that says where the graph of a function is, or "" for other objects."""
    graph = getattr(function, "graph", None)
    if callable(graph):
        return "Pass the graph for some arguments: f.graph(*arguments)."
    if graph is not None:
        return "Pass its graph: f.graph."
    if callable(function):
        return "Pass the graph that it builds for some arguments: rg.jit(f).graph(*arguments)."
    return ""


def toposort(outputs: Outputs) -> list[Variable]:
    """Return every node below ``outputs``, operands before their clients, each once."""
    order: list[Variable] = []
    seen: set[Variable] = set()
    stack: list[Variable | None] = list(reversed(as_outputs(outputs)))
    pending: list[Variable] = []
    while stack:
        node = stack.pop()
        if node is None:  # the operands of the last pending node are done
            order.append(pending.pop())
        elif node not in seen:
            seen.add(node)
            if node.inputs:
                pending.append(node)
                stack.append(None)
                for operand in reversed(node.inputs):
                    if operand not in seen:
                        stack.append(operand)
            else:
                order.append(node)
    return order


def flatten(outputs: Sequence[Variable]) -> tuple[Any, ...]:
    """Return a graph as a flat, picklable list of nodes in topological order."""
    order = toposort(outputs)
    place = {node: i for i, node in enumerate(order)}
    rows: list[tuple[Any, ...]] = []
    for node in order:
        if isinstance(node, Input):
            rows.append(node._row())
        elif isinstance(node, Constant):
            rows.append(("constant", node.value))
        else:
            rows.append((node.op, tuple(place[x] for x in node.inputs)))
    return rows, tuple(place[node] for node in outputs)


def unflatten(flat: tuple[Any, ...]) -> tuple[Variable, ...]:
    """Rebuild the graph that :func:`flatten` took apart; in one process, the same objects."""
    rows, outputs = flat
    nodes: list[Variable] = []
    for row in rows:
        if row[0] == "input":
            nodes.append(make_input(*row[1:]))
        elif row[0] == "constant":
            nodes.append(constant(row[1]))
        elif row[0] == "shared":
            nodes.append(row[1])
        else:
            op, inputs = row
            nodes.append(apply(op, tuple([nodes[i] for i in inputs])))
    return tuple(nodes[i] for i in outputs)


def _restore(flat: tuple[Any, ...]) -> Variable:
    (node,) = unflatten(flat)
    return node
