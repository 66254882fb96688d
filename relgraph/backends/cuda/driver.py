"""Calls to NVIDIA's driver: recorded launches, and the device that an address belongs to.

numba has neither; ``cuda.bindings``, a dependency of numba-cuda, has both.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relgraph.backends.cuda import adapter
from relgraph.errors import CaptureError


def _driver() -> Any:
    from cuda.bindings import driver

    return driver


def memory_device(address: int) -> int | None:
    """Return the number of the device that an address belongs to; None if unknown."""
    if adapter.simulated():
        return 0
    try:
        driver = _driver()
    except ImportError:
        return None
    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    error, number = driver.cuPointerGetAttribute(attribute, address)
    return int(number) if int(error) == 0 else None


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
        driver = _driver()
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        _checked(driver.cuStreamBeginCapture(self._handle(), mode))

    def _dropped(self) -> None:
        if adapter.simulated():
            return
        driver = _driver()
        error, graph = driver.cuStreamEndCapture(self._handle())
        if int(error) == 0:
            driver.cuGraphDestroy(graph)

    def _end(self) -> None:
        if adapter.simulated():
            return
        driver = _driver()
        graph = _checked(driver.cuStreamEndCapture(self._handle()))
        weakref.finalize(self, driver.cuGraphDestroy, graph).atexit = False
        executable = _checked(driver.cuGraphInstantiate(graph, 0))
        weakref.finalize(self, driver.cuGraphExecDestroy, executable).atexit = False
        handle = self._handle()
        self._parts.append(lambda: _checked(driver.cuGraphLaunch(executable, handle)))

    def _handle(self) -> Any:
        return _driver().CUstream(adapter.stream_handle(self._stream))


def _checked(result: tuple[Any, ...]) -> Any:
    error, *values = result
    if int(error) != 0:
        raise CaptureError(
            f"the CUDA driver refused to record a graph: {error}",
            fix="Call the function without recording it.",
        )
    return values[0] if values else None
