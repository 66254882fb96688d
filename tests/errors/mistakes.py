"""The usual mistakes with graphs, relations and databases, each a function that makes one."""

from __future__ import annotations

import numpy as np

import relgraph as rg
from relgraph.ops.concatenate import Concatenate
from tests.errors.cases import A, B, Cases, x, y
from tests.samples import distribute_matmulo

MISTAKES = Cases()
mistake = MISTAKES.add


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
def compared_by_identity():
    """elements compared with =="""
    return x * (x == 1)


@mistake
def squeezed_at_the_call():
    """a size of 1 at the call that squeeze keeps"""
    a = rg.matrix("a")
    return rg.function([a], a.squeeze(), target="numpy")(np.ones((2, 1)))


@mistake
def decimals_of_bools():
    """decimals of bools"""
    return (x > 0).round(1)


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
    """a query of something that is not a graph"""

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
def op_variable_without_kind():
    """an op variable of no kind"""

    @rg.identity
    def lift_transposeo(f, x):
        return f(x.mT), f(x).mT


@mistake
def op_variable_of_unknown_kind():
    """an op variable of a kind that does not exist"""

    @rg.identity(where=lambda f: rg.op_kindo(f, "elementwize"))
    def lift_transposeo(f, x):
        return f(x.mT), f(x).mT


@mistake
def op_variable_on_one_side():
    """an op variable on the other side only"""

    @rg.identity(where=rg.elementwiseo)
    def some_functiono(f, x):
        return rg.exp(x), f(x)

    return rg.rewrite_graph(rg.exp(x), some_functiono)


@mistake
def op_variable_of_wrong_arity():
    """an op variable on more operands than its ops take"""

    @rg.identity(where=rg.reductiono)
    def reduce_twoo(f, x, y):
        return f(x, y), f(y, x)


@mistake
def op_variable_with_dots():
    """three dots after two operands"""

    @rg.identity(where=rg.elementwiseo)
    def lift_transposeo(f, x, y):
        return f(x.mT, y.mT, ...), f(x, y, ...).mT


@mistake
def op_variable_as_operand():
    """an op variable that is an operand too"""

    @rg.identity(where=rg.elementwiseo)
    def apply_twiceo(f, x):
        return f(f, x), f(x)


@mistake
def op_variable_beside_product():
    """an op variable beside a product of matrices"""

    @rg.identity(where=rg.linearo)
    def linear_producto(f, x, y):
        return f(x @ y), f(x) @ y


@mistake
def sequence_in_sum():
    """a sequence of operands in a sum"""

    @rg.identity
    def sum_of_sequenceo(x, k):
        return rg.exp(rg.add(x, *k)), rg.exp(x)


@mistake
def too_many_sequences():
    """three sequences of operands to match"""

    @rg.identity
    def joino(a, b, c, k):
        return Concatenate(k)(*a, *b, *c), Concatenate(k)(*a, Concatenate(k)(*b), *c)

    return rg.rewrite_graph(rg.concatenate([x, y]), joino)


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
    return rg.mode("o6")


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
    database.register(distribute_matmulo.reversed, "canonicalize", name="distribute_matmulo")


# Formulas.


@mistake
def no_antiderivative():
    """an antiderivative that is not found"""
    t = rg.scalar("t")
    return rg.antiderivative(rg.exp(t**2), t)
