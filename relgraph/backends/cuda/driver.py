"""Calls to NVIDIA's driver, through ``cuda.bindings``, a dependency of numba-cuda.

numba compiles kernels and loads them.  A launch or a copy through numba takes hundreds of
microseconds, so programs call the driver; numba cannot record launches.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.errors import CompileError, DeviceError, RelgraphError

LIMIT = 32764  # bytes of a kernel's parameters; before compute capability 7.0, 4,096
FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B",
    "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f", "float64": "d",
}  # fmt: skip
ARRAY = "QQqqQqq"  # how numba passes an array of one dimension; see ``array_parameters``


@lru_cache(maxsize=1)
def api() -> Any:
    """Return the module ``cuda.bindings.driver``."""
    from cuda.bindings import driver

    return driver


LOST = "After an error inside a kernel, restart the process: its device memory is lost."


def checked(
    result: tuple[Any, ...], work: str, kind: type[RelgraphError] = DeviceError, fix: str = LOST
) -> Any:
    """Return the value of a call to the driver; raise an error if it failed."""
    error, *values = result
    if int(error) != 0:
        facts = {"error": getattr(error, "name", error)}
        raise kind(f"the CUDA driver refused to {work}", facts, fix)
    return values[0] if values else None


class Function:
    """A kernel on a device, as :func:`launch` takes it.

    Parameters
    ----------
    handle : object
        The handle of the loaded kernel.
    types : sequence of str
        The types of its parameters: ``float32``, or ``float32[::1]`` for an array.
    """

    def __init__(self, handle: Any, types: Sequence[str]) -> None:
        self.handle = api().CUfunction(int(getattr(handle, "value", handle)))
        self.layout = struct.Struct(
            "".join(ARRAY if t.endswith("]") else FORMATS[t] for t in types)
        )
        if self.layout.size > LIMIT:
            raise CompileError(
                "a kernel has more parameters than a GPU allows",
                {"bytes": f"{self.layout.size:,}", "limit": f"{LIMIT:,}"},
                "Compile the graph in parts, or with target='cpu'.",
            )


def array_parameters(address: int, count: int, itemsize: int) -> tuple[int, ...]:
    """Return the parameters that stand for an array.

    They are two pointers that kernels do not use, the number of elements, the bytes of one, the
    address, the shape and the strides.
    """
    return (0, 0, count, itemsize, address, count, itemsize)


class _Parameters(threading.local):
    """Memory of a thread for the parameters of a launch, which the driver copies."""

    def __init__(self) -> None:
        self.data = ctypes.create_string_buffer(LIMIT)
        self.size = ctypes.c_size_t()
        data, size = ctypes.addressof(self.data), ctypes.addressof(self.size)
        self.extra = (ctypes.c_void_p * 5)(1, data, 2, size, 0)  # pointer and size, and the end
        self.address = ctypes.addressof(self.extra)


_parameters = _Parameters()


def launch(
    function: Function,
    grid: Sequence[int],
    block: Sequence[int],
    values: Sequence[Any],
    stream: int,
) -> None:
    """Queue a kernel on a stream.  Grid and block have one or two dimensions."""
    memory, layout = _parameters, function.layout
    layout.pack_into(memory.data, 0, *values)
    memory.size.value = layout.size
    columns = grid[1] if len(grid) > 1 else 1
    height = block[1] if len(block) > 1 else 1
    result = api().cuLaunchKernel(
        function.handle, grid[0], columns, 1, block[0], height, 1, 0, stream, 0, memory.address
    )
    if result[0] != 0:
        checked(result, "launch a kernel")


def upload(source: np.ndarray[Any, Any], target: int, stream: int) -> None:
    """Copy a contiguous NumPy array to an address on the device; it may change afterwards."""
    call, address = api().cuMemcpyHtoDAsync, source.ctypes.data
    checked(call(target, address, source.nbytes, stream), "copy to the device")
    attribute = api().CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    if api().cuPointerGetAttribute(attribute, address)[0] == 0:  # pinned, and read directly
        synchronise(stream)


def synchronise(stream: int) -> None:
    """Wait for all work on a stream."""
    checked(api().cuStreamSynchronize(stream), "finish the work on a stream")


def download(source: int, target: np.ndarray[Any, Any], stream: int) -> None:
    """Copy memory of the device to a contiguous NumPy array, which is complete on return."""
    call = api().cuMemcpyDtoHAsync
    checked(call(target.ctypes.data, source, target.nbytes, stream), "copy to the CPU")
    synchronise(stream)


def copy(source: int, target: int, nbytes: int, stream: int) -> None:
    """Copy memory of the device."""
    checked(api().cuMemcpyDtoDAsync(target, source, nbytes, stream), "copy on the device")


def memory_device(address: int) -> int | None:
    """Return the number of the device that an address belongs to; None if unknown."""
    attribute = api().CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    error, number = api().cuPointerGetAttribute(attribute, address)
    return int(number) if int(error) == 0 else None
