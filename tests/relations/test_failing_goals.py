"""What goals and side conditions raise is reported with their relation; queries take arrays."""

import kanren
import numpy as np
import pytest
from unification import var

import relgraph as rg
from relgraph.errors import NotInvertibleError, RelationError, UnboundVariableError

x, y = rg.vectors("x y", shape=("n",))


def raising(state):
    raise KeyError("boo")


@pytest.mark.parametrize("body", [lambda left, right: 1 / 0, lambda left, right: raising])
def test_a_goal_that_raises_is_named(body):
    with pytest.raises(RelationError, match="faultyo: its goal failed"):
        rg.relation(body, name="faultyo")


def test_a_goal_that_raises_on_graphs_only_is_named_when_it_runs():
    def body(left, right):
        return rg.eq(left, right) if not isinstance(left, rg.Variable) else raising

    faulty = rg.relation(body, name="faultyo")
    with pytest.raises(RelationError, match="faultyo: its goal failed") as caught:
        faulty.run(1, rg.exp(x))
    assert isinstance(caught.value.__cause__, KeyError)


def test_errors_of_relgraph_in_a_goal_keep_their_class_and_gain_the_name():
    def body(left, right):
        return rg.facto(left, "postive")

    with pytest.raises(rg.errors.DomainError, match="faultyo: there is no fact 'postive'"):
        rg.relation(body, name="faultyo")


def never(v):
    raise KeyError("boo")


@pytest.mark.parametrize(
    ("where", "error", "what", "fix"),
    [
        (never, RelationError, "faultyo: its condition .* failed", "rg.checko"),
        (lambda v: rg.facto(v, "postive"), rg.errors.DomainError,
         "faultyo: there is no fact 'postive'", "positive"),
        (lambda v: rg.checko(3, v), rg.errors.ArgumentError, "faultyo: checko takes", "checko"),
        (max, RelationError, "faultyo: where= is .*max.* cannot be read", "in Python"),
    ],
)  # fmt: skip
def test_a_condition_that_raises_where_it_is_declared_is_named(where, error, what, fix):
    with pytest.raises(error, match=what) as caught:
        rg.identity(lambda v: (rg.exp(v), rg.sin(v)), name="faultyo", where=where)
    assert "declared" in str(caught.value)
    assert fix in str(caught.value).splitlines()[-1]
    if where is never:
        assert isinstance(caught.value.__cause__, KeyError)
        assert str(caught.value).splitlines()[2].strip().startswith("condition : test_failing_go")


def test_an_identity_of_numbers_is_refused():
    for sides in (lambda: (1 + 2, 4), lambda v: (1.0, True)):
        with pytest.raises(RelationError, match="faultyo: both sides are numbers"):
            rg.identity(sides, name="faultyo")
    with pytest.raises(RelationError, match=r"built-in function max.* cannot be read"):
        rg.identity(max)
    # A graph without variables is a side: it stands for itself.
    made = rg.identity(lambda: (rg.exp(1.0), rg.constant(np.e)))
    assert rg.rewrite_graph(rg.exp(1.0) * x, made) is rg.constant(np.e) * x


def test_a_goal_constructor_takes_two_sides():
    with pytest.raises(RelationError, match="<lambda> must take two sides"):
        rg.rewrite_graph(rg.exp(x), lambda left: rg.eq(left, 1))
    assert rg.relation(lambda *sides: rg.eq(rg.exp(x), sides[0])).run(1, rg.exp(x))


@pytest.mark.parametrize("holds", [lambda v: v > 0, lambda v: "no", lambda v: None, lambda v: 1])
def test_a_side_condition_returns_a_bool(holds):
    made = rg.identity(
        lambda v: (rg.exp(v), rg.sin(v)), name="wrongo", where=lambda v: rg.checko(holds, v)
    )
    for use in (lambda: rg.rewrite_graph(rg.exp(x), made), lambda: made.run(1, rg.exp(x))):
        with pytest.raises(RelationError, match=r"wrongo: .* side condition failed") as caught:
            use()
        assert "not True or False" in str(caught.value)


def test_numpy_bools_are_bools():
    made = rg.identity(
        lambda v: (rg.exp(v), rg.sin(v)),
        where=lambda v: rg.checko(lambda v: np.bool_(v.ndim == 1), v),
        name="vectors_only",
    )
    assert rg.rewrite_graph(rg.exp(x), made) is rg.sin(x)
    assert rg.rewrite_graph(rg.exp(rg.scalar("s")), made) is rg.exp(rg.scalar("s"))


def test_conditions_of_one_predicate_are_merged_in_a_sum_of_any_length():
    def is_vector(v):
        return v.ndim == 1

    @rg.identity(where=lambda b, c: (rg.checko(is_vector, b), rg.checko(is_vector, c)))
    def factoro(a, b, c):
        return a * b + a * c, a * (b + c)

    u, v, w, z = rg.vectors("u v w z", shape=("n",))
    assert rg.rewrite_graph(z * u + z * v + z * w, factoro) is z * (u + v + w)


def test_a_query_takes_an_array_as_a_constant():
    @rg.identity
    def double_addo(v):
        return v + v, 2 * v

    values = np.array([1.0, 2.0])
    assert double_addo.run(1, values) == ()
    (answer,) = double_addo.run(1, rg.constant(values) + rg.constant(values))
    assert answer is 2 * rg.constant(values)
    same = rg.relation(rg.eq, name="sameo")
    assert same.run(1, values) == (rg.constant(values),)
    assert same.run(1, np.float64(3.0), rg.constant(3.0)) == (rg.constant(3.0),)


@pytest.mark.parametrize("side", ["abc", [1, 2], {1}, object()])
def test_a_query_refuses_what_is_no_graph(side):
    double = rg.identity(lambda v: (v + v, 2 * v), name="double_addo")
    with pytest.raises(rg.errors.ArgumentError, match="takes graphs, and its left side"):
        double.run(1, side)
    with pytest.raises(rg.errors.ArgumentError, match="and its right side is a"):
        double.run(1, None, side)


def test_a_graph_as_a_whole_side_stands_for_itself():
    made = rg.identity(lambda: (rg.exp(x), y), name="known_o")
    assert rg.rewrite_graph([rg.exp(x) + 1, rg.exp(y)], made) == [y + 1, rg.exp(y)]
    assert made.run(1, rg.exp(x)) == (y,)
    product = rg.identity(lambda: (x * y, rg.exp(x)), name="known_producto")
    z = rg.vector("z", shape=("n",))
    assert rg.rewrite_graph(y * z * x, product) is rg.exp(x) * z
    assert rg.rewrite_graph(rg.exp(x), product.reversed) is x * y
    rg.explain(y * z * x, product).check()


def test_an_input_is_no_side_to_match():
    with pytest.raises(NotInvertibleError, match="the side to match is an input"):
        rg.identity(lambda: (x, y))
    with pytest.raises(NotInvertibleError, match="the side to match is a constant"):
        rg.identity(lambda: (rg.constant(1.0), y))


def test_a_relation_that_cannot_be_compiled_answers_queries():
    @rg.relation
    def inputs_o(left, right):
        return rg.lall(rg.eq(left, x), rg.eq(right, y))

    assert inputs_o.run(1, x) == (y,)
    assert inputs_o.run(1, None, y) == (x,)
    q = var()
    assert kanren.run(1, q, inputs_o(x, q)) == (y,)
    with pytest.raises(NotInvertibleError, match="the side to match is an input"):
        rg.rewrite_graph(rg.exp(x), inputs_o)


def test_a_direction_that_cannot_run_is_an_error_whatever_the_graph():
    @rg.relation
    def openo(left, right):
        a, b = rg.lvars("a b")
        return rg.lall(rg.eq(left, rg.exp(a)), rg.eq(right, rg.sin(a) * rg.cos(b)))

    for graph in (rg.exp(x), rg.log(x)):
        with pytest.raises(UnboundVariableError, match="nothing binds b"):
            rg.rewrite_graph(graph, openo)
