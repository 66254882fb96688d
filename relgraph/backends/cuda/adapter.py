"""The interface to ``numba.cuda``: the device or its simulator, its memory, and compiled kernels.

If ``NUMBA_ENABLE_CUDASIM=1`` is set before numba is imported, numba's simulator replaces the
device: kernels are then Python functions, and device memory is NumPy's.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.backends.cuda import driver
from relgraph.backends.source import define
from relgraph.errors import (
    ArgumentError,
    CompileError,
    DeviceMemoryError,
    GPUNotAvailableError,
)

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


@lru_cache(maxsize=1)
def simulated() -> bool:
    """Return True if numba's simulator replaces the device."""
    import numba

    return bool(numba.config.ENABLE_CUDASIM)


@lru_cache(maxsize=1)
def cuda() -> Any:
    """Return the module ``numba.cuda``."""
    try:
        import numba
        from numba import cuda as module
    except ImportError as error:
        raise unavailable(f"numba.cuda cannot be imported: {error}") from error
    # numba warns about every grid that does not fill the device; we choose grid sizes ourselves.
    numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    return module


def versions() -> dict[str, str]:
    """Return the version of each package that a GPU needs, or "missing"."""
    result = {}
    for package in ("numba", "numba-cuda", "nvidia-cuda-nvrtc", "nvidia-nvvm", "cupy"):
        names = [package, f"{package}-cu13", f"{package}-cu12", f"{package}-cuda13x"]
        names += [f"{package}-cuda12x"]
        for name in names:
            try:
                result[package] = importlib.metadata.version(name)
                break
            except importlib.metadata.PackageNotFoundError:
                result[package] = "missing"
    return result


def report() -> dict[str, str]:
    """Return the installed and missing packages, as facts for an error message."""
    facts = versions()
    if simulated():
        facts["device"] = "numba's simulator"
        return facts
    try:
        module = cuda()
        if module.is_available():
            driver.api()  # programs need it too
            device = module.get_current_device()
            major, minor = device.compute_capability
            facts["device"] = f"{_text(device.name)}, compute capability {major}.{minor}"
            return facts
        error = getattr(module, "cuda_error", lambda: None)()
        facts["device"] = "missing: " + (_first_line(error) if error else "no GPU was found")
    except GPUNotAvailableError as error:
        facts["device"] = f"missing: {error.what}"
    except Exception as error:  # the report repeats any error of the driver
        facts["device"] = f"missing: {_first_line(error)}"
    return facts


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _first_line(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and lines[0].endswith(":") and len(lines) > 1:  # a heading
        return f"{lines[0]} {lines[1]}"
    return lines[0] if lines else type(error).__name__


def unavailable(what: str, facts: dict[str, str] | None = None) -> GPUNotAvailableError:
    """Return the error for a machine without a usable GPU."""
    return GPUNotAvailableError(
        what,
        facts or versions(),
        "Use target='cpu', or install a driver and relgraph[cuda]; NUMBA_ENABLE_CUDASIM=1 runs "
        "kernels in a simulator.",
    )


def require() -> None:
    """Raise GPUNotAvailableError unless a device or the simulator is usable."""
    if simulated() or _usable():
        return
    facts = report()
    raise unavailable("the target 'cuda' cannot be used: no GPU is available", facts)


@lru_cache(maxsize=1)
def _usable() -> bool:
    try:
        usable = bool(cuda().is_available())
        driver.api()
        return usable
    except GPUNotAvailableError:
        return False
    except Exception:  # a broken driver counts as none; the report repeats its error
        return False


@lru_cache(maxsize=1)
def processors() -> int:
    """Return the number of multiprocessors of the device."""
    if simulated():
        return 2
    return int(cuda().get_current_device().MULTIPROCESSOR_COUNT)


def device_number() -> int:
    """Return the number of the device in use; numba makes it that of this thread."""
    return 0 if simulated() else int(cuda().get_current_device().id)


def memory_device(address: int) -> int | None:
    """Return the number of the device that an address belongs to; None if unknown."""
    return 0 if simulated() else driver.memory_device(address)


# Kernels.


def device_function(function: Callable[..., Any]) -> Any:
    """Return a function that kernels can call; numba inlines it."""
    if simulated():
        return function
    # A separate device function would be compiled for the device in use, but PTX must also be
    # compiled on machines without one.
    return cuda().jit(device=True, inline="always")(function)


def synchronising_function(function: Callable[..., Any]) -> Any:
    """Return a kernel function that uses ``cuda`` itself, such as its barriers."""
    if simulated():
        return cuda().jit(device=True)(function)
    return device_function(function)


def intrinsic() -> Any:
    """Return numba's decorator for functions written in LLVM."""
    from numba.cuda import extending

    return extending.intrinsic


def libdevice() -> Any:
    """Return libdevice, NVIDIA's library of scalar functions."""
    from numba.cuda import libdevice as library

    return library


def numba_type(text: str) -> Any:
    """Return the type of a kernel's parameter: ``float32``, or ``float32[::1]`` for an array."""
    if simulated():
        return None
    from numba import types

    name = text.removesuffix("[::1]")
    scalar = types.boolean if name == "bool" else getattr(types, name)
    return scalar[::1] if text.endswith("[::1]") else scalar


def function_of(name: str, text: str, namespace: dict[str, Any]) -> Any:
    """Return the Python function that a kernel text defines."""
    scope = {**namespace, "cuda": cuda(), "np": np}
    define(name, text, scope)
    return scope[name]


@dataclass(frozen=True)
class Source:
    """A kernel to compile: its name, text, parameter types and namespace."""

    name: str
    text: str
    types: Sequence[str]
    names: dict[str, Any]

    def function(self) -> Any:
        return function_of(self.name, self.text, self.names)

    def signature(self) -> Any:
        from numba import types

        return types.void(*map(numba_type, self.types))


class Compiled:
    """A compiled kernel.

    Parameters
    ----------
    kernel : callable
        What numba returns for it.
    types : sequence of str
        The types of its parameters.
    """

    def __init__(self, kernel: Any, types: Sequence[str]) -> None:
        self.kernel = kernel
        self.types = types
        self._loaded: dict[int, Any] = {}

    def loaded(self, device: int) -> Any:
        """Return the kernel on the device in use; pass it to :func:`launch`."""
        if simulated():
            return self.kernel
        found = self._loaded.get(device)
        if found is None:
            (overload,) = self.kernel.overloads.values()
            handle = overload.library.get_cufunc().handle
            found = self._loaded[device] = driver.Function(handle, self.types)
        return found


def compiled(source: Source) -> Compiled:
    """Compile a kernel for the device in use."""
    if simulated():
        return Compiled(cuda().jit(source.function()), source.types)
    try:
        kernel = cuda().jit(source.signature())(source.function())
    except Exception as error:
        raise _not_compiled(source, error) from error
    return Compiled(kernel, source.types)


def ptx(source: Source, cc: tuple[int, int]) -> str:
    """Compile a kernel to PTX for a compute capability; this needs no device."""
    if simulated():
        raise GPUNotAvailableError(
            "the simulator has no PTX",
            fix="Unset NUMBA_ENABLE_CUDASIM, in a new process.",
        )
    if not can_compile():
        raise unavailable(
            "PTX cannot be compiled: NVIDIA's compiler is not installed or does not work", report()
        )
    try:
        code, _ = cuda().compile_ptx(source.function(), source.signature(), cc=cc)
    except Exception as error:
        raise _not_compiled(source, error) from error
    return str(code)


def _not_compiled(source: Source, error: Exception) -> CompileError:
    return CompileError(
        f"numba cannot compile the kernel {source.name}",
        {"numba": _first_line(error), "source": source.text},
        "Use target='cpu' for this graph, and report this text.",
    )


@lru_cache(maxsize=1)
def can_compile() -> bool:
    """Return True if this machine can compile kernels to PTX, with or without a device.

    Compiling needs NVIDIA's compiler and numba-cuda: the older ``numba.cuda`` inside numba queries
    the device before it compiles a shuffle.
    """
    if simulated():
        return False
    text = "def probe(x):\n    x[0] = cuda.shfl_xor_sync(0xffffffff, x[0], 1)\n"
    source = Source("probe", text, ["float32[::1]"], {})
    try:
        cuda().compile_ptx(source.function(), source.signature(), cc=(9, 0))
    except Exception:  # each kind of incomplete toolchain raises another error
        return False
    return True


def launch(
    kernel: Any,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Sequence[Any],
    stream: Any,
) -> None:
    """Queue a loaded kernel on a stream; arrays are :class:`Memory`."""
    if not simulated():
        values: list[Any] = []
        for x in arguments:
            if type(x) is Memory:
                values += x.parameters
            else:
                values.append(x)
        driver.launch(kernel, grid, block, values, stream_handle(stream))
        return
    with warnings.catch_warnings():  # simulated threads use NumPy scalars, which warn
        warnings.simplefilter("ignore", RuntimeWarning)
        kernel[tuple(grid), tuple(block), stream](*arguments)


# Memory: blocks of bytes, and typed views of them.


class Memory:
    """Contiguous memory of a device.  In the simulator, arrays of numba take its place.

    Parameters
    ----------
    address : int
        The address of the first element.
    dtype : dtype
        The dtype of the elements.
    size : int
        The number of elements.
    owner : object
        What keeps the memory alive.
    """

    __slots__ = ("address", "dtype", "owner", "parameters", "size")

    def __init__(self, address: int, dtype: np.dtype[Any], size: int, owner: Any) -> None:
        self.address = address
        self.dtype = dtype
        self.size = size
        self.owner = owner
        self.parameters = driver.array_parameters(address, size, dtype.itemsize)

    def __getitem__(self, part: slice) -> Memory:
        first, last, step = part.indices(self.size)
        assert step == 1, "elements of a Memory follow each other"
        start = self.address + first * self.dtype.itemsize
        return Memory(start, self.dtype, max(0, last - first), self.owner)


def allocate(nbytes: int) -> Any:
    """Allocate a block of device memory; raise DeviceMemoryError if there is not enough."""
    try:
        block = cuda().device_array(nbytes, np.uint8)
        if simulated():
            return block
        address = int(block.__cuda_array_interface__["data"][0])
        return Memory(address, np.dtype(np.uint8), nbytes, block)
    except MemoryError as error:
        raise out_of_memory(nbytes) from error
    except Exception as error:
        if getattr(error, "code", None) == OUT_OF_MEMORY:
            raise out_of_memory(nbytes) from error
        raise


def out_of_memory(nbytes: int, limit: int | None = None) -> DeviceMemoryError:
    """Return the error for a failed allocation."""
    facts: dict[str, object] = {"needed": f"{nbytes:,} bytes"}
    if limit is not None:
        facts["limit"] = f"{limit:,} bytes"
    elif not simulated():
        free, total = cuda().current_context().get_memory_info()
        facts["free"] = f"{free:,} of {total:,} bytes"
    return DeviceMemoryError(
        "the device has not enough memory left",
        facts,
        "Delete results that are not needed, or call with smaller arrays.",
    )


@lru_cache(maxsize=16)
def nothing(dtype: np.dtype[Any]) -> Any:
    """Return an array without elements, for parameters that a kernel does not use."""
    return cuda().device_array(0, dtype) if simulated() else Memory(0, dtype, 0, None)


def view(block: Any, dtype: np.dtype[Any], count: int) -> Any:
    """Return the first elements of a block as an array of a dtype."""
    if simulated():
        return type(block)(block._ary[: count * dtype.itemsize].view(dtype))
    return Memory(block.address, dtype, count, block.owner)


def upload(source: np.ndarray[Any, Any], target: Any, stream: Any) -> None:
    """Copy a contiguous NumPy array to a flat array on the device."""
    if not source.size:
        return
    if simulated():
        target.copy_to_device(source.reshape(-1), stream=stream)
    else:
        driver.upload(source, target.address, stream_handle(stream))


def download(source: Any, stream: Any) -> np.ndarray[Any, Any]:
    """Copy a flat array from the device to a new NumPy array."""
    result = np.empty(source.size, source.dtype)
    if not result.size:
        return result
    if simulated():
        source.copy_to_host(result, stream=stream)
    else:
        device_number()  # makes the device that of a thread which has made no call
        driver.download(source.address, result, stream_handle(stream))
    return result


def pointer(array: Any) -> int:
    """Return the address of a flat array on the device."""
    if simulated():
        return int(array._ary.ctypes.data)
    return int(array.address)


def adopt(address: int, dtype: np.dtype[Any], count: int, owner: Any) -> Any:
    """Return a flat array over device memory that another library owns."""
    if simulated():
        import ctypes

        raw = (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(address)
        block = cuda().device_array(0, np.uint8)
        array = np.asarray(raw).view(dtype)
        result = type(block)(array)
        result.owner = owner
        return result
    return Memory(address, dtype, count, owner)


# Streams.


class _SimulatedStream:
    """A stream of the simulator, which runs all work immediately; only its handle matters."""

    def __init__(self, handle: int) -> None:
        self.handle = handle


_LAST = itertools.count(2)  # handles of simulated streams; the driver gives 1 and 2 a meaning


@lru_cache(maxsize=1)
def default_stream() -> Any:
    """Return the stream of programs that select no stream."""
    return _SimulatedStream(0) if simulated() else cuda().default_stream()


def new_stream() -> Any:
    return _SimulatedStream(next(_LAST) + 1) if simulated() else cuda().stream()


def stream_of(stream: Any) -> Any:
    """Convert a stream to a numba stream.

    It may be a stream of numba, CuPy, torch or any library with ``__cuda_stream__``, or a handle.
    """
    if isinstance(stream, _SimulatedStream) or hasattr(stream, "auto_synchronize"):
        return stream
    handle = stream_handle(stream)
    if handle in (0, 1):  # both are the default stream
        return default_stream()
    if simulated():
        return _SimulatedStream(handle)
    external = cuda().external_stream(handle)
    external.owner = stream  # keeps it alive, since numba does not
    return external


def stream_handle(stream: Any) -> int:
    """Return the driver's handle of a stream; 0 for the default stream."""
    if isinstance(stream, int):
        return int(stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("handle", "ptr", "cuda_stream"):  # numba or the simulator, CuPy, torch
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    raise ArgumentError(
        f"{type(stream).__name__} is no stream",
        fix="Give a stream of numba, CuPy or torch, or the handle of one as an int.",
    )


def synchronise(stream: Any) -> None:
    """Block until all work on a stream is done."""
    if not simulated():
        driver.synchronise(stream_handle(stream))


def wait(stream: Any, other: Any) -> None:
    """Make all later work on a stream wait for the work now queued on another one."""
    if simulated():
        return
    event = cuda().event(timing=False)
    event.record(other)
    event.wait(stream)


def copy(source: Any, target: Any, stream: Any) -> None:
    """Copy one flat array on the device to another of the same size."""
    if simulated():
        target.copy_to_device(source, stream=stream)
    else:
        nbytes = source.size * source.dtype.itemsize
        driver.copy(source.address, target.address, nbytes, stream_handle(stream))
