"""Arrays on the device, the pool, recorded calls, and what goes wrong, in the simulator."""

import ctypes
import gc
from functools import partial

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.cuda import adapter, arrays, launches
from relgraph.backends.cuda.arrays import DeviceArray, Pool
from relgraph.backends.cuda.compiler import CudaBackend
from relgraph.backends.cuda.movement import copy_text
from relgraph.errors import (
    ArgumentError,
    CaptureError,
    DeviceMemoryError,
    DTypeError,
    GPUNotAvailableError,
    ShapeError,
)

function = partial(rg.function, mode=None, target="cuda")


class Foreign:
    """An array of another library: memory of the device behind ``__cuda_array_interface__``.

    In the simulator that is NumPy's own; on a device it is a copy that lies alike.
    """

    def __init__(self, array, stream=None, keep_strides=True):
        self.array = array
        address = array.ctypes.data
        self.block = None
        if not adapter.simulated() and array.size:
            low, high = np.lib.array_utils.byte_bounds(array)
            shift = low % 256
            self.bytes = np.frombuffer((ctypes.c_uint8 * (high - low)).from_address(low), np.uint8)
            self.block = adapter.allocate(shift + high - low)[shift:]
            adapter.upload(self.bytes, self.block, adapter.default_stream())
            address += adapter.pointer(self.block) - low
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": array.strides if keep_strides else None,
            "typestr": array.dtype.str,
            "data": (address, False),
            "version": 3,
            "stream": stream,
        }

    def read_back(self):
        """Return the array with what the device has written."""
        if self.block is not None:
            self.bytes[:] = adapter.download(self.block, adapter.default_stream())
        return self.array


def test_results_stay_on_the_device_and_are_arguments():
    x, y = rg.matrix("x"), rg.matrix("y")
    f, g = function([x], [x + 1, rg.sum(x)]), function([y], y * y)
    a = np.arange(6.0).reshape(2, 3)
    first, total = f(a)
    assert isinstance(first, DeviceArray)
    assert (first.shape, first.dtype, first.ndim, first.nbytes) == ((2, 3), np.float64, 2, 48)
    second = g(first)
    np.testing.assert_array_equal(rg.cuda.to_host(second), (a + 1) ** 2)
    np.testing.assert_array_equal(rg.cuda.to_host(first), a + 1)  # an argument is not changed
    assert rg.cuda.to_host(total) == a.sum()
    assert isinstance(rg.cuda.to_host(total), np.float64)
    assert rg.cuda.to_host({"a": [first], "b": 3})["b"] == 3
    with pytest.raises(ArgumentError, match=r"rg\.cuda\.to_host"):
        np.asarray(first)


def test_arrays_of_other_libraries():
    x = rg.matrix("x")
    f = function([x], x * 2)
    a = np.random.default_rng(0).normal(size=(4, 6))
    given = [a, a.T, a[::2, 1:], a[::-1], np.asfortranarray(a), np.broadcast_to(a[0], (3, 6))]
    for array in given:  # contiguous, transposed, strided, backwards
        np.testing.assert_array_equal(f(Foreign(array)).to_host(), array * 2)
    np.testing.assert_array_equal(f(Foreign(a, stream=1, keep_strides=False)).to_host(), a * 2)
    np.testing.assert_array_equal(f(Foreign(a[:0])).to_host(), np.ones((0, 6)))
    identity = function([x], x)
    result = identity(Foreign(a))
    a[0, 0] = 99
    assert result.to_host()[0, 0] != 99  # memory of its own


def test_misaligned_views_are_read_without_vectors():
    x = rg.vector("x", dtype="float32")
    f = function([x], [x * 2, rg.sum(x), rg.sum(rg.exp(x), axis=0)])
    whole = np.arange(21, dtype=np.float32)
    for start in range(4):
        a = whole[start : start + 16]
        double, total, exps = rg.cuda.to_host(f(Foreign(a)))
        np.testing.assert_array_equal(double, a * 2)
        assert total == a.sum()
        np.testing.assert_allclose(exps, np.exp(a.astype(float)).sum(), rtol=1e-6)
    raw = np.zeros(65, np.uint8)[1:].view(np.float32) if raw_is_odd() else None
    if raw is not None:
        with pytest.raises(ShapeError, match="does not start at a whole element"):
            f(Foreign(raw))


def raw_is_odd():
    """Return True if NumPy's memory is aligned to four bytes, so that one byte on is odd."""
    return np.zeros(65, np.uint8).ctypes.data % 4 == 0


def test_wrong_device_arrays_are_named():
    x = rg.matrix("x")
    f = function([x], x * 2)
    with pytest.raises(DTypeError, match="the input 'x' is float64"):
        f(Foreign(np.ones((2, 2), np.float32)))
    with pytest.raises(ShapeError, match="the input 'x'"):
        f(Foreign(np.ones(3)))
    n = rg.matrix("n", shape=("n", "n"))
    with pytest.raises(ShapeError, match="the size 'n'"):
        function([n], n + 1)(Foreign(np.ones((2, 3))))


def test_arrays_of_two_devices(monkeypatch):
    x = rg.vector("x")
    f = function([x], x * 2)
    monkeypatch.setattr(adapter, "memory_device", lambda address: 1)
    with pytest.raises(ArgumentError, match="on device 1, and the function runs on device 0"):
        f(Foreign(np.ones(3)))


def test_nan_and_zero_sizes():
    x = rg.matrix("x")
    f = function([x], [rg.exp(x), rg.sum(x, axis=1), rg.max(x, axis=0), x.T, x @ x.T])
    a = np.full((3, 5), np.nan)
    for result in rg.cuda.to_host(f(a)):
        assert np.isnan(result).all()
    a = np.ones((2, 0))
    expected = [np.exp(a), a.sum(1), np.ones(0), a.T, np.zeros((2, 2))]
    for result, value in zip(rg.cuda.to_host(f(a)), expected, strict=True):
        np.testing.assert_array_equal(result, value, strict=True)


def test_memory_comes_back_and_is_used_again():
    pool = Pool()
    x = rg.vector("x")
    y = x
    for k in range(6):
        y = rg.sum(y) * y + k
    f = function([x], y, target=CudaBackend(pool=pool))
    a = np.linspace(0, 1, 500)
    result = f(a)
    del result
    gc.collect()
    assert pool.held == 0
    kept = pool.kept
    assert 0 < kept < 12 * 4608  # values that die hand their memory on
    f(a)
    gc.collect()
    assert pool.kept == kept
    pool.release()
    assert pool.kept == 0


def test_out_of_memory_is_clear_and_the_next_call_works():
    pool = Pool(limit=40_000)
    x = rg.vector("x")
    f = function([x], rg.exp(x) + 1, target=CudaBackend(pool=pool))
    f(np.ones(1000))
    with pytest.raises(DeviceMemoryError, match="not enough memory") as caught:
        f(np.ones(10_000))
    assert isinstance(caught.value, MemoryError)
    assert "40,000 bytes" in str(caught.value)
    del caught
    gc.collect()
    assert pool.held == 0
    np.testing.assert_array_equal(f(np.zeros(9)).to_host(), np.full(9, 2.0))


def test_the_pool_gives_back_what_it_keeps_before_it_gives_up(monkeypatch):
    pool = Pool()
    x = rg.vector("x")
    f = function([x], x + 1, target=CudaBackend(pool=pool))
    f(np.ones(100))
    gc.collect()
    assert pool.kept
    real, failures = adapter.allocate, []

    def scarce(nbytes):
        if pool.kept:
            failures.append(nbytes)
            raise adapter.out_of_memory(nbytes)
        return real(nbytes)

    monkeypatch.setattr(adapter, "allocate", scarce)
    np.testing.assert_array_equal(f(np.ones(2000)).to_host(), np.full(2000, 2.0))
    assert failures


def test_sizes_beyond_32_bits_take_wide_indices(monkeypatch):
    monkeypatch.setattr(launches, "NARROW", 4)
    monkeypatch.setattr("relgraph.backends.cuda.movement.NARROW", 4)
    x = rg.matrix("x", shape=("n", "m"))
    b = rg.vector("b", shape="m")
    top = rg.max(x, axis=1, keepdims=True)
    f = function([x, b], [x * b, rg.sum(x * b, axis=0), rg.exp(x - top) / top, x[::-1]])
    a, c = np.random.default_rng(1).uniform(1, 2, (3, 4)), np.arange(4.0)
    tops = a.max(1, keepdims=True)
    expected = [a * c, (a * c).sum(0), np.exp(a - tops) / tops, a[::-1]]
    for result, value in zip(rg.cuda.to_host(f(a, c)), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-14)
    assert ("n", "uint64") in copy_text("float64", 1, True, 4).parameters
    assert ("n", "uint32") in copy_text("float64", 1, False, 4).parameters


def test_a_recorded_call_computes_other_arguments_of_its_shapes():
    x, w = rg.matrix("x"), rg.matrix("w")
    f = function([x, w], [rg.tanh(x @ w) * 2, rg.sum(x, axis=1)])
    rng = np.random.default_rng(2)
    recorded = f.capture(rng.normal(size=(3, 4)), rng.normal(size=(4, 2)))
    addresses = []
    for _ in range(3):
        a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
        first, second = recorded(a, b)
        np.testing.assert_allclose(first.to_host(), np.tanh(a @ b) * 2, rtol=1e-14)
        np.testing.assert_allclose(second.to_host(), a.sum(1), rtol=1e-14)
        addresses.append(first.__cuda_array_interface__["data"][0])
    assert len(set(addresses)) == 1
    np.testing.assert_array_equal(recorded(w=b, x=Foreign(a))[1].to_host(), second.to_host())
    with pytest.raises(CaptureError, match="another shape"):
        recorded(np.ones((2, 4)), np.ones((4, 2)))
    with pytest.raises(CaptureError, match="target='cuda'"):
        function([x], x + 1, target="numpy").capture(np.ones((2, 2)))


def test_an_exception_while_a_call_is_recorded_leaves_all_as_it_was(monkeypatch):
    x = rg.vector("x")
    f = function([x], rg.exp(x) + rg.sum(x))
    calls = []
    launch = adapter.launch

    def failing(*args):
        calls.append(args)
        if len(calls) == 6:  # two runs launch two kernels each before the one that is recorded
            raise RuntimeError("in the middle")
        launch(*args)

    monkeypatch.setattr(adapter, "launch", failing)
    with pytest.raises(RuntimeError, match="in the middle"):
        f.capture(np.ones(5))
    assert len(calls) == 6
    recorded = f.capture(np.ones(5))
    a = np.linspace(0, 1, 5)
    np.testing.assert_allclose(recorded(a).to_host(), np.exp(a) + a.sum(), rtol=1e-15)
    np.testing.assert_allclose(f(a).to_host(), np.exp(a) + a.sum(), rtol=1e-15)


def test_results_are_written_to_the_places_given():
    x, w = rg.matrix("x"), rg.matrix("w")
    f = function([x, w], [x * 2, rg.sum(x, axis=0), x @ w, x.T, x])
    a, b = np.random.default_rng(3).normal(size=(2, 3, 3))
    expected = [a * 2, a.sum(0), a @ b, a.T, a]
    own = [f(a, b)[k] for k in range(5)]
    addresses = [adapter.pointer(arrays.flat_of(y)) for y in own]
    launched = count_copies(f, lambda: f(a, b, out=own))
    for place, address, value in zip(own, addresses, expected, strict=True):
        assert adapter.pointer(arrays.flat_of(place)) == address
        np.testing.assert_allclose(place.to_host(), value, rtol=1e-15, atol=1e-16)
    assert launched == 2  # the transpose and the input; the others are computed in place
    theirs = [np.empty((3, 3)), np.empty(3), np.empty((3, 3)).T, np.empty((6, 3))[::2], a.copy()]
    places = [theirs[0], *map(Foreign, theirs[1:])]
    f(a, b, out=places)
    for place, value in zip(places, expected, strict=True):
        written = place.read_back() if isinstance(place, Foreign) else place
        np.testing.assert_allclose(written, value, rtol=1e-15, atol=1e-16)


def count_copies(f, call):
    """Return how many copies from device to device a call makes."""
    copies = []
    with pytest.MonkeyPatch.context() as patch:
        real = adapter.copy
        patch.setattr(adapter, "copy", lambda *args: copies.append(args) or real(*args))
        call()
    return len(copies)


def test_a_place_that_is_an_argument_and_wrong_places():
    x = rg.vector("x")
    f = function([x], x + rg.sum(x))
    a = function([x], x * 1)(np.arange(4.0))
    assert f(a, out=a) is a
    np.testing.assert_array_equal(a.to_host(), np.arange(4.0) + 6)
    with pytest.raises(ShapeError, match="shape"):
        f(a, out=function([x], x * 1)(np.ones(3)))
    with pytest.raises(DTypeError, match="given as out for"):
        f(a, out=Foreign(np.ones(4, np.float32)))
    with pytest.raises(ArgumentError, match="not an array of NumPy"):
        f(a, out=[1.0] * 4)
    both = function([x], [x + 1, x + 2])
    with pytest.raises(ArgumentError, match="overlap"):
        both(a, out=[a, a])


def test_calls_run_on_the_stream_that_was_chosen(monkeypatch):
    waits, launches_on = [], []
    real = adapter.launch
    real_wait = adapter.wait
    monkeypatch.setattr(
        adapter, "wait", lambda s, o: waits.append((handle(s), handle(o))) or real_wait(s, o)
    )
    monkeypatch.setattr(
        adapter, "launch", lambda *args: launches_on.append(handle(args[-1])) or real(*args)
    )
    handle = adapter.stream_handle
    x = rg.vector("x")
    f = function([x], rg.exp(x) * 2)
    a = f(np.ones(4))
    streams = [adapter.new_stream(), adapter.new_stream()]
    mine, theirs = map(handle, streams)
    with rg.cuda.stream(mine) as stream:
        assert handle(stream) == mine
        b = f(a)
        with rg.cuda.stream() as other:
            assert handle(other) not in (0, mine)
            f(f(b))
    assert handle(f(np.ones(3)).stream) == 0
    assert launches_on == [0, mine, handle(other), handle(other), 0]
    # Another stream's array is waited for, and that stream waits until it was read.
    assert waits == [(mine, 0), (0, mine), (handle(other), mine), (mine, handle(other))]
    assert b.__cuda_array_interface__["stream"] == mine
    assert a.__cuda_array_interface__["stream"] == 1
    np.testing.assert_allclose(b.to_host(), np.exp(a.to_host()) * 2, rtol=1e-14)
    waits.clear()
    f(Foreign(np.ones(3), stream=theirs))
    f(Foreign(np.ones(3), stream=1))
    assert waits == [(0, theirs), (theirs, 0)]


class CudaStream:
    """A stream of a library that follows the protocol."""

    def __cuda_stream__(self):
        return (0, 21)


class TorchStream:
    cuda_stream = 22


class CupyStream:
    ptr = 23


def test_streams_of_other_libraries():
    handles = [adapter.stream_handle(s) for s in (CudaStream(), TorchStream(), CupyStream(), 24)]
    assert handles == [21, 22, 23, 24]
    with rg.cuda.stream(CudaStream()) as stream:
        assert adapter.stream_handle(stream) == 21
    with pytest.raises(ArgumentError, match="str is no stream"), rg.cuda.stream("main"):
        pass


def test_memory_is_kept_for_the_stream_that_used_it():
    pool = Pool()
    one, other = adapter.stream_of(31), adapter.stream_of(32)
    kind = np.dtype(np.float64)
    first = adapter.pointer(arrays.flat_of(pool.empty((8,), kind, one)))
    gc.collect()
    held = pool.empty((8,), kind, other)
    assert adapter.pointer(arrays.flat_of(held)) != first
    assert adapter.pointer(arrays.flat_of(pool.empty((8,), kind, one))) == first


def test_what_needs_the_cpu_is_not_recorded():
    x, i = rg.vector("x"), rg.vector("i", dtype="int64")
    f = function([x, i], (x + 1)[i])
    with pytest.raises(CaptureError, match="the CPU needs a value"):
        f.capture(np.ones(3), np.array([0, 1]))
    np.testing.assert_array_equal(f(np.ones(3), np.array([0, 1])).to_host(), [2, 2])


def test_the_simulator_has_no_ptx():
    x = rg.vector("x")
    with pytest.raises(GPUNotAvailableError, match="the simulator has no PTX"):
        rg.cuda.ptx([x], x + 1)
    assert rg.cuda.report()["device"] == "numba's simulator"


def test_only_memory_of_a_device_is_a_device_array():
    assert not arrays.is_device_array(np.ones(3))
    assert not arrays.is_device_array([1.0])

    class Elsewhere:
        def __dlpack_device__(self):
            return (1, 0)  # memory of the CPU

    class OfTorch(Elsewhere):
        @property
        def __cuda_array_interface__(self):
            raise AttributeError("not on a CUDA device")

    assert not arrays.is_device_array(Elsewhere())
    assert not arrays.is_device_array(OfTorch())
    assert arrays.is_device_array(Foreign(np.ones(3)))


def test_shared_variables_stay_on_the_device():
    w, x = rg.shared(np.zeros(3), name="w"), rg.vector("x", 3)
    f = function([x], updates={w: w - 0.5 * x})
    f(np.ones(3))
    f(np.ones(3))
    assert isinstance(w.storage.array, DeviceArray)
    assert w.get_value().tolist() == [-1.0, -1.0, -1.0]
    w.set_value([1.0, 2.0, 3.0])
    f(np.zeros(3))
    assert w.get_value(borrow=True).tolist() == [1.0, 2.0, 3.0]
