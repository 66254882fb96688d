"""The usual mistakes, each a function that makes one."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import numpy as np

import relgraph as rg
from relgraph.backends.cuda import adapter

CASES: dict[str, Callable[[], object]] = {}

x = rg.vector("x", shape=("n",))
y = rg.vector("y", shape=("n",))
A, B = rg.matrices("A B", shape=("n", "n"))


def mistake(function):
    """Add a function that makes a mistake; its docstring is the heading of the message."""
    CASES[function.__doc__] = function
    return function


# Building graphs.


@mistake
def broadcast():
    """shapes that do not broadcast"""
    return rg.vector("u", shape=(3,)) + rg.matrix("V", shape=(2, 4))


@mistake
def products():
    """shapes that do not multiply"""
    return rg.matrix("U", shape=(2, 3)) @ rg.matrix("V", shape=(4, 2))


@mistake
def unsupported_dtype():
    """a dtype that is not supported"""
    return rg.vector("z", dtype="complex128")


@mistake
def number_too_large():
    """a Python integer that does not fit the dtype beside it"""
    return rg.vector("k", shape=("n",), dtype="uint8") + 300


@mistake
def huge_number():
    """a Python integer that no dtype holds"""
    return rg.exp(10**5000)


@mistake
def changed_node():
    """changing a node"""
    x.name = "z"


@mistake
def changed_graph():
    """changing a FunctionGraph"""
    rg.FunctionGraph([x], x + 1).outputs = (x,)


@mistake
def truth():
    """the truth of a graph"""
    return 1 if x > 0 else 0


@mistake
def as_array():
    """a graph as a NumPy array"""
    return np.asarray(x)


@mistake
def fact_unknown():
    """a fact that does not exist"""
    return rg.vector("p", facts=("postive",))


@mistake
def fact_impossible():
    """a fact that cannot hold"""
    return rg.matrix("S", shape=(2, 3), facts=("symmetric",))


@mistake
def facts_that_exclude():
    """two facts that exclude each other"""
    return rg.vector("q", facts=("positive", "negative"))


@mistake
def assumed_that_exclude():
    """assuming two facts that exclude each other"""
    return rg.assume(x, "negative", "nonnegative")


@mistake
def replaced_by_integers():
    """replacing a node by one of another dtype"""
    return rg.FunctionGraph([x], x + 1).replace(x, rg.vector("k", shape=("n",), dtype="int64"))


@mistake
def replaced_by_matrix():
    """replacing a node by one of another shape"""
    return rg.FunctionGraph([x], x + 1).replace(x, A)


@mistake
def not_ground():
    """a term with logic variables where a graph is needed"""
    (v,) = rg.lvars("v")
    return rg.raise_(rg.exp(v))


# Declaring relations.


@mistake
def failing_goal():
    """a goal that raises an error"""
    return rg.relation(lambda left, right: 1 / 0, name="faultyo")


@mistake
def one_sided_goal():
    """a goal of one side"""
    return rg.relation(lambda left: rg.eq(left, 1), name="aloneo")


@mistake
def misspelt_keyword():
    """an identity with a keyword that it does not take"""
    return rg.identity(tag=["canonicalize"])


@mistake
def condition_of_a_graph():
    """a side condition that returns a graph"""

    @rg.identity(where=lambda x: rg.checko(lambda x: x > 0, x))
    def sqrt_squareo(x):
        return rg.sqrt(x) ** 2, x

    return rg.rewrite_graph(rg.sqrt(x) ** 2, sqrt_squareo)


@mistake
def condition_of_a_word():
    """a side condition that returns no bool, in a query"""

    @rg.identity(where=lambda x: rg.checko(lambda x: "no", x))
    def sqrt_squareo(x):
        return rg.sqrt(x) ** 2, x

    return sqrt_squareo.run(1, rg.sqrt(x) ** 2)


@mistake
def query_of_a_word():
    """a query of what is no graph"""

    @rg.identity
    def double_addo(x):
        return x + x, 2 * x

    return double_addo.run(1, "x + x")


@mistake
def ground_input():
    """forward, the side to match is an input"""
    return rg.identity(lambda: (x, y), name="replace_xo")


@mistake
def unbound():
    """a result with a variable that the pattern does not bind"""

    @rg.identity
    def loseo(x, y):
        return rg.exp(x), rg.log(y)

    return loseo


@mistake
def backward_variable():
    """backward, the side to match is a bare variable"""

    @rg.identity
    def negative_negativeo(x):
        return rg.negative(rg.negative(x)), x

    return negative_negativeo.reversed


@mistake
def backward_number():
    """backward, the side to match is a number"""

    @rg.identity
    def subtract_itselfo(x):
        return x - x, 0

    return subtract_itselfo.reversed


@mistake
def backward_computed():
    """backward, a variable would have to be computed backwards"""

    @rg.identity(where=lambda a, b, c: rg.calco(c, lambda a, b: a + b, a, b))
    def expand_twiceo(x, a, b, c):
        return rg.expand_dims(rg.expand_dims(x, a), b), rg.expand_dims(x, c)

    return expand_twiceo.reversed


@mistake
def occurs():
    """a goal whose term would contain itself"""

    @rg.relation
    def selfo(left, right):
        (v,) = rg.lvars("v")
        return rg.lall(rg.eq(left, rg.exp(v)), rg.eq(v, rg.exp(v)), rg.eq(right, v))

    return selfo


@mistake
def no_answer():
    """a relation that relates nothing"""

    @rg.relation
    def nothingo(left, right):
        (v,) = rg.lvars("v")
        return rg.lall(rg.eq(left, rg.exp(v)), rg.eq(left, rg.log(v)), rg.eq(right, v))

    return nothingo


@mistake
def equal_sides():
    """an identity with equal sides"""

    @rg.identity
    def sameo(x):
        return rg.exp(x), rg.exp(x)

    return sameo


@mistake
def strange_parameter():
    """a side condition that asks for a parameter that the identity does not have"""

    @rg.identity(where=lambda x, z: (rg.nonnegativeo(x), rg.nonnegativeo(z)))
    def sqrt_squareo(x):
        return rg.sqrt(x) ** 2, x

    return sqrt_squareo


@mistake
def unsound():
    """a relation that does not keep what it promises"""

    @rg.identity
    def cancel_sqrt_squareo(x):
        return rg.sqrt(rg.square(x)), x

    return rg.check(cancel_sqrt_squareo).raise_()


@mistake
def shape_of_pattern():
    """a pattern asked for its shape"""

    @rg.identity
    def flatteno(x):
        return rg.reshape(x, x.shape), x

    return flatteno


# Rewriting.


@rg.identity
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@mistake
def both_directions():
    """both directions of one relation"""
    return rg.rewrite_graph(A @ (A + B), [distribute_matmulo, distribute_matmulo.reversed])


@mistake
def oscillation():
    """two relations that undo each other"""

    @rg.identity
    def sin_to_coso(x):
        return rg.sin(x), rg.cos(x)

    @rg.identity
    def cos_to_sino(x):
        return rg.cos(x), rg.sin(x)

    return rg.rewrite_graph(rg.sin(x), [sin_to_coso, cos_to_sino])


@mistake
def growth():
    """a graph that grows inside its own result"""

    @rg.identity
    def exp_of_expo(x):
        return rg.exp(x), rg.exp(x) * 1

    return rg.rewrite_graph(rg.exp(x), exp_of_expo)


@mistake
def budget():
    """a budget that is spent"""

    @rg.identity(budget=3)
    def shifto(x):
        return rg.exp(x), rg.exp(x + 1)

    return rg.rewrite_graph(rg.exp(x), shifto)


@mistake
def budget_of_a_mode():
    """a budget that is spent, of a relation of a mode"""

    @rg.identity(budget=3)
    def shifto(x):
        return rg.exp(x), rg.exp(x + 1)

    database = rg.SequenceDB("mine")
    database.register("canonicalize", rg.EquilibriumDB("canonicalize"), position=1)
    database.register(shifto, "canonicalize", name="shift_again")
    return database.query("canonicalize").rewrite(rg.exp(x))


@mistake
def runaway():
    """a goal that recurses without end"""

    @rg.relation
    def endlesso(left, right):
        return rg.lall(endlesso(left, right), rg.eq(left, right))

    return rg.rewrite_graph(rg.exp(x), endlesso)


@mistake
def another_type():
    """a rewriter that returns a graph of another type"""

    class Total(rg.NodeRewriter):
        def tracks(self):
            return [rg.exp]

        def transform(self, graph, node):
            return rg.sum(node)

    return rg.rewrite_graph(rg.exp(x), Total())


# Databases.


@mistake
def unknown_tag():
    """an unknown tag"""
    return rg.rewrite_graph(x + 0, include=["canonicalise"])


@mistake
def unknown_mode():
    """an unknown mode"""
    return rg.rewrite_graph(x + 0, mode="fast_runn")


@mistake
def mode_of_another_number():
    """a mode that is nearly one"""
    return rg.mode("o5")


@mistake
def tag_for_a_mode():
    """a tag where a mode is expected"""
    return rg.function([x], x + 0, mode="stabilize")


@mistake
def op_for_a_mode():
    """the name of an op where a mode or relation is expected"""
    return rg.check("softplus")


@mistake
def unregistered():
    """removing a relation that is not registered"""
    return rg.optdb.unregister(distribute_matmulo)


@mistake
def unregistered_name():
    """removing a name that is not registered"""
    return rg.optdb.unregister("cancel_exp_log")


@mistake
def duplicate_name():
    """a name that is registered already"""
    database = rg.RewriteDatabase()
    database.register(distribute_matmulo, "canonicalize")
    database.register(distribute_matmulo, "canonicalize")


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
    """donating what is no input"""
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
    return rg.jit(lambda a: a.sort(), target="numpy")(np.ones(3))


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


@mistake
def recorded_on_the_cpu():
    """recording a call that no GPU makes"""
    return add_function().capture(np.ones(3), np.ones(3))
