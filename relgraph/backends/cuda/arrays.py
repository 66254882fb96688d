"""Arrays on the device: the memory pool, our own arrays, and those of other libraries."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.errors import ArgumentError, DeviceMemoryError
from relgraph.ir import forks

CUDA_DEVICES = (2, 13)  # DLPack's numbers for memory of a CUDA device, and for managed memory
_STEP = 512  # bytes; the device aligns its own allocations to them


class Pool:
    """A memory pool: it keeps freed device memory for later arrays of the same size.

    Parameters
    ----------
    limit : int, optional
        The largest number of bytes that arrays may hold together.

    Attributes
    ----------
    held : int
        Bytes that arrays hold now.
    kept : int
        Freed bytes that the pool keeps for later arrays.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.held = 0
        self.kept = 0
        # Also keyed by stream: one may still use a block when another allocates.
        self._free: dict[tuple[int, int], list[Any]] = {}
        self._lock = forks.lock()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Any) -> DeviceArray:
        """Return a new array, whose memory returns to the pool when it is freed.

        The work that computes it runs on ``stream``.  If there is not enough memory, the pool frees
        what it keeps and tries again, before it raises DeviceMemoryError.
        """
        count = math.prod(shape)
        size = _rounded(count * dtype.itemsize)
        key = (adapter.stream_handle(stream), size)
        with self._lock:
            if self.limit is not None and self.held + size > self.limit:
                self.release()
                raise adapter.out_of_memory(size, self.limit)
            spare = self._free.get(key)
            if spare:
                handle = spare.pop()
                self.kept -= size
            else:
                handle = self._allocated(size)
            self.held += size
        block = _Block()
        # Unlike a method ``__del__``, this keeps the memory out of what a collection frees.
        weakref.finalize(block, self._back, handle, key).atexit = False
        return DeviceArray(adapter.view(handle, dtype, count), shape, dtype, block, stream)

    def release(self) -> None:
        """Free the memory that the pool keeps for later arrays."""
        with self._lock:
            self._free.clear()
            self.kept = 0

    def _allocated(self, size: int) -> Any:
        try:
            return adapter.allocate(size)
        except DeviceMemoryError:
            self.release()
            return adapter.allocate(size)

    def _back(self, handle: Any, key: tuple[int, int]) -> None:
        size = key[1]
        with self._lock:
            self.held -= size
            self.kept += size
            self._free.setdefault(key, []).append(handle)


class _Block:
    """The use of a block of pool memory; the block returns to the pool after it."""

    __slots__ = ("__weakref__",)


def _rounded(nbytes: int) -> int:
    """Round up by at most an eighth, so that arrays of similar sizes can reuse memory."""
    step = max(_STEP, 1 << max(0, nbytes.bit_length() - 4))
    return max(step, -(-nbytes // step) * step)


class DeviceArray:
    """A contiguous array on the device.

    Other libraries read it through ``__cuda_array_interface__``: ``cupy.asarray(x)``,
    ``torch.as_tensor(x, device="cuda")``.  :func:`relgraph.cuda.to_host` copies it to NumPy.

    Attributes
    ----------
    shape : tuple of int
        Its sizes.
    dtype : dtype
        The dtype of its elements.
    stream : object
        The stream whose work computes it.
    """

    __slots__ = ("_flat", "_owner", "dtype", "shape", "stream")

    def __init__(
        self, flat: Any, shape: tuple[int, ...], dtype: np.dtype[Any], owner: Any, stream: Any
    ) -> None:
        self._flat = flat
        self._owner = owner
        self.shape = shape
        self.dtype = dtype
        self.stream = stream

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return self.size * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "strides": None,
            "typestr": self.dtype.str,
            "data": (adapter.pointer(self._flat), False),
            "version": 3,
            "stream": adapter.stream_handle(self.stream) or 1,  # 1 is the default stream
        }

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise ArgumentError(
            "an array on the device is not converted to NumPy by itself",
            {"array": repr(self)},
            "Copy it with rg.cuda.to_host(array).",
        )

    def __repr__(self) -> str:
        return f"<device array {self.dtype}{list(self.shape)}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a device array without dimensions has no length")
        return self.shape[0]

    def to_host(self, stream: Any = None) -> np.ndarray[Any, Any]:
        """Copy the array to a new NumPy array, after the work on a stream; by default, its own."""
        stream = self.stream if stream is None else stream
        return adapter.download(self._flat, stream).reshape(self.shape)

    def part(self, shape: tuple[int, ...], first: int = 0) -> DeviceArray:
        """Return consecutive elements as an array of another shape, in the same memory."""
        count = math.prod(shape)
        whole = first == 0 and count == self.size
        flat = self._flat if whole else self._flat[first : first + count]
        return DeviceArray(flat, shape, self.dtype, self._owner, self.stream)


def flat_of(array: DeviceArray) -> Any:
    """Return the flat array that kernels take as their argument."""
    return array._flat


def overlap(a: DeviceArray, b: DeviceArray) -> bool:
    """Return True if two arrays share memory."""
    start, other = adapter.pointer(a._flat), adapter.pointer(b._flat)
    return bool(a.nbytes and b.nbytes) and start < other + b.nbytes and other < start + a.nbytes


def owner_of(array: DeviceArray) -> Any:
    """Return the object that keeps the memory of an array alive."""
    return array._owner


@dataclass(frozen=True)
class Foreign:
    """An array of another library on the device, which may have strides.

    Attributes
    ----------
    strides
        The strides in elements; None if the array is contiguous.
    address
        The address of its first element.
    owner
        The object that keeps its memory alive.
    stream
        The stream on which its elements are computed.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    address: int
    owner: Any
    stream: int | None = None


def _gaps(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the strides, or None if they are those of a contiguous array."""
    if strides is None or 0 in shape or strides == _contiguous_strides(shape):
        return None
    return strides


def _contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def is_device_array(value: Any) -> bool:
    """Return True if a value is an array on a device, of any library."""
    if isinstance(value, np.ndarray | np.generic | int | float | list | tuple):
        return False
    if isinstance(value, DeviceArray):
        return True
    # DLPack first: torch and JAX arrays on the CPU have both protocols.
    device = getattr(value, "__dlpack_device__", None)
    if device is not None:
        return int(device()[0]) in CUDA_DEVICES
    return hasattr(value, "__cuda_array_interface__")


def foreign(value: Any) -> Foreign:
    """Read an array of another library through ``__cuda_array_interface__`` or DLPack.

    It raises ArgumentError if the memory belongs to another device than the one in use.
    """
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return _from_dlpack(value)
    dtype = np.dtype(interface["typestr"])
    shape = tuple(map(int, interface["shape"]))
    strides = interface.get("strides")
    if strides is not None:
        if any(step % dtype.itemsize for step in strides):
            raise ArgumentError(
                "the elements of a device array do not lie whole elements apart",
                {"strides": strides, "dtype": dtype},
                "Copy it to a contiguous array first.",
            )
        strides = tuple(int(step) // dtype.itemsize for step in strides)
    address = int(interface["data"][0] or 0)
    stream = interface.get("stream")
    array = Foreign(shape, _gaps(shape, strides), dtype, address, value, stream)
    _check_device(array)
    return array


def _check_device(array: Foreign) -> None:
    number = adapter.memory_device(array.address) if array.address else None
    here = adapter.device_number()
    if number is not None and number != here:
        raise ArgumentError(
            f"an array is on device {number}, and the function runs on device {here}",
            {"array": f"{array.dtype}{list(array.shape)}"},
            "Copy it to the device of the function, or select its device before the call.",
        )


def _from_dlpack(value: Any) -> Foreign:
    from cuda.core.utils import StridedMemoryView

    memory = StridedMemoryView.from_dlpack(value, stream_ptr=1)  # ready on the default stream
    shape = tuple(map(int, memory.shape))
    strides = None if memory.strides is None else tuple(map(int, memory.strides))
    dtype = np.dtype(memory.dtype)
    array = Foreign(shape, _gaps(shape, strides), dtype, int(memory.ptr), (value, memory))
    _check_device(array)
    return array
