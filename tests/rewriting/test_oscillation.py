"""Rewriting that would not end raises an error quickly and leaves nothing half-rewritten."""

import pytest

import relgraph as rg
from relgraph.errors import BudgetError, NotInvertibleError, OscillationError
from relgraph.rewriting import budgets, nary_normaliser
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import Selection

x, y, z = rg.vectors("x y z")


@rg.identity
def turn_subtracto(a, b):
    return a - b, a + -b


@rg.identity
def return_subtracto(a, b):
    return a + -b, a - b


@rg.identity
def flip_subtracto(a, b):
    return a - b, -(b - a)


@rg.identity
def factor_addo(a, b):
    return a * b + a, a * (b + 1)


@rg.identity
def expand_multiplyo(a, b):
    return a * (b + 1), a * b + a


@rg.identity
def square_multiplyo(a):
    return a * a, rg.square(a)


@rg.identity
def wrap_sino(a):
    return rg.sin(a), rg.sin(a) * 1


@rg.identity
def deepen_sino(a):
    return rg.sin(a), rg.sin(rg.sin(a) - a)


@rg.identity
def climb_addo(a, b):
    return a + b, rg.maximum(a, b) + rg.minimum(a, b)


@rg.identity
def swap_tano(a):
    return rg.tan(a), rg.sinh(a)


@rg.identity
def swap_sinho(a):
    return rg.sinh(a), rg.cosh(a)


@rg.identity
def swap_cosho(a):
    return rg.cosh(a), rg.tan(a)


@pytest.fixture
def short_chains(monkeypatch):
    """Call growth runaway early: each step looks at more than the last."""
    monkeypatch.setattr(budgets, "CHAIN", 50)
    monkeypatch.setattr(nary_normaliser, "CHAIN", 50)


@pytest.mark.parametrize(
    "graph, relations",
    [
        (x - y, (turn_subtracto, return_subtracto)),
        (x * y + x, (factor_addo, expand_multiplyo)),
        (x * (y + 1) + z, (factor_addo, expand_multiplyo)),
        (rg.exp(rg.tan(x)), (swap_tano, swap_sinho, swap_cosho)),
    ],
    ids=str,
)
def test_relations_that_undo_each_other_are_named(graph, relations):
    with pytest.raises(OscillationError, match="undo each other") as raised:
        rg.rewrite_graph(graph, *relations)
    names = {step[0] for step in raised.value.cycle}
    assert names - {"(rebuilt)"} == {r.name for r in relations}
    assert all(name in str(raised.value) for name in names - {"(rebuilt)"})


def test_the_cycle_holds_the_graphs_and_comes_back_to_where_it_was():
    with pytest.raises(OscillationError) as raised:
        rg.rewrite_graph(rg.tan(x), swap_tano, swap_sinho, swap_cosho)
    before = [step[1] for step in raised.value.cycle]
    after = [step[2] for step in raised.value.cycle]
    assert set(before) == set(after) == {rg.tan(x), rg.sinh(x), rg.cosh(x)}
    assert before[1:] == after[:-1]


@pytest.mark.parametrize(
    "graph, relation",
    [(rg.sin(x), wrap_sino), (rg.sin(x), deepen_sino), (x - y, flip_subtracto)],
    ids=str,
)
def test_growth_inside_its_own_result_is_told_at_the_first_step(graph, relation):
    with pytest.raises(OscillationError, match="grow inside its own result") as raised:
        rg.rewrite_graph(rg.exp(graph), relation)
    assert relation.name in str(raised.value)
    assert len(raised.value.cycle) <= 3


@pytest.mark.parametrize(
    "graph, relations",
    [
        (x + y, (climb_addo,)),
        (x + y + z, (climb_addo,)),
        (rg.maximum(x + y, z) + y, (climb_addo, square_multiplyo)),
    ],
    ids=str,
)
@pytest.mark.usefixtures("short_chains")
def test_growth_without_end_spends_the_budget(graph, relations):
    with pytest.raises(BudgetError, match="climb_addo does not come to an end"):
        rg.rewrite_graph(graph, *relations)


@pytest.mark.usefixtures("short_chains")
def test_growth_through_rebuilt_nodes_ends_too():
    @rg.identity
    def absorb_minimumo(a, b):
        return rg.minimum(a, rg.maximum(a, b)), a

    term = rg.minimum(x, y)
    with pytest.raises(BudgetError):
        rg.rewrite_graph(rg.maximum(term, x) + term, climb_addo, absorb_minimumo)


def test_growth_through_nested_sums_ends_too():
    @rg.identity
    def nest_addo(a, b):
        return rg.sin(a) + rg.sin(b), rg.cos(rg.sin(a) + rg.sin(rg.cos(b)))

    with pytest.raises((BudgetError, OscillationError)):
        rg.rewrite_graph(rg.sin(x) + rg.sin(y) + z, nest_addo)


def test_both_directions_of_a_relation_are_refused():
    with pytest.raises(OscillationError, match="both directions of factor_addo are selected"):
        rg.rewrite_graph(x, factor_addo, factor_addo.reversed)
    with pytest.raises(OscillationError, match="both directions"):
        Selection([square_multiplyo.reversed, square_multiplyo])


def test_a_selection_is_usable_after_an_error_and_remembers_nothing_of_it():
    selection = Selection([turn_subtracto, return_subtracto, square_multiplyo])
    good, bad = rg.exp(x * x), rg.exp(x * x) + (x - y)
    with pytest.raises(OscillationError):
        normalise([bad], selection)
    assert normalise([good], selection) == (rg.exp(rg.square(x)),)
    with pytest.raises(OscillationError):
        normalise([good, bad], selection)
    assert normalise([good], selection) == (rg.exp(rg.square(x)),)


def test_a_relation_of_its_own_budget_is_stopped_by_it():
    @rg.identity(budget=3)
    def cancel_expo(a):
        return rg.log(rg.exp(a)), a

    def nested(depth):
        node = x
        for _ in range(depth):
            node = rg.log(rg.exp(rg.sin(node)))
        return node

    assert rg.rewrite_graph(nested(3), cancel_expo) is rg.sin(rg.sin(rg.sin(x)))
    with pytest.raises(BudgetError, match="its budget of 3 firings is spent"):
        rg.rewrite_graph(nested(9), cancel_expo)


def test_relations_of_one_name_have_budgets_of_their_own():
    logs = rg.identity(lambda a: (rg.log(rg.exp(a)), a), budget=2)
    exps = rg.identity(lambda a: (rg.exp(rg.log(a)), a), budget=5)
    free = rg.identity(lambda a: (rg.abs(rg.abs(a)), rg.abs(a)))

    def nested(wrap, inner, middle, outer):
        node = x
        for times, (f, g) in (
            (inner, (rg.exp, rg.log)),
            (middle, (rg.log, rg.exp)),
            (outer, (rg.abs, rg.abs)),
        ):
            for _ in range(times):
                node = wrap(g(f(node)))
        return node

    relations = [logs, exps, free]
    made = rg.rewrite_graph(nested(rg.sin, 2, 5, 9), relations)
    assert str(made).count("sin") == 16 and "exp" not in str(made)
    for counts, budget in (((rg.cos, 4, 0, 0), 2), ((rg.tan, 0, 7, 0), 5)):
        with pytest.raises(BudgetError, match=f"its budget of {budget} firings is spent"):
            rg.rewrite_graph(nested(*counts), relations)


@pytest.mark.parametrize("graph", [rg.log(rg.exp(rg.log(rg.exp(x)))), x * 1 + y * 1 + z * 1])
def test_a_time_limit_ends_a_rewriting_and_leaves_nothing_behind(graph):
    with rg.config(time_limit=1e-9), pytest.raises(BudgetError, match="time limit of 1e-09 s"):
        rg.rewrite_graph(graph, mode="o4")
    with rg.config(time_limit=1000):
        limited = rg.rewrite_graph(graph, mode="o4")
    assert limited is rg.rewrite_graph(graph, mode="o4")
    assert limited is not graph


def test_max_use_ratio_bounds_every_relation():
    rewriter = rg.EquilibriumGraphRewriter([square_multiplyo], max_use_ratio=0.5)
    assert rewriter.rewrite(rg.exp(x * x)) is rg.exp(rg.square(x))
    many = (x * x) - (y * y)
    with pytest.raises(BudgetError):
        rg.EquilibriumGraphRewriter([square_multiplyo], max_use_ratio=0.1).rewrite(many)


def test_relations_that_only_meet_in_turns_are_not_called_oscillating():
    node = x
    for _ in range(200):
        node = rg.square(node) * node
    assert rg.rewrite_graph(node, square_multiplyo) is node


def test_a_side_that_matches_everything_has_no_direction():
    @rg.identity
    def double_halveo(a):
        return 2 * (a / 2), a

    with pytest.raises(NotInvertibleError):
        double_halveo.reversed


def test_long_chains_that_end_are_no_error():
    @rg.identity
    def peel_logo(a, b):
        return rg.log(a * b), rg.log(a) + rg.log(b)

    factors = [rg.exp(rg.scalar(f"v{i}")) for i in range(400)]
    product = factors[0]
    for f in factors[1:]:
        product = product * f
    result = rg.rewrite_graph(rg.log(product), peel_logo)
    assert result.op is rg.add
    assert len([n for n in rg.FunctionGraph(None, result) if n.op is rg.add]) == 399


@pytest.mark.parametrize(
    ("sides", "graph"),
    [
        (lambda a, b: (a * b, a * b * 1), rg.scalar("p") * rg.scalar("q")),
        (lambda a, b: (a + b, a + b + 0 * a), rg.scalar("p") + rg.scalar("q")),
    ],
    ids=["product", "sum"],
)
def test_a_relation_that_adds_operands_for_ever_is_told(sides, graph):
    growing = rg.identity(sides, name="growo")
    with pytest.raises((BudgetError, OscillationError), match="growo"):
        rg.rewrite_graph(graph, growing)
