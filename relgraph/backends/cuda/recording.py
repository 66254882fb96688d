"""Recorded calls: the launches of a call as CUDA graphs, which replay for arrays of its shapes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from relgraph.backends.cuda import adapter, driver
from relgraph.backends.cuda.arrays import DeviceArray, Pool
from relgraph.errors import CaptureError

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import CudaProgram, Run


class Recorded:
    """The launches of one call as a CUDA graph, for other arrays of the same shapes.

    cuBLAS calls through CuPy cannot be recorded; they run between two graphs.

    Parameters
    ----------
    program : CudaProgram
        The program to call.
    arrays : sequence of array
        The arguments of a first call, which compiles the kernels.
    """

    def __init__(self, program: CudaProgram, arrays: Sequence[Any]) -> None:
        program(arrays)
        self._program = program
        self._stream = adapter.new_stream()
        self._pool = Pool()  # its memory keeps the addresses that the recorded launches use
        warm = program.start(arrays, self._stream, self._pool)
        self._fixed(warm)
        program.run(warm)
        program.results(warm)
        del warm
        self._run = program.start(arrays, self._stream, self._pool)
        self._inputs = self._fixed(self._run)
        adapter.synchronise(self._stream)
        self._recording = self._run.recording = Recording(self._stream)
        with self._recording.of_launches():
            program.run(self._run)
            self._results = program.results(self._run)
        self._run.recording = None

    def _fixed(self, run: Run) -> list[DeviceArray]:
        """Copy the inputs of a call to memory whose addresses the recording can keep."""
        inputs = self._program.inputs
        for x in inputs:
            array = run.on_device(x)
            fixed = run.empty(array.shape, array.dtype)
            run.copy(array, fixed)
            run.put(x, fixed)
        return [run.device[x] for x in inputs]

    def replay(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the recorded call on other arrays; raise CaptureError if their shapes differ."""
        run = self._program.start(arrays, self._stream, self._pool)
        for x, fixed in zip(self._program.inputs, self._inputs, strict=True):
            array = run.on_device(x)
            if array.shape != fixed.shape:
                raise CaptureError(
                    f"the input {x.name!r} had another shape when the call was recorded",
                    {"recorded": fixed.shape, "given": array.shape},
                    "Record a call for these shapes too.",
                )
            run.copy(array, fixed)
        run.done()
        self._recording.replay()
        adapter.synchronise(self._stream)
        return self._results


class Recording:
    """Work recorded on a stream: CUDA graphs, and CPU calls between them.

    The driver cannot record on the default stream.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._parts: list[Callable[[], None]] = []

    @contextmanager
    def of_launches(self) -> Iterator[None]:
        """Record the launches of a block instead of running them."""
        self._begin()
        try:
            yield
        except BaseException:
            self._dropped()  # the stream works again
            raise
        self._end()

    def note(self, work: Callable[[], None]) -> None:
        """Keep work for the simulator to replay; on a device, the driver records it by itself."""
        if adapter.simulated():
            self._parts.append(work)

    def between(self, work: Callable[[], None]) -> None:
        """Record work that no CUDA graph can hold; it runs between two graphs."""
        self._end()
        self._parts.append(work)
        self._begin()

    def replay(self) -> None:
        for part in self._parts:
            part()

    def _begin(self) -> None:
        if adapter.simulated():
            return
        # Relaxed: memory that the garbage collector frees meanwhile is not part of the graph.
        api = driver.api()
        mode = api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        _checked(api.cuStreamBeginCapture(self._handle(), mode))

    def _dropped(self) -> None:
        if adapter.simulated():
            return
        api = driver.api()
        error, graph = api.cuStreamEndCapture(self._handle())
        if int(error) == 0:
            api.cuGraphDestroy(graph)

    def _end(self) -> None:
        if adapter.simulated():
            return
        api = driver.api()
        graph = _checked(api.cuStreamEndCapture(self._handle()))
        weakref.finalize(self, api.cuGraphDestroy, graph).atexit = False
        executable = _checked(api.cuGraphInstantiate(graph, 0))
        weakref.finalize(self, api.cuGraphExecDestroy, executable).atexit = False
        handle = self._handle()
        self._parts.append(
            lambda: _checked(api.cuGraphLaunch(executable, handle), "launch a recorded graph")
        )

    def _handle(self) -> Any:
        return driver.api().CUstream(adapter.stream_handle(self._stream))


def _checked(result: tuple[Any, ...], work: str = "record a graph") -> Any:
    return driver.checked(result, work, CaptureError, "Call the function without recording it.")
