"""Programs for the device: buffers, and steps that launch kernels in order."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from relgraph.backends.base import OpCall, Program
from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import (
    DeviceArray,
    Foreign,
    Pool,
    flat_of,
    foreign,
    is_device_array,
    overlap,
    owner_of,
)
from relgraph.backends.cuda.calls import device_call
from relgraph.backends.cuda.expansion import expanded
from relgraph.backends.cuda.launches import Launcher, step_launcher
from relgraph.backends.cuda.loop_calls import LoopCall
from relgraph.backends.cuda.movement import contiguous
from relgraph.backends.cuda.places import targets, write
from relgraph.backends.cuda.recording import Recorded, Recording
from relgraph.backends.cuda.streams import current_stream
from relgraph.backends.cuda.templates import literals, supported, weight
from relgraph.backends.report import Report, Scheduled, library_calls, loops, scheduled
from relgraph.errors import CaptureError, ShapeError
from relgraph.ir import forks
from relgraph.ir.graph import FunctionGraph, is_tensor
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.printing import pprint
from relgraph.ir.records import replace
from relgraph.lowering.buffers import last_reads
from relgraph.lowering.kernels import Call, Step, schedule, without_assumptions
from relgraph.lowering.regions import Fusion
from relgraph.lowering.rows import join_rows
from relgraph.lowering.sizes import Check, Sizes, Term
from relgraph.ops.reductions import accumulates


def reduces(node: Variable) -> bool:
    """Return True if a reduction can accumulate in a kernel."""
    return accumulates(node.op)


FUSION = Fusion(maps=supported, reduces=reduces, weight=weight, literals=literals)
ROW_WEIGHT = 80  # the limit of kernels of several passes, whose threads have few elements each


@dataclass
class Run:
    """One call of a program: the values that it has computed so far.

    Attributes
    ----------
    pool
        The pool that allocates memory.
    stream
        The stream of all launches.
    deterministic
        Whether all additions have a fixed order.
    checks
        Checks to run when all work is done; each raises if an operand was wrong.
    recording
        The recording, while a call is recorded.
    places
        The ``out`` arrays of outputs that are computed in them.
    device, host
        Values on the device, and values in NumPy; a value that both sides need is in both.  The
        value of an op with several results is a tuple of arrays.
    shapes
        The shape of each tensor that has been computed.
    """

    pool: Pool
    stream: Any
    deterministic: bool = True
    checks: list[Callable[[], None]] = field(default_factory=list)
    recording: Recording | None = None
    places: dict[Variable, DeviceArray] = field(default_factory=dict)
    device: dict[Variable, Any] = field(default_factory=dict)
    host: dict[Variable, Any] = field(default_factory=dict)
    shapes: dict[Variable, tuple[int, ...]] = field(default_factory=dict)
    _followed: dict[int, Any] = field(default_factory=dict)
    _device: int = field(default_factory=adapter.device_number)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        return self.pool.empty(shape, dtype, self.stream)

    def result(self, x: Variable, shape: tuple[int, ...]) -> DeviceArray:
        """Register the array of a computed value: its ``out`` array, or a new one."""
        array = self.places.get(x)
        if array is None or array.shape != shape:
            array = self.empty(shape, x.type.dtype)
        self.put(x, array)
        return array

    def follow(self, stream: Any) -> None:
        """Make all later work wait for the work that another stream has queued so far."""
        number = adapter.stream_handle(stream)
        if self.recording is None and number not in (
            *self._followed,
            adapter.stream_handle(self.stream),
        ):
            adapter.wait(self.stream, stream)
            self._followed[number] = stream

    def done(self) -> None:
        """Make streams whose arrays were read wait for the reads, before they reuse memory."""
        for stream in self._followed.values():
            adapter.wait(stream, self.stream)

    def on_device(self, x: Variable) -> DeviceArray:
        """Return a value on the device, and copy it there if needed."""
        array: DeviceArray | None = self.device.get(x)
        if array is None:
            array = self.device[x] = self.moved(self.host[x])
        return array

    def moved(self, array: np.ndarray[Any, Any]) -> DeviceArray:
        """Copy an array to the device."""
        result = self.empty(array.shape, array.dtype)
        adapter.upload(np.asarray(array, order="C"), flat_of(result), self.stream)
        return result

    def on_host(self, x: Variable) -> Any:
        """Return a value in NumPy, and copy it from the device if needed."""
        value = self.host.get(x)
        if value is None:
            self.refuse_recording(x)
            device_value = self.device[x]
            if isinstance(device_value, tuple):
                value = tuple(part.to_host(self.stream) for part in device_value)
            else:
                value = device_value.to_host(self.stream)
            self.host[x] = value
        return value

    def refuse_recording(self, x: Variable) -> None:
        """Raise CaptureError if a call is being recorded, because the CPU needs a value."""
        if self.recording is not None:
            raise CaptureError(
                "a call cannot be recorded in which the CPU needs a value from the GPU",
                {"value": brief(x, 24)},
                "Call the function without recording it.",
            )

    def put(self, x: Variable, value: DeviceArray) -> None:
        """Register a value that was computed on the device."""
        self.device[x] = value
        self.shapes[x] = value.shape

    def launch(
        self, kernel: Any, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any]
    ) -> None:
        loaded = kernel.loaded(self._device)
        self.do(partial(adapter.launch, loaded, grid, block, arguments, self.stream))

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        if source.size:
            self.do(partial(adapter.copy, flat_of(source), flat_of(target), self.stream))

    def do(self, work: Callable[[], None]) -> None:
        """Queue work on the stream, and record it if a call is being recorded."""
        work()
        if self.recording is not None:
            self.recording.note(work)

    def call_library(self, work: Callable[[], None]) -> None:
        """Queue work of a library, which a CUDA graph cannot hold."""
        if self.recording is None:
            work()
        else:
            self.recording.between(work)


class CudaProgram(Program):
    """A graph as kernels for the device, and the steps that launch them."""

    def __init__(
        self, graph: FunctionGraph, fusion: Fusion, pool: Pool, deterministic: bool = True
    ) -> None:
        graph = expanded(without_assumptions(graph))
        self.pool = pool
        self.deterministic = deterministic
        self._graph = graph
        rows = replace(fusion, limit=min(fusion.limit, ROW_WEIGHT))
        self.steps = join_rows(graph, schedule(graph, fusion), rows)
        self._sizes = Sizes(graph, self.steps)
        last = last_reads(graph, self.steps)
        read = {x for step in self.steps for x in step.reads}.union(graph.outputs)
        self._dies: list[list[Variable]] = [[] for _ in self.steps]
        for x, i in last.items():
            self._dies[i].append(x)
        self._launchers: dict[int, Launcher] = {}
        self._calls: dict[int, Callable[[Run], Any] | None] = {}
        elsewhere: dict[str, None] = {}
        for i, step in enumerate(self.steps):
            if isinstance(step, Call):
                self._calls[i] = device_call(step.node)
                if self._calls[i] is None and step.node.op is not None:
                    elsewhere[step.node.op.name] = None
            else:
                self._launchers[i] = step_launcher(step, self._sizes, read)
        if elsewhere:
            warnings.warn(
                "these ops have no kernel for the GPU and run on the CPU, where their operands "
                f"are copied: {', '.join(elsewhere)}",
                RuntimeWarning,
                stacklevel=2,
            )
        self._constants: dict[Variable, DeviceArray] = {}
        self._lock = forks.lock()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of the graph."""
        return self._graph.inputs

    @property
    def source(self) -> str:
        """The text of the graph and of its kernels."""
        head = "".join(f"# {line}\n" for line in pprint(self._graph.outputs).splitlines())
        texts: dict[str, None] = {}
        for i, step in enumerate(self.steps):
            if isinstance(step, Call):
                call = self._calls[i]
                where = "the GPU" if call is not None else "the CPU"
                head += f"# {brief(step.node, 24)} is called on {where}\n"
                if isinstance(call, LoopCall):
                    texts.update({x.text.module()[1]: None for x in call.kernels})
            else:
                texts.update(dict.fromkeys(self._launchers[i].texts()))
        return "\n\n".join([head, *texts])

    def scheduled(self) -> tuple[FunctionGraph, tuple[Scheduled, ...]]:
        """Return the graph that the kernels compute, and the kernels and calls."""
        return self._graph, scheduled(self.steps, {}, {}, {})

    def report(self) -> Report:
        """Return what the program runs, on the device and on the CPU."""
        names = tuple(text.module()[0] for text in self.kernels())
        return Report(names, loops(self.steps), library_calls(self.steps))

    def kernels(self) -> list[Any]:
        """Return the distinct kernels of all steps, as texts for any device."""
        kernels: dict[str, Any] = {}
        texts = [text for x in self._launchers.values() for text in x.all_texts()]
        calls = [call for call in self._calls.values() if isinstance(call, LoopCall)]
        texts += [x.text for call in calls for x in call.kernels]
        for text in texts:
            kernels.setdefault(text.module()[0], text)
        return list(kernels.values())

    def convert(self, wanted: Input, value: Any) -> Any:
        """Check an argument on the device against its input; return None for any other argument."""
        if not is_device_array(value) or wanted.type.layout != "dense":
            return None
        array: Any = value if isinstance(value, DeviceArray) else foreign(value)
        if array.dtype != wanted.dtype or len(array.shape) != wanted.ndim:
            from relgraph.errors import DTypeError

            error = DTypeError if array.dtype != wanted.dtype else ShapeError
            raise error(
                f"the input {wanted.name!r} is {wanted.type}, and the array on the device is not",
                {"given": f"{array.dtype}{list(array.shape)}"},
                "Convert it on the device, or declare the input as it is.",
            )
        return array

    def holds(self, place: Any) -> bool:
        """Return True if an ``out`` array is on a device."""
        return is_device_array(place)

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the program on one array for each input; results stay on the device."""
        run = self.start(arrays)
        self.run(run)
        for check in run.checks:
            check()
        results = self.results(run)
        run.done()
        return results

    def into(self, arrays: Sequence[Any], places: Sequence[Any]) -> None:
        """Compute into ``out`` arrays, of NumPy or on the device.

        Kernels write directly to contiguous device arrays that share no memory with an argument.
        Results for other arrays are copied.
        """
        run = self.start(arrays)
        outs = targets(run, self._graph.outputs, places)
        arguments = [run.device[x] for x in self._graph.inputs if x in run.device]
        for x, out in zip(self._graph.outputs, outs, strict=True):
            if isinstance(out, DeviceArray) and not any(overlap(out, y) for y in arguments):
                run.places[x] = out
        self.run(run)
        for check in run.checks:
            check()
        for x, out in zip(self._graph.outputs, outs, strict=True):
            write(run, x, out)
        run.done()

    def record(self, arrays: Sequence[Any]) -> Recorded:
        """Record a call; see :class:`Recorded`."""
        return Recorded(self, arrays)

    def start(self, arrays: Sequence[Any], stream: Any = None, pool: Pool | None = None) -> Run:
        """Start a call, with its inputs on the device."""
        stream = current_stream() if stream is None else stream
        run = Run(self.pool if pool is None else pool, stream, self.deterministic)
        for x, array in zip(self._graph.inputs, arrays, strict=True):
            if isinstance(array, DeviceArray):
                run.follow(array.stream)
                run.put(x, array)
            elif isinstance(array, Foreign):
                run.put(x, self._adopted(run, array))
            else:
                run.host[x] = array
                run.shapes[x] = array.shape
        return run

    def _adopted(self, run: Run, array: Foreign) -> DeviceArray:
        """Convert an array of another library to a DeviceArray, without a copy if possible."""
        run.follow(adapter.stream_of(array.stream or 0))
        if array.address % array.dtype.itemsize:
            raise ShapeError(
                "an array on the device does not start at a whole element",
                {"given": f"{array.dtype}{list(array.shape)} at {array.address:#x}"},
                "Copy it first.",
            )
        if array.strides is not None:
            return contiguous(run, array)
        count = math.prod(array.shape)
        if not count:
            return run.empty(array.shape, array.dtype)
        flat = adapter.adopt(array.address, array.dtype, count, array.owner)
        return DeviceArray(flat, array.shape, array.dtype, array.owner, run.stream)

    def run(self, run: Run) -> None:
        self._constant_values(run)
        for i, step in enumerate(self.steps):
            for check in self._sizes.checks.get(step, ()):
                self._check(run, check)
            if isinstance(step, Call):
                self._call(i, step, run)
            else:
                self._launchers[i].run(run, lambda term: self.size(run, term))
            for x in self._dies[i]:
                run.device.pop(x, None)
                run.host.pop(x, None)

    def size(self, run: Run, term: Term) -> int:
        """Return the size that a term stands for in a call."""
        if isinstance(term, int):
            return term
        x, axis = self._sizes.source[term]
        return run.shapes[x][axis]

    def _check(self, run: Run, check: Check) -> None:
        left, right = (self.size(run, term) for term in check.terms)
        if left != right:
            raise check.error(left, right)

    def _constant_values(self, run: Run) -> None:
        for node in self._graph.toposort():
            if isinstance(node, Constant):
                run.host[node] = node.value
                run.shapes[node] = np.shape(node.value)
        with self._lock:
            if not self._constants:
                for i, step in enumerate(self.steps):
                    for x in self._read_by_kernels(i, step):
                        if isinstance(x, Constant):
                            self._constants.setdefault(x, run.on_device(x))
            for array in self._constants.values():
                run.follow(array.stream)
            run.device.update(self._constants)

    def _read_by_kernels(self, i: int, step: Step) -> Collection[Variable]:
        """Return what the kernels of a step read on the device."""
        if not isinstance(step, Call):
            return step.reads
        call = self._calls[i]
        return [step.node.inputs[k] for k in call.operands] if isinstance(call, LoopCall) else ()

    def _call(self, i: int, step: Call, run: Run) -> None:
        node = step.node
        call = self._calls[i]
        value = call(run) if call is not None else None
        if value is None and node in run.host:
            run.shapes[node] = np.shape(run.host[node])
        elif value is None:
            operands = [run.on_host(x) for x in node.inputs]
            with np.errstate(all="ignore"):
                value = OpCall(node)(*operands)
            run.host[node] = value
            if is_tensor(node):
                run.shapes[node] = np.shape(value)
        elif isinstance(value, tuple):
            run.device[node] = value
        else:
            run.put(node, value)
        if is_tensor(node) and node in self._sizes.verified:
            expected = tuple(self.size(run, term) for term in self._sizes.shape[node])
            if run.shapes[node] != expected:
                raise ShapeError(
                    f"{node.op!r} computed the shape {run.shapes[node]}, and {expected} is needed",
                    {"in": brief(node, 24), "type": node.type},
                    "Sizes of one name must be equal within a call.",
                )

    def results(self, run: Run) -> list[Any]:
        """Return the outputs, each in memory that it shares with no other array."""
        owners = {
            id(owner_of(run.device[x]))
            for x in (*self._graph.inputs, *self._constants)
            if x in run.device
        }
        results: list[Any] = []
        for x in self._graph.outputs:
            value = run.on_device(x) if x.type.layout == "dense" else run.host[x]
            if isinstance(value, DeviceArray):
                if id(owner_of(value)) in owners:
                    copy = run.empty(value.shape, value.dtype)
                    run.copy(value, copy)
                    value = copy
                owners.add(id(owner_of(value)))
            results.append(value)
        return results
