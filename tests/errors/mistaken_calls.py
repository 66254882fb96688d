"""The usual mistakes with functions and devices, each a function that makes one."""

from __future__ import annotations

from unittest import mock

import numpy as np

import relgraph as rg
from relgraph import interop
from relgraph.backends.cuda import adapter, driver
from relgraph.interop.missing import unsupported
from tests.errors.cases import A, Cases, x, y

MISTAKES = Cases()
mistake = MISTAKES.add

# Calling functions.


def add_function():
    return rg.function([x, y], x + y, target="numpy")


@mistake
def missing_argument():
    """a missing argument"""
    return add_function()(np.ones(3))


@mistake
def extra_argument():
    """an argument too many"""
    return add_function()(np.ones(3), np.ones(3), np.ones(3))


@mistake
def duplicate_argument():
    """an argument given twice"""
    return add_function()(np.ones(3), x=np.ones(3))


@mistake
def strange_argument():
    """an argument of another name"""
    return add_function()(np.ones(3), yy=np.ones(3))


@mistake
def wrong_dtype():
    """an argument of the wrong dtype"""
    return add_function()(np.ones(3), np.ones(3) * 1j)


@mistake
def word_for_an_array():
    """a string for an array"""
    return add_function()("abc", np.ones(3))


@mistake
def words_for_an_array():
    """an array of strings"""
    return add_function()(np.array(["a", "b"]), np.ones(2))


@mistake
def wrong_kind():
    """floats for an input of integers"""
    k = rg.vector("k", dtype="int64")
    return rg.function([k], k + 1, target="numpy")(np.ones(3))


@mistake
def wrong_rank():
    """an argument of the wrong rank"""
    return add_function()(np.ones((3, 1)), np.ones(3))


@mistake
def wrong_size():
    """an argument of the wrong size"""
    u = rg.vector("u", shape=(4,))
    return rg.function([u], u + 1, target="numpy")(np.ones(3))


@mistake
def unequal_names():
    """two arguments that disagree on a named size"""
    return add_function()(np.ones(3), np.ones(4))


@mistake
def unequal_unknowns():
    """two arguments that disagree on an unknown size"""
    u, v = rg.vector("u", shape=(None,)), rg.vector("v", shape=(None,))
    return rg.function([u, v], u + v, target="numpy")(np.ones(3), np.ones(4))


@mistake
def singular():
    """a linear system that has no unique solution"""
    return rg.function([A, x], rg.solve(A, x), target="numpy")(np.zeros((2, 2)), np.ones(2))


@mistake
def indefinite():
    """a Cholesky factor of a matrix that is not positive definite"""
    return rg.function([A], np.linalg.cholesky(A), target="numpy")(-np.eye(2))


@mistake
def out_of_range():
    """an index out of range, found at the call"""
    i = rg.scalar("i", dtype="int64")
    return rg.function([x, i], x[i], target="numpy")(np.ones(3), 5)


@mistake
def reshaped():
    """elements that do not fill a shape given at the call"""
    m = rg.scalar("m", dtype="int64")
    return rg.function([x, m], x.reshape((m, 2)), target="numpy")(np.ones(5), 2)


@mistake
def multiplied():
    """unknown sizes that do not multiply"""
    U, v = rg.matrix("U"), rg.vector("v")
    return rg.function([U, v], U @ v, target="numpy")(np.ones((2, 3)), np.ones(4))


@mistake
def no_elements():
    """a maximum over no elements"""
    return rg.function([x], rg.max(x), target="numpy")(np.ones(0))


@mistake
def unknown_target():
    """an unknown target"""
    return rg.function([x], x + 1, target="numppy")


@mistake
def gpu_target():
    """the target 'gpu'"""
    return rg.function([x], x + 1, target="gpu")


@mistake
def target_of_a_number():
    """a target that is no name"""
    return rg.function([x], x + 1, target=0)


@mistake
def missing_outputs():
    """a function without outputs"""
    return rg.function([x])


@mistake
def traced_without_end():
    """a traced function that calls itself without end"""

    @rg.jit(target="numpy")
    def halved(a):
        return a if a.sum() is None else halved(a / 2)

    return halved(np.ones(3))


@mistake
def traced_truth():
    """a traced function that asks for the truth of an array"""

    def relu(a):
        return a if a > 0 else 0 * a

    return rg.jit(relu, target="numpy")(np.ones(3))


@mistake
def donate_unknown_parameter():
    """donating what a traced function does not take"""
    rg.jit(lambda state, step: state + step, donate="stat")


@mistake
def donate_unknown_input():
    """donating something that is not an input"""
    rg.function([x, y], x + y, donate=["x", "z"])


@mistake
def donate_true():
    """donating True"""
    rg.jit(lambda state, step: state + step, donate=True)


@mistake
def traced_value():
    """a traced function that asks for the value of an array"""
    return rg.jit(lambda a: float(a[0]), target="numpy")(np.ones(3))


@mistake
def traced_array():
    """a traced function that makes a NumPy array"""
    return rg.jit(np.asarray, target="numpy")(np.ones(3))


@mistake
def traced_sort():
    """a function of NumPy that graphs do not have"""
    return rg.jit(lambda x: np.partition(x, 1), target="numpy")(np.ones(3))


@mistake
def traced_dataclass():
    """an argument of a traced function that cannot be traced"""
    return rg.jit(lambda a, b: a, target="numpy")(np.ones(3), b={1.0})


@mistake
def traced_method():
    """a method of NumPy's arrays that graphs do not have"""
    return rg.jit(lambda a: a.partition(1), target="numpy")(np.ones(3))


def add_in_place(x, y):
    x += y


@mistake
def conversion_in_place():
    """a result in place that does not convert to the dtype of the array"""
    return rg.jit(add_in_place, target="numpy")(np.ones(3, "int64"), np.ones(3))


@mistake
def shape_in_place():
    """a result in place of another shape"""
    return rg.jit(add_in_place, target="numpy")(np.ones(3), np.ones((2, 3)))


@mistake
def read_only_argument():
    """an argument that is changed in place and is read-only"""
    array = np.ones(3)
    array.flags.writeable = False
    return rg.jit(add_in_place, target="numpy")(array, np.ones(3))


@mistake
def overlapping_arguments():
    """arguments that overlap, of which one is changed in place"""
    array = np.ones(4)
    return rg.jit(add_in_place, target="numpy")(array[1:], array[:-1])


@mistake
def reshaped_argument():
    """an argument in another order than C that is changed through a reshaped view"""
    return rg.jit(lambda x: x.reshape(-1).fill(1), target="numpy")(np.ones((2, 3), order="F"))


@mistake
def scalar_item():
    """an assignment to a scalar in a traced function"""
    return rg.jit(lambda x: np.sum(x).__setitem__((), 1), target="numpy")(np.ones(3))


@mistake
def broadcast_item():
    """an assignment to a broadcast array"""

    def function(x):
        np.broadcast_to(x, (2, 3))[0] = 1

    return rg.jit(function, target="numpy")(np.ones(3))


@mistake
def view_or_copy():
    """a write to an array that NumPy may have copied"""

    def function(x):
        turned = x.T + 1
        flat = turned.reshape(-1)
        flat[0] = 1
        return turned

    return rg.jit(function, target="numpy")(np.ones((2, 3)))


@mistake
def array_from_outside():
    """a traced result that goes to an array from outside"""
    array = np.ones(3)
    return rg.jit(lambda x: np.add(x, 1, out=array), target="numpy")(np.ones(3))


@mistake
def changed_container():
    """a list of arguments that a traced function changes"""
    return rg.jit(lambda x: x.append(x[0]), target="numpy")([np.ones(3)])


# Extending relgraph, and what a machine does not have.


@mistake
def no_transform():
    """a rewriter without its method"""

    class Idle(rg.NodeRewriter):
        pass

    return rg.rewrite_graph(rg.exp(x), Idle())


@mistake
def other_than_inferred():
    """an op that computes another type than it says"""

    class Half(rg.Op):
        name = "half"

        def infer(self, a):
            return a

        def perform(self, a):
            return (a / 2).astype("float32")

    return rg.function([x], Half()(x), target="numpy")(np.ones(3))


@mistake
def forged_node():
    """a node that was not built by its op"""
    forged = object.__new__(rg.Apply)
    fields = {"op": rg.exp, "inputs": (x,), "type": x.type, "_digest": 0, "_facts": None}
    for name, value in fields.items():
        object.__setattr__(forged, name, value)
    return rg.verify(forged)


@mistake
def no_gpu():
    """the target 'cuda' without a GPU"""
    known = {"numba": "0.61.0", "numba-cuda": "missing", "device": "missing: no GPU was found"}
    with (
        mock.patch.object(adapter, "simulated", lambda: False),
        mock.patch.object(adapter, "_usable", lambda: False),
        mock.patch.object(adapter, "report", lambda: known),
    ):
        return rg.function([x], x + 1, target="cuda")


@mistake
def device_memory():
    """arrays that do not fit the memory of a GPU"""
    raise adapter.out_of_memory(80_000, 40_000)


class LaunchFailed(int):
    """A code that a driver returns."""

    name = "CUDA_ERROR_LAUNCH_FAILED"


@mistake
def failed_launch():
    """work that the driver of a GPU refuses"""
    driver.checked((LaunchFailed(719),), "launch a kernel")


@mistake
def update_of_an_input():
    """an update of an input that is not shared"""
    return rg.function([x], x, updates={x: x + 1})


@mistake
def circular_givens():
    """givens that depend on each other"""
    return rg.function([], x, givens={x: y + 1, y: 2 * x})


@mistake
def missing_package():
    """a part of relgraph whose package is not installed"""
    absent = ModuleNotFoundError("No module named 'pytensor'", name="pytensor")
    failing = mock.patch.object(interop, "import_module", side_effect=absent)
    with mock.patch.dict(vars(interop)), failing:
        vars(interop).pop("pytensor", None)  # another test may have imported it
        return rg.interop.pytensor


@mistake
def unsupported_ops():
    """ops of another library that have no translation"""
    raise unsupported(
        {
            ("NormalRV", "draws of random numbers are inputs in relgraph"): 1,
            ("Choose", "relgraph has no such op"): 2,
        },
        "PyTensor",
    )


@mistake
def lost_value():
    """a shared variable whose memory was half written"""
    w = rg.shared([1.0, 2.0], name="w")
    w.storage.array = None  # as a program leaves it that runs out of memory
    return w.get_value()


@mistake
def recorded_on_the_cpu():
    """recording a call that no GPU makes"""
    return add_function().capture(np.ones(3), np.ones(3))


# Derivatives.


class Opaque(rg.Op):
    """An op that declares no derivative."""

    __slots__ = ()
    name = "opaque"
    arity = 1

    def infer(self, *types):
        """Return the type of the operand."""
        return types[0]


@mistake
def no_differential():
    """the derivative of an op that has no differential"""
    return rg.grad(rg.sum(Opaque()(rg.exp(x))), x)


@mistake
def gradient_of_a_vector():
    """the gradient of a vector"""
    return rg.grad(rg.exp(x), x)


@mistake
def gradient_of_an_integer():
    """a gradient with respect to integers"""
    k = rg.vector("k", "n", dtype="int64")
    return rg.grad(rg.sum(x * k), k)


@mistake
def gradient_of_an_integer_loss():
    """the gradient of an integer"""
    return rg.grad(rg.sum(rg.argsort(x)), x)


@mistake
def gradient_of_an_integer_argument():
    """a gradient at a Python integer"""
    return rg.grad(lambda x: x**2)(3)


@mistake
def gradient_by_no_node():
    """a gradient with respect to an input that is not in the graph"""
    return rg.grad(rg.sum(x), y)


@mistake
def gradient_by_a_name():
    """a gradient with respect to a name"""
    return rg.grad(rg.sum(x), "x")


@mistake
def gradient_without_nodes():
    """the gradient of a graph with respect to nothing"""
    return rg.grad(rg.sum(x))


@mistake
def gradient_of_a_function_by_nodes():
    """the gradient of a function with respect to a node"""
    return rg.grad(np.sin, x)


@mistake
def gradient_of_a_container():
    """the gradient of a function that returns a tuple"""
    return rg.grad(lambda x: (x, x))(3.0)


@mistake
def gradient_by_a_missing_argument():
    """a gradient with respect to an argument that is not passed"""
    return rg.grad(lambda x: x, argnums=1)(3.0)


@mistake
def tangent_of_another_shape():
    """a tangent of another shape"""
    return rg.jvp(np.sin, (np.ones(3),), (np.ones(2),))


@mistake
def tangent_without_a_tuple():
    """an argument of jvp that is not in a tuple"""
    return rg.jvp(np.sin, np.ones(3), np.ones(3))


@mistake
def too_few_cotangents():
    """a cotangent too few"""
    _, pullback = rg.vjp([x, rg.exp(x)], x)
    return pullback([x])


# Measuring.


@mistake
def source_in_an_unknown_library():
    """source for a library that is not known"""
    return rg.source(x + y, "pytorch")


@mistake
def source_without_spellings():
    """source for a library that lacks ops"""
    return rg.source(rg.kv(x, y) + rg.polygamma(2, x), "torch")


@mistake
def benchmark_without_sizes():
    """a benchmark without sizes"""
    return rg.benchmark(rg.exp(rg.matrix("A", ("m", "n"))))


@mistake
def benchmark_of_another_size():
    """a benchmark over a size that no input has"""
    return rg.benchmark(rg.exp(rg.vector("v", "n")), sizes={"k": [10, 100]})


@mistake
def benchmark_with_another_input():
    """a benchmark with an array for another input"""
    return rg.benchmark(x + y, arrays={"x": np.ones(3), "z": np.ones(3)})


@mistake
def benchmark_with_an_unknown_peer():
    """a benchmark with a peer that is not known"""
    return rg.benchmark(x + y, sizes={}, peers=["tensorflow"])


@mistake
def profile_of_a_function_without_arguments():
    """the profile of a function without arguments"""
    return rg.profile(np.exp)


@mistake
def profile_of_a_function_with_state():
    """the profile of a function that updates shared variables"""
    total = rg.shared(0.0, name="total")
    return rg.profile(rg.function([], None, updates={total: total + 1}, target="numpy"))
