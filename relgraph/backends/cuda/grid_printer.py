"""Functions whose loops have levels as the text of a kernel that the threads of a grid run.

Loops of level "lanes" and "held" are written out.  Each variable of theirs gets a name for each
iteration, a buffer on the stack one for each element, and lanes that follow each other in memory
are read or written as one vector.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.loop_printer import BARRIER, Printer, combined, name_of
from relgraph.backends.cuda.primitives import load, store
from relgraph.lowering.loops.nodes import (
    Atomic,
    Barrier,
    Body,
    Buffer,
    Carry,
    Const,
    Function,
    Join,
    Let,
    Load,
    Loop,
    Op,
    Prefix,
    Scalar,
    Statement,
    Store,
    Var,
    buffers_of,
)


def printed_on_grid(
    function: Function,
    threads: int,
    held: int = 0,
    indices: str = "uint32",
    constants: Collection[Buffer] = (),
) -> Text:
    """Return a function as a kernel.

    Parameters
    ----------
    function : Function
        The function.
    threads : int
        The threads of a group, or of a block if there are no groups.
    held : int
        The most iterations of a loop of level "held" that a thread runs.
    indices : {"uint32", "uint64", "int64"}
        The dtype of indices: the last one where they may be negative.
    constants : collection of Buffer
        The arrays whose elements are parameters of the kernel.
    """
    text = Text()
    text.parameters = [(x.name, indices) for x in function.integers]
    for b in function.arrays:
        if b in constants:
            (count,) = b.shape
            assert isinstance(count, Const)
            text.parameters += [(f"{b.name}_{k}", b.dtype) for k in range(count.value)]
        else:
            text.parameters.append((name_of(b), f"{b.dtype}[::1]"))
    shared = [b for b in buffers_of(function.body) if b.space == "shared"]
    for b in sorted(shared, key=name_of):
        sizes = ", ".join([str(n.value) for n in b.shape if isinstance(n, Const)])
        dtype = "int8" if b.dtype == "bool" else b.dtype
        text.line(f"{name_of(b)} = cuda.shared.array(({sizes}), {dtype})")
    _GridPrinter(text, threads, held, indices, constants).body(function.body)
    return text


class _GridPrinter(Printer):
    def __init__(
        self, text: Text, threads: int, held: int, indices: str, constants: Collection[Buffer]
    ) -> None:
        super().__init__(text)
        self.index = {"uint32": "uindex", "uint64": "windex"}.get(indices, indices)
        self.threads = threads
        self.held = held
        self.constants = constants
        self.suffix = ""  # of the names of variables, in an iteration that is written out
        self.lane: int | None = None
        self.inside = ""  # the test that an iteration of a held loop is one of the loop
        self.alone = False  # whether the first thread of a group makes the stores

    def bind(self, x: Var) -> str:
        self.names[x] = x.name + self.suffix
        return self.names[x]

    # Statements.

    def body(self, body: Body) -> None:
        stores: list[Store] = []
        for s in body:
            if self.alone and isinstance(s, Store) and s.buffer.space == "argument":
                stores.append(s)
                continue
            self._stored(stores)
            self.statement(s)
        self._stored(stores)

    def _stored(self, stores: list[Store]) -> None:
        if not stores:
            return
        self.text.open("if cuda.threadIdx.x == 0:")
        for s in stores:
            super().statement(s)
        self.text.close()
        stores.clear()

    def statement(self, s: Statement) -> None:
        if isinstance(s, Join):
            value = self.joined(s.op, s.var.dtype, self.scalar(s.value), self.threads)
            self.text.line(f"{self.bind(s.var)} = {value}")
        elif isinstance(s, Store) and s.buffer.space == "stack":
            value = self.scalar(s.value)
            self.text.line(f"{self.element(s.buffer, s.index)} = {value}")
        elif isinstance(s, Store):
            with self._guarded():
                super().statement(s)
        elif isinstance(s, Barrier):
            self.text.line(BARRIER)
        elif isinstance(s, Prefix):
            self._prefix(s)
        elif isinstance(s, Atomic):
            at, value = self.scalar(s.index[0]), self.scalar(s.value)
            self.text.line(f"cuda.atomic.add({name_of(s.buffer)}, {at}, {value})")
        else:
            super().statement(s)

    def _prefix(self, s: Prefix) -> None:
        """Write an exchange that takes log2(threads) steps (Hillis and Steele 1986)."""
        dtype, line = s.value.dtype, self.text.line
        array, thread = f"PREFIX_{dtype}", "thread"
        self.text.lines.insert(0, f"    {array} = cuda.shared.array({self.threads}, {dtype})")
        value, start = self.scalar(s.value), self.scalar(s.start)
        line(f"{thread} = int64(cuda.threadIdx.x)")
        line(f"{array}[{thread}] = {value}")
        line(BARRIER)
        step = 1
        while step < self.threads:
            line(f"other = {array}[cuda.selp({thread} >= {step}, {thread} - {step}, {thread})]")
            line(f"own = {array}[{thread}]")
            line(BARRIER)
            self.text.open(f"if {thread} >= {step}:")
            line(f"{array}[{thread}] = {combined(s.op, dtype, 'other', 'own')}")
            self.text.close()
            line(BARRIER)
            step *= 2
        before = self.bind(s.before)
        line(f"{before} = {start}")
        self.text.open(f"if {thread} > 0:")
        line(f"own = {array}[{thread} - 1]")
        line(f"{before} = {combined(s.op, dtype, start, 'own')}")
        self.text.close()
        line(f"own = {array}[{self.threads - 1}]")
        line(f"{self.bind(s.after)} = {combined(s.op, dtype, start, 'own')}")
        line(BARRIER)

    def element(self, buffer: Buffer, at: Sequence[Scalar]) -> str:
        if buffer.space == "stack":
            if len(at) == 1 and isinstance(at[0], Const):
                return f"{buffer.name}_{at[0].text}"
            return f"{buffer.name}{self.suffix}"
        if buffer.space == "shared":
            return f"{name_of(buffer)}[{', '.join(map(self.number, at))}]"
        if buffer in self.constants:
            (i,) = at
            assert isinstance(i, Const)
            return f"{buffer.name}_{i.text}"
        (i,) = at
        place = self.number(i)
        # An unsigned index is not looked at for being negative.
        return f"{name_of(buffer)}[{f'windex({place})' if self.index == 'int64' else place}]"

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Write stores that only iterations of the loop make."""
        if self.inside:
            self.text.open(f"if {self.inside}:")
        yield
        if self.inside:
            self.text.close()

    # Loops.

    def loop(self, s: Loop) -> None:
        block, thread = "cuda.blockIdx.x", "cuda.threadIdx.x"
        low = self.number(s.low)
        alone = self.alone
        if s.level == "grid":
            first = f"{block} * {self.threads} + {thread}"
            first = first if low == "0" else f"{low} + {first}"
            self.iterate(s, first, f"cuda.gridDim.x * {self.threads}")
        elif s.level == "rows":
            self.alone = True
            first = f"{block} * cuda.blockDim.y + cuda.threadIdx.y"
            self.iterate(s, first, "cuda.gridDim.x * cuda.blockDim.y")
        elif s.level in ("group", "held", "steps"):
            self.alone = False
            if s.level == "group":
                self.iterate(s, thread if low == "0" else f"{low} + {thread}", f"{self.threads}")
            elif s.level == "held":
                self._held(s)
            else:
                self._steps(s, low)
        elif s.level == "blocks":
            self.iterate(s, block, "cuda.gridDim.x")
        elif s.level in ("x", "y"):
            self.iterate(s, f"cuda.threadIdx.{s.level}", f"cuda.blockDim.{s.level}")
        elif s.level == "lanes":
            self._lanes(s)
        else:
            self.iterate(s, low, f"{s.step}")
        self.alone = alone

    def _steps(self, s: Loop, low: str) -> None:
        """Write as many iterations for all threads."""
        high = self.scalar(s.high)
        self.start(s.carried)
        index = self.bind(s.index)
        self.text.line(f"{index}_0 = {self.index}({low})")
        self.text.open(f"while {index}_0 < {high}:")
        self.text.line(f"{index} = {self.index}({index}_0 + cuda.threadIdx.x)")
        self.body(s.body)
        self.step(s.carried)
        self.text.line(f"{index}_0 = {self.index}({index}_0 + {self.threads})")
        self.text.close()

    def _held(self, s: Loop) -> None:
        """Write out the iterations that a thread may run; what others compute is not used."""
        line, high = self.text.line, self.scalar(s.high)
        self._carry(s.carried, [c.start for c in s.carried])
        for k in range(self.held):
            outer, self.suffix = self.suffix, f"{self.suffix}_{k}"
            number, self.inside = f"{s.index.name}q{self.suffix}", f"inside{self.suffix}"
            step = f" + {k * self.threads}" if k else ""
            line(f"{number} = {self.index}(cuda.threadIdx.x{step})")
            line(f"{self.inside} = {number} < {high}")
            line(f"{self.bind(s.index)} = {self.index}(cuda.selp({self.inside}, {number}, "
                 f"{self.index}(0)))")  # fmt: skip
            before = [self.name(c.var) for c in s.carried]
            self.body(s.body)
            for c, value in zip(s.carried, before, strict=True):
                new = f"{c.var.name}{self.suffix}"
                line(f"{new} = cuda.selp({self.inside}, {self.scalar(c.next)}, {value})")
                self.names[c.var] = new
            self.suffix, self.inside = outer, ""

    def _lanes(self, s: Loop) -> None:
        """Write out a loop, all of whose iterations a thread runs."""
        assert isinstance(s.high, Const)
        lanes = s.high.value
        bases = self._bases(s) if lanes > 1 else {}
        loaded = [x for x in s.body if isinstance(x, Let) and _at(x.value) in bases]
        self._load_vectors(loaded, bases, lanes)
        stored: dict[Store, list[str]] = {}
        self._carry(s.carried, [c.start for c in s.carried])
        outer = self.suffix
        for lane in range(lanes):
            self.suffix = f"{outer}_{lane}"
            self.names[s.index] = f"{lane}"
            for x in s.body:
                if isinstance(x, Let) and x.var in bases:
                    self.names[x.var] = f"{self.index}({bases[x.var]} + {lane})"
                elif x in loaded:
                    assert isinstance(x, Let)
                    self.bind(x.var)
                elif isinstance(x, Store) and x.buffer.space == "argument" and x.index[0] in bases:
                    stored.setdefault(x, []).append(self.scalar(x.value))
                else:
                    self.body((x,))
            self._carry(s.carried, [c.next for c in s.carried])
        self.suffix = outer
        for x, values in stored.items():
            name = f"store_{x.buffer.dtype}_{lanes}"
            self.text.names[name] = store(x.buffer.dtype, lanes)
            at = f"{self.index}({bases[x.index[0]]})"
            with self._guarded():
                self.text.line(f"{name}({name_of(x.buffer)}, {at}, ({', '.join(values)}))")

    def _carry(self, carried: Sequence[Carry], values: Sequence[Scalar]) -> None:
        """Let variables that a loop carries stand for values."""
        names = [self.scalar(x) for x in values]
        for c, name in zip(carried, names, strict=True):
            self.names[c.var] = name

    def _bases(self, s: Loop) -> dict[Scalar, str]:
        """Return the indices that are a lane's number and something else, each with the latter."""
        bases: dict[Scalar, str] = {s.index: "0"}
        for x in s.body:
            if not isinstance(x, Let) or not isinstance(x.value, Op) or x.value.op != "add":
                continue
            rest = [y for y in x.value.args if y is not s.index]
            if len(rest) == 1:
                bases[x.var] = self.number(rest[0])
        return bases

    def _load_vectors(self, loads: Sequence[Let], bases: dict[Scalar, str], lanes: int) -> None:
        for x in loads:
            assert isinstance(x.value, Load)
            buffer = x.value.buffer
            name = f"load_{buffer.dtype}_{lanes}"
            self.text.names[name] = load(buffer.dtype, lanes)
            values = [f"{x.var.name}{self.suffix}_{lane}" for lane in range(lanes)]
            at = f"{self.index}({bases[x.value.index[0]]})"
            self.text.line(f"{', '.join(values)} = {name}({name_of(buffer)}, {at})")


def _at(value: Scalar) -> Scalar | None:
    """Return the index at which a value is loaded from an array."""
    if isinstance(value, Load) and value.buffer.space != "stack":
        return value.index[0]
    return None


__all__ = ["printed_on_grid"]
