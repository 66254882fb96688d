"""The rules of the loop language, checked independently of the code that writes it.

Tests check every function that is written, because a printer relies on the rules: a variable is
bound once, before it is read; the operands of an op have its dtypes; an element has an index for
each axis of its buffer; and iterations of a loop that is ``apart`` do not touch what another one
writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from relgraph.errors import RelgraphError, VerifyError, count_of
from relgraph.ir.types import DTYPES, TensorType
from relgraph.lowering.loops.linalg.numpy_lapack import ROUTINES
from relgraph.lowering.loops.nodes import (
    LEVELS,
    PRIMITIVES,
    START,
    STOP,
    Address,
    Alias,
    Allocate,
    Atomic,
    Barrier,
    Body,
    Buffer,
    Call,
    Carry,
    Const,
    Function,
    If,
    Join,
    Launch,
    Leave,
    Let,
    Load,
    Loop,
    Node,
    Op,
    Prefix,
    Scalar,
    Statement,
    Store,
    Stream,
    Var,
    While,
    const,
    walk,
)
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.elementwise.instances import logical_and, logical_or, maximum, minimum

FOLDS = ("sum", "min", "max", "and", "or", add, multiply, maximum, minimum, logical_and, logical_or)
"""The ops whose totals a loop may carry although its iterations are apart."""

_FIX = "Write functions with relgraph.lowering.loops.builder, whose loops end the names they bind."
_INDICES = ("add", "sub", "mul", "div", "rem", "min", "max", "less")
_TRUTHS = ("and", "or", "not")


def verify(function: Function) -> None:
    """Check the rules of :mod:`.nodes`.

    Parameters
    ----------
    function : Function
        The function.

    Raises
    ------
    VerifyError
        Naming the first statement that breaks a rule.
    """
    _Verifier(function).function()


class _Verifier:
    def __init__(self, function: Function) -> None:
        self.f = function
        self.bound: set[Var] = set()
        self.buffers: dict[str, Buffer] = {}
        self.values: dict[Var, Scalar] = {}

    def function(self) -> None:
        visible: set[Var] = {START, STOP}
        for variable in self.f.integers:
            self.bind(variable, "int64", visible, self.f)
        for buffer in self.f.arrays:
            if buffer.space != "argument" or buffer.name in self.buffers:
                raise self.error("an array is no argument, or has the name of another one", buffer)
            self.buffers[buffer.name] = buffer
        self.body(self.f.body, visible)

    def error(self, problem: str, where: Node) -> VerifyError:
        return VerifyError(problem, {"function": self.f.name, "where": _brief(where)}, _FIX)

    def bind(self, variable: Var, dtype: str, visible: set[Var], where: Node) -> None:
        if variable in self.bound:
            raise self.error(f"the variable {variable.name} is bound twice", where)
        if variable.dtype != dtype:
            raise self.error(f"{variable.name} : {variable.dtype} is bound to a {dtype}", where)
        self.bound.add(variable)
        visible.add(variable)

    # Statements.

    def body(self, body: Body, visible: set[Var]) -> None:
        """Check statements, and add what they bind to what is visible."""
        for statement in body:
            self.statement(statement, visible)

    def statement(self, s: Statement, visible: set[Var]) -> None:
        if isinstance(s, Let | Join):
            self.let(s, visible)
        elif isinstance(s, Store):
            self.element(s.buffer, s.index, visible, s)
            self.typed(s.value, s.buffer.dtype, visible, s)
        elif isinstance(s, Stream):
            self.element(s.buffer, s.index, visible, s)
            self.element(s.source, (const(0, "int64"),), visible, s)
            self.typed(s.count, "int64", visible, s)
            if s.source.space != "stack" or s.source.dtype != s.buffer.dtype or s.buffer.strides:
                raise self.error("a copy past the cache is not of the stack, or not a copy", s)
        elif isinstance(s, Loop):
            self.loop(s, visible)
        elif isinstance(s, While):
            self.starts(s.carried, visible, s)
            head = set(visible)
            self.body(s.head, head)
            self.typed(s.test, "bool", head, s)
            inside = set(visible)
            self.body(s.body, inside)
            self.ends(s.carried, inside, s)
        elif isinstance(s, If):
            self.typed(s.test, "bool", visible, s)
            then, other = set(visible), set(visible)
            self.body(s.then, then)
            self.body(s.other, other)
            for r in s.results:
                self.typed(r.then, r.var.dtype, then, s)
                self.typed(r.other, r.var.dtype, other, s)
                self.bind(r.var, r.var.dtype, visible, s)
        elif isinstance(s, Call):
            self.call(s, visible)
        elif isinstance(s, Prefix | Atomic | Barrier):
            self.together(s, visible)
        elif isinstance(s, Leave):
            self.typed(s.test, "bool", visible, s)
        elif isinstance(s, Alias):
            self.element(s.address.buffer, s.address.index, visible, s)
            self.bind_buffer(s.buffer, visible, s)
        elif isinstance(s, Allocate):
            for x in s.sizes:
                self.typed(x, "int64", visible, s)
            self.bind_buffer(s.buffer, visible, s)
        elif isinstance(s, Launch):
            for x in s.integers:
                self.typed(x, "int64", visible, s)
            for address in s.arrays:
                self.element(address.buffer, address.index, visible, s)
        else:
            raise self.error("a statement is of no kind of the language", s)

    def let(self, s: Let | Join, visible: set[Var]) -> None:
        """Check a statement that binds a variable to a value."""
        self.scalar(s.value, visible, s)
        self.bind(s.var, s.value.dtype, visible, s)
        if isinstance(s, Let):
            self.values[s.var] = s.value
        elif s.op not in FOLDS:
            raise self.error("threads join values that no op of totals combines", s)

    def together(self, s: Prefix | Atomic | Barrier, visible: set[Var]) -> None:
        """Check what threads do together."""
        if isinstance(s, Atomic):
            self.element(s.buffer, s.index, visible, s)
            self.typed(s.value, s.buffer.dtype, visible, s)
        elif isinstance(s, Prefix):
            for x in (s.value, s.start):
                self.typed(x, s.before.dtype, visible, s)
            for variable in (s.before, s.after):
                self.bind(variable, s.value.dtype, visible, s)
            if s.op not in FOLDS:
                raise self.error("threads join values that no op of totals combines", s)

    def bind_buffer(self, buffer: Buffer, visible: set[Var], where: Node) -> None:
        """Check a buffer that a statement binds."""
        if buffer.space != "bound" or buffer.name in self.buffers or buffer.strides:
            raise self.error(f"the buffer {buffer.name} is bound twice, or has strides", where)
        for size in buffer.shape:
            self.typed(size, "int64", visible, where)
        self.buffers[buffer.name] = buffer

    def call(self, s: Call, visible: set[Var]) -> None:
        """Check that a routine exists, and that it gets memory of its dtype."""
        dtype = {"s": "float32", "d": "float64"}.get(s.routine[:1])
        if dtype is None or s.routine[1:] not in ROUTINES:
            raise self.error(f"there is no routine {s.routine}", s)
        buffers = []
        for x in s.arguments:
            if isinstance(x, Address):
                self.element(x.buffer, x.index, visible, s)
                buffers.append(x.buffer)
            else:
                self.scalar(x, visible, s)
            kind = x.buffer.dtype if isinstance(x, Address) else x.dtype
            if kind not in (dtype, "int32", "uint8"):
                raise self.error(f"a routine of {dtype} gets a {kind}", s)
        if not set(s.writes) <= set(buffers):
            raise self.error("a routine writes to a buffer that it does not get", s)

    def loop(self, s: Loop, visible: set[Var]) -> None:
        self.typed(s.low, "int64", visible, s)
        self.typed(s.high, "int64", visible, s)
        constant = s.low is const(0, "int64") and isinstance(s.high, Const)
        if s.level not in LEVELS or (s.level == "lanes" and not constant):
            raise self.error(f"no thread runs a loop of level {s.level!r}", s)
        self.starts(s.carried, visible, s)
        inside = set(visible)
        self.bind(s.index, "int64", inside, s)
        self.body(s.body, inside)
        self.ends(s.carried, inside, s)
        if s.apart:
            self.totals(s)
            self.apart(s)

    def starts(self, carried: Sequence[Carry], visible: set[Var], where: Node) -> None:
        """Check the first values, and bind the variables."""
        for c in carried:
            self.typed(c.start, c.var.dtype, visible, where)
        for c in carried:
            self.bind(c.var, c.var.dtype, visible, where)

    def ends(self, carried: Sequence[Carry], inside: set[Var], where: Node) -> None:
        for c in carried:
            self.typed(c.next, c.var.dtype, inside, where)

    def totals(self, s: Loop) -> None:
        """Check that what a loop with iterations apart carries are totals."""
        for c in s.carried:
            op = self.values.get(c.next, c.next) if isinstance(c.next, Var) else c.next
            if not isinstance(op, Op) or op.op not in FOLDS or op.args.count(c.var) != 1:
                raise self.error(f"an apart loop carries {c.var.name}, which is no total", s)
            if _reads(s, c.var) != 1:
                raise self.error(f"an apart loop reads the total {c.var.name}", s)

    def apart(self, s: Loop) -> None:
        """Check that no two iterations touch one element that either of them writes."""
        accesses = Accesses(s, self.values)
        if accesses.calls:
            raise self.error("iterations that are apart call a routine", s)
        for buffer in accesses.shared():
            raise self.error(f"iterations that are apart may touch one element of {buffer.name}", s)

    # Scalars.

    def typed(self, x: Scalar, dtype: str, visible: set[Var], where: Node) -> None:
        """Check a scalar, and that it is of a dtype."""
        self.scalar(x, visible, where)
        if x.dtype != dtype:
            raise self.error(f"{_brief(x)} : {x.dtype} stands where a {dtype} is read", where)

    def scalar(self, x: Scalar, visible: set[Var], where: Node) -> None:
        if isinstance(x, Var):
            if x not in visible:
                raise self.error(f"the variable {x.name} is read where it has no value", where)
        elif isinstance(x, Load):
            self.element(x.buffer, x.index, visible, where)
        elif isinstance(x, Op):
            for y in x.args:
                self.scalar(y, visible, where)
            problem = _op_problem(x)
            if problem:
                raise self.error(problem, where)
        elif not isinstance(x, Const):
            raise self.error("a scalar is of no kind of the language", where)
        if x.dtype not in DTYPES:
            raise self.error(f"the language has no dtype {x.dtype}", where)

    def element(self, buffer: Buffer, at: Sequence[Scalar], visible: set[Var], where: Node) -> None:
        """Check an index of a buffer."""
        stack = buffer.space in ("stack", "shared")
        same = self.buffers.setdefault(buffer.name, buffer) if stack else buffer
        if same is not buffer or self.buffers.get(buffer.name) is not buffer:
            raise self.error(f"the buffer {buffer.name} is another one, or nowhere", where)
        for size in (*buffer.shape, *buffer.strides):
            self.typed(size, "int64", visible, where)
            if stack and not isinstance(size, Const):
                raise self.error(f"{buffer.name} is on the stack, and its size varies", where)
        if len(at) != len(buffer.shape):
            raise self.error(
                f"an element of {buffer.name} has {count_of(len(at), 'index')}, "
                f"and the buffer {count_of(len(buffer.shape), 'axis')}", where
            )  # fmt: skip
        for i, size in zip(at, buffer.shape, strict=True):
            self.typed(i, "int64", visible, where)
            constant = isinstance(i, Const) and isinstance(size, Const)
            if stack and constant and not 0 <= i.value < size.value:  # type: ignore[attr-defined]
                raise self.error(f"{buffer.name} has no element {_brief(i)}", where)


def _op_problem(x: Op) -> str:
    dtypes = [y.dtype for y in x.args]
    if not isinstance(x.op, str):
        try:
            kind: Any = x.op.infer(*[TensorType(d) for d in dtypes])
        except RelgraphError as error:
            return f"an op rejects its operands: {error.what}"
        same = kind.dtype == x.dtype
        return "" if same else f"{x.op.name} is of {kind.dtype}, and not of {x.dtype}"
    if x.op not in PRIMITIVES:
        return f"the language has no op {x.op!r}"
    truth = x.dtype == "bool"
    if x.op == "select":
        good = dtypes == ["bool", x.dtype, x.dtype]
    elif x.op == "equal":
        good = len(dtypes) == 2 and len(set(dtypes)) == 1 and truth
    elif x.op in _TRUTHS:
        good = dtypes == ["bool"] * (1 if x.op == "not" else 2) and truth
    elif x.op in _INDICES:
        good = dtypes == ["int64"] * 2 and x.dtype == ("bool" if x.op == "less" else "int64")
    else:
        good = dtypes == [x.dtype] * 2 and x.dtype[0] == "f"
    return "" if good else f"{x.op!r} of {', '.join(dtypes)} is not a {x.dtype}"


# Loops whose iterations are apart.

Affine = tuple[int, frozenset[tuple[Scalar | None, int]]]
"""How often an index has the loop's, and the rest: scalars and factors; None is for a number."""


class Accesses:
    """What the iterations of a loop read and write.

    Parameters
    ----------
    loop : Loop
        The loop.
    values : mapping of Var to Scalar
        The values of the variables of the function.
    """

    def __init__(self, loop: Loop, values: Mapping[Var, Scalar]) -> None:
        self.loop = loop
        self.values = values
        self.inside = set(_bound_in(loop.body)) | {c.var for c in loop.carried}
        self.accesses: dict[Buffer, list[tuple[tuple[Scalar, ...], Store | None]]] = {}
        self.calls = any([isinstance(x, Call) for x in walk(loop.body)])
        for x in walk(loop.body):
            if isinstance(x, Load):
                self.accesses.setdefault(x.buffer, []).append((x.index, None))
            elif isinstance(x, Store):
                self.accesses.setdefault(x.buffer, []).append((x.index, x))

    def shared(self) -> list[Buffer]:
        """Return the buffers of which two iterations may touch an element that one of them writes.

        For all others, one axis has the same index in all accesses, another one in each iteration.
        """
        found = []
        for buffer, accesses in self.accesses.items():
            stores = [store for _, store in accesses if store is not None]
            if not stores or self._is_flag(accesses, stores):
                continue
            indices = [[self._affine(x) for x in index] for index, _ in accesses]
            if not any(
                [
                    first is not None and first[0] and all([i[axis] == first for i in indices])
                    for axis, first in enumerate(indices[0])
                ]
            ):
                found.append(buffer)
        return found

    def _is_flag(self, accesses: Sequence[Any], stores: Sequence[Store]) -> bool:
        """Return True if all accesses write one constant to one place."""
        same = len({(s.value, s.index) for s in stores}) == 1
        return len(stores) == len(accesses) and same and isinstance(stores[0].value, Const)

    def _affine(self, x: Scalar) -> Affine | None:
        """Return an index as a multiple of the loop's and a rest that stays the same, or None."""
        if x is self.loop.index:
            return 1, frozenset()
        if isinstance(x, Const):
            return 0, _terms([(None, x.value)])
        if isinstance(x, Var) and x in self.values:
            x = self.values[x]
            if isinstance(x, Load):
                return None
        if isinstance(x, Op) and x.op in ("add", "sub", "mul"):
            a, b = [self._affine(y) for y in x.args]
            if a is None or b is None:
                return None
            if x.op != "mul":
                sign = 1 if x.op == "add" else -1
                return a[0] + sign * b[0], _terms([*a[1], *[(t, sign * n) for t, n in b[1]]])
            for one, other in ((a, b), (b, a)):
                number = _number(one)
                if number is not None:
                    return number * other[0], _terms([(t, number * n) for t, n in other[1]])
        return (0, _terms([(x, 1)])) if self._stays(x) else None

    def _stays(self, x: Scalar) -> bool:
        """Return True if a scalar has one value in all iterations."""
        if isinstance(x, Var):
            if x is self.loop.index:
                return False
            if x in self.inside:
                return x in self.values and self._stays(self.values[x])
            return True
        return isinstance(x, Const) or (isinstance(x, Op) and all(map(self._stays, x.args)))


def _terms(terms: Iterable[tuple[Scalar | None, int]]) -> frozenset[tuple[Scalar | None, int]]:
    totals: dict[Scalar | None, int] = {}
    for term, factor in terms:
        totals[term] = totals.get(term, 0) + factor
    return frozenset([(term, n) for term, n in totals.items() if n])


def _number(x: Affine) -> int | None:
    factor, rest = x
    if factor or any([term is not None for term, _ in rest]):
        return None
    return sum([n for _, n in rest])


def _bound_in(body: Body) -> Iterator[Var]:
    for s in walk(body):
        if isinstance(s, Let | Join):
            yield s.var
        elif isinstance(s, Loop):
            yield s.index
            yield from [c.var for c in s.carried]
        elif isinstance(s, While):
            yield from [c.var for c in s.carried]
        elif isinstance(s, If):
            yield from [r.var for r in s.results]
        elif isinstance(s, Prefix):
            yield from (s.before, s.after)


def _reads(loop: Loop, variable: Var) -> int:
    """Return how often a loop reads a variable that it carries."""
    inside = sum([x is variable for x in walk(loop.body)])
    return inside + sum([x is variable for c in loop.carried for x in walk(c.next)])


def _brief(x: Node) -> str:
    """Return the beginning of the text of a node."""
    if isinstance(x, Var):
        return x.name
    text = repr(x)
    return text if len(text) < 200 else f"{text[:200]}..."


__all__ = ["FOLDS", "Accesses", "verify"]
