"""What is asked of a device and its driver, in order: with a driver that only takes notes.

The simulator has no driver, so these calls are not made there.
"""

import ctypes
import gc
import os
from types import SimpleNamespace

import numpy as np
import pytest

from relgraph.backends.cuda import adapter, arrays, driver, libraries
from relgraph.backends.cuda.recording import Recording
from relgraph.errors import (
    ArgumentError,
    CaptureError,
    CompileError,
    DeviceError,
    DeviceMemoryError,
)

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_ENABLE_CUDASIM") == "1", reason="the simulator has no driver"
)


class Driver:
    """The functions of ``cuda.bindings.driver`` that are called, with a list of the calls."""

    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED="relaxed")
    CUpointer_attribute = SimpleNamespace(
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL="device", CU_POINTER_ATTRIBUTE_MEMORY_TYPE="type"
    )

    def __init__(self, refused=()):
        self.calls = []
        self.refused = refused
        self.graphs = 0

    def CUstream(self, handle):
        return handle

    def CUfunction(self, handle):
        return handle

    def answer(self, call, *values):
        self.calls.append(call)
        return (900 if call[0] in self.refused else 0, *values)

    def cuStreamBeginCapture(self, stream, mode):
        return self.answer(("begin", stream, mode))

    def cuStreamEndCapture(self, stream):
        self.graphs += 1
        return self.answer(("end", stream), f"graph {self.graphs}")

    def cuGraphInstantiate(self, graph, flags):
        return self.answer(("instantiate", graph), f"run of {graph}")

    def cuGraphLaunch(self, executable, stream):
        return self.answer(("launch", executable, stream))

    def cuGraphExecDestroy(self, executable):
        return self.answer(("destroy", executable))

    def cuGraphDestroy(self, graph):
        return self.answer(("destroy", graph))

    def cuPointerGetAttribute(self, attribute, address):
        return self.answer((attribute, address), 3)


@pytest.fixture
def noting(monkeypatch):
    """Return a function that puts a driver in the place of NVIDIA's."""

    def put(*refused):
        found = Driver(refused)
        monkeypatch.setattr(driver, "api", lambda: found)
        return found

    return put


STREAM = 17


def test_launches_are_recorded_as_one_graph_which_one_launch_replays(noting):
    found = noting()
    recording = Recording(STREAM)
    with recording.of_launches():
        recording.note(lambda: found.calls.append("a launch"))  # the driver records it itself
    assert found.calls == [("begin", 17, "relaxed"), ("end", 17), ("instantiate", "graph 1")]
    found.calls.clear()
    for _ in range(2):
        recording.replay()
    assert found.calls == [("launch", "run of graph 1", 17)] * 2
    found.calls.clear()
    del recording
    gc.collect()
    assert sorted(found.calls) == [("destroy", "graph 1"), ("destroy", "run of graph 1")]


def test_what_cannot_be_recorded_is_done_between_two_graphs(noting):
    found = noting()
    recording = Recording(STREAM)
    with recording.of_launches():
        recording.between(lambda: found.calls.append("a product"))
    assert [call[0] for call in found.calls] == [
        "begin", "end", "instantiate", "begin", "end", "instantiate",
    ]  # fmt: skip
    found.calls.clear()
    recording.replay()
    runs = [("launch", f"run of graph {k}", 17) for k in (1, 2)]
    assert found.calls == [runs[0], "a product", runs[1]]


def test_an_exception_ends_the_recording_and_keeps_no_graph(noting):
    found = noting()
    recording = Recording(STREAM)
    with pytest.raises(RuntimeError, match="in the middle"), recording.of_launches():
        raise RuntimeError("in the middle")
    assert found.calls == [("begin", 17, "relaxed"), ("end", 17), ("destroy", "graph 1")]
    found.calls.clear()
    with recording.of_launches():  # the stream works again
        pass
    recording.replay()
    assert found.calls[-1] == ("launch", "run of graph 2", 17)


@pytest.mark.parametrize("refused", ["begin", "end", "instantiate", "launch"])
def test_what_the_driver_refuses_is_an_error_and_leaks_no_graph(noting, refused):
    found = noting(refused)
    recording = Recording(STREAM)
    with pytest.raises(CaptureError, match=r"the CUDA driver refused to (record|launch)"):
        with recording.of_launches():
            pass
        recording.replay()
    del recording
    gc.collect()
    made = {"begin": 0, "end": 0, "instantiate": 1, "launch": 2}[refused]
    assert len([call for call in found.calls if call[0] == "destroy"]) == made


def test_the_driver_tells_the_device_of_an_address(noting):
    found = noting()
    assert driver.memory_device(0x1000) == 3
    assert found.calls == [("device", 0x1000)]
    noting("device")
    assert driver.memory_device(0x1000) is None


def test_the_driver_has_what_is_called():
    real = pytest.importorskip("cuda.bindings.driver", reason="no cuda.bindings")
    for name in vars(Driver):
        assert name in ("answer", "__init__") or name.startswith("__") or hasattr(real, name)
    assert hasattr(real.CUstreamCaptureMode, "CU_STREAM_CAPTURE_MODE_RELAXED")
    for name in vars(Driver.CUpointer_attribute):
        assert hasattr(real.CUpointer_attribute, name)
    for name in ("LaunchKernel", "MemcpyHtoDAsync", "MemcpyDtoHAsync", "MemcpyDtoDAsync"):
        assert hasattr(real, f"cu{name}")


class Exporter:
    """An array with DLPack alone, which notes the stream that it is to be ready on."""

    def __init__(self, array):
        self.array = array
        self.stream = None

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **options):
        self.stream = stream
        return self.array.__dlpack__(**options)


def test_arrays_with_dlpack_alone_are_read_where_they_lie(monkeypatch):
    pytest.importorskip("cuda.core.utils", reason="no cuda.core")
    monkeypatch.setattr(adapter, "memory_device", lambda address: 0)
    monkeypatch.setattr(adapter, "device_number", lambda: 0)
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    for array, strides in ((a, None), (a.T, (1, 4)), (a[:, ::2], (4, 2))):
        given = Exporter(array)
        found = arrays.foreign(given)
        assert (found.shape, found.strides, found.dtype) == (array.shape, strides, array.dtype)
        assert found.address == array.ctypes.data
        assert given.stream == 1  # ready on the default stream
        assert found.owner[0] is given
    monkeypatch.setattr(adapter, "memory_device", lambda address: 1)
    with pytest.raises(ArgumentError, match="on device 1, and the function runs on device 0"):
        arrays.foreign(Exporter(a))


class Full:
    """``numba.cuda`` on a device without memory."""

    def __init__(self, error):
        self.error = error

    def device_array(self, count, dtype):
        raise self.error

    def current_context(self):
        return SimpleNamespace(get_memory_info=lambda: (10, 2000))


class DriverError(Exception):
    def __init__(self, code):
        super().__init__(f"[{code}]")
        self.code = code


@pytest.mark.parametrize("error", [MemoryError(), DriverError(adapter.OUT_OF_MEMORY)])
def test_memory_that_a_device_does_not_have(monkeypatch, error):
    monkeypatch.setattr(adapter, "cuda", lambda: Full(error))
    with pytest.raises(DeviceMemoryError, match="not enough memory left") as caught:
        adapter.allocate(4096)
    facts = dict(caught.value.facts)
    assert facts == {"needed": "4,096 bytes", "free": "10 of 2,000 bytes"}
    assert caught.value.__cause__ is error


def test_another_error_of_the_driver_is_passed_on(monkeypatch):
    error = DriverError(700)
    monkeypatch.setattr(adapter, "cuda", lambda: Full(error))
    with pytest.raises(DriverError) as caught:
        adapter.allocate(4096)
    assert caught.value is error


def test_parameters_lie_where_a_kernel_reads_them(noting):
    """A struct of C has them at the same places: numbers, and what numba passes of an array."""
    api = noting()

    class Expected(ctypes.Structure):
        _fields_ = [
            ("flag", ctypes.c_bool),
            ("count", ctypes.c_uint32),
            *[(name, ctypes.c_uint64) for name in ("meminfo", "parent")],
            *[(name, ctypes.c_int64) for name in ("items", "itemsize")],
            ("address", ctypes.c_uint64),
            *[(name, ctypes.c_int64) for name in ("shape", "stride")],
            ("half", ctypes.c_uint16),
            ("single", ctypes.c_float),
            ("double", ctypes.c_double),
        ]

    api.launched = []

    def launch(function, *arguments):
        *sizes, stream, pointers, extra = arguments
        begin, address, size, length, end = (ctypes.c_void_p * 5).from_address(extra)
        assert (begin, size, end, pointers) == (1, 2, None, 0)
        data = ctypes.string_at(address, ctypes.c_size_t.from_address(length).value)
        api.launched.append((function, sizes, stream, data))
        return (0,)

    api.cuLaunchKernel = launch
    types = ["bool", "uint32", "float32[::1]", "float16", "float32", "float64"]
    kernel = driver.Function(SimpleNamespace(value=42), types)
    array = adapter.Memory(0x1000, np.dtype(np.float32), 6, None)
    adapter.launch(kernel, [2], [3, 4], [True, 7, array, np.float16(0.5), 1.5, 2.5], STREAM)
    ((function, sizes, stream, data),) = api.launched
    assert (function, sizes, stream) == (42, [2, 1, 1, 3, 4, 1, 0], STREAM)
    found = Expected.from_buffer_copy(data)
    assert (found.flag, found.count, found.single, found.double) == (True, 7, 1.5, 2.5)
    assert found.half == np.float16(0.5).view(np.uint16)
    assert (found.address, found.items, found.itemsize) == (0x1000, 6, 4)
    assert (found.shape, found.stride, found.meminfo, found.parent) == (6, 4, 0, 0)


def test_a_launch_that_the_driver_refuses_is_an_error(noting):
    api = noting()
    api.cuLaunchKernel = lambda *arguments: (701,)
    kernel = driver.Function(42, ["int64"])
    with pytest.raises(DeviceError, match="the CUDA driver refused to launch a kernel") as caught:
        adapter.launch(kernel, [1], [1], [1], STREAM)
    assert dict(caught.value.facts) == {"error": 701}


def test_a_part_of_memory_begins_at_its_first_element():
    whole = adapter.Memory(0x1000, np.dtype(np.float64), 10, None)
    part = whole[2:5]
    assert (part.address, part.size, part.dtype) == (0x1010, 3, np.float64)


def test_memory_of_arrays_in_a_cycle_returns_to_the_pool(monkeypatch):
    freed = []

    class Owner:
        def __del__(self):
            freed.append(self)

    monkeypatch.setattr(adapter, "simulated", lambda: False)
    monkeypatch.setattr(
        adapter, "allocate", lambda n: adapter.Memory(0x1000, np.dtype(np.uint8), n, Owner())
    )
    pool = arrays.Pool()
    array = pool.empty((4,), np.dtype(np.float32), STREAM)
    cycle = [array]
    cycle.append(cycle)
    del array, cycle
    gc.collect()
    assert not freed
    assert pool.kept == 512
    assert adapter.pointer(arrays.flat_of(pool.empty((4,), np.dtype("u1"), STREAM))) == 0x1000
    pool.release()


@pytest.mark.parametrize("pinned", [True, False])
def test_an_upload_waits_for_pinned_memory_which_the_device_reads_directly(noting, pinned):
    api = noting() if pinned else noting("type")
    api.cuMemcpyHtoDAsync = lambda *arguments: api.answer(("copy", *arguments))
    api.cuStreamSynchronize = lambda stream: api.answer(("wait", stream))
    source = np.arange(4.0)
    driver.upload(source, 0x1000, STREAM)
    copied, asked, *waited = api.calls
    assert copied == ("copy", 0x1000, source.ctypes.data, 32, STREAM)
    assert asked == ("type", source.ctypes.data)
    assert waited == ([("wait", STREAM)] if pinned else [])


def test_a_download_makes_the_device_that_of_the_thread(noting, monkeypatch):
    api = noting()
    api.cuMemcpyDtoHAsync = lambda *arguments: api.answer(("copy", *arguments[1:]))
    api.cuStreamSynchronize = lambda stream: api.answer(("wait", stream))
    monkeypatch.setattr(adapter, "device_number", lambda: api.calls.append("device"))
    result = adapter.download(adapter.Memory(0x1000, np.dtype("f4"), 3, None), STREAM)
    assert (result.shape, result.dtype) == ((3,), np.float32)
    assert api.calls == ["device", ("copy", 0x1000, 12, STREAM), ("wait", STREAM)]


def test_a_kernel_with_too_many_parameters_is_an_error(noting):
    noting()
    assert driver.Function(42, ["float64[::1]"] * 585).layout.size <= driver.LIMIT
    with pytest.raises(CompileError, match="more parameters than a GPU allows"):
        driver.Function(42, ["float64[::1]"] * 586)


def test_the_stream_of_a_call_in_each_version_of_cupy(monkeypatch):
    class Stream:
        null = "null"

        @staticmethod
        def from_external(stream):
            return "external", stream.__cuda_stream__()

    old = SimpleNamespace(Stream=SimpleNamespace(null="null"), ExternalStream=lambda x: ("old", x))
    for module, stream, expected in (
        (SimpleNamespace(Stream=Stream), 0, "null"),
        (SimpleNamespace(Stream=Stream), STREAM, ("external", (0, STREAM))),
        (old, 0, "null"),
        (old, STREAM, ("old", STREAM)),
    ):
        monkeypatch.setattr(libraries, "cupy", lambda module=module: SimpleNamespace(cuda=module))
        assert libraries.on_stream(SimpleNamespace(stream=stream)) == expected
