"""Matching in sums and products: roles, gathering, and the indexes that find partners."""

import itertools

import pytest

import relgraph as rg
from relgraph.relations.ac_matcher import AcMatcher
from tests.samples import (
    count_oneso,
    distribute_matmulo,
    double_addo,
    merge_expo,
    pythagoraso,
    remove_add_zeroo,
)

x, y, z, w = rg.vectors("x y z w", 3)
A, B, C = rg.matrices("A B C", shape=(3, 3))


def matcher(op, *relations, fold=None):
    return AcMatcher(op, [r for x in relations for r in x.rewrites], fold)


def step(op, operands, *relations):
    """Match operands that are all new; return what is left and what was made, sorted by text."""
    found = matcher(op, *relations)
    view = found.view()
    view.fill(operands)
    matches = found.step(view)
    made = [(m.firing.rewrite.relation, repr(m.firing.result)) for m in matches]
    return [repr(x) for x in view.in_order()], made


@rg.identity
def cancel_addo(a, b):
    return (a - b) + b, a


@rg.identity
def triple_addo(a, b):
    return rg.sin(a) + rg.cos(b) + rg.tan(a), rg.sinh(a) + b


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_any_order_matches(order):
    operands = [rg.sin(x) ** 2, y, rg.cos(x) ** 2, z]
    left, made = step(rg.add, [operands[i] for i in order], pythagoraso)
    assert sorted(left) == ["y", "z"]
    assert [name for name, _ in made] == ["pythagoraso"]


def test_partners_share_their_variables():
    operands = [rg.sin(x) ** 2, rg.cos(y) ** 2, rg.sin(z) ** 2, rg.cos(x) ** 2]
    left, made = step(rg.add, operands, pythagoraso)
    assert left == ["cos(y) ** 2", "sin(z) ** 2"]
    assert len(made) == 1


def test_matches_are_disjoint():
    left, made = step(rg.add, [x, x, x, y, x, x], double_addo)
    assert sorted(left) == ["x", "y"]
    assert made == [("double_addo", "2 * x")] * 2


def test_the_rule_declared_first_takes_its_operands():
    operands = [x - y, y, y]
    assert step(rg.add, operands, cancel_addo, double_addo) == (["y"], [("cancel_addo", "x")])
    assert step(rg.add, operands, double_addo, cancel_addo) == (
        ["x - y"], [("double_addo", "2 * y")],
    )  # fmt: skip


def test_three_operands_match_together():
    left, made = step(rg.add, [rg.tan(x), y, rg.cos(z), rg.sin(x)], triple_addo)
    assert left == ["y"]
    assert made == [("triple_addo", "sinh(x) + z")]
    assert step(rg.add, [rg.tan(x), y, rg.cos(z), rg.sin(y)], triple_addo)[1] == []


def test_numbers_are_matched_among_operands():
    left, made = step(rg.add, [x, rg.constant(0.0), y], remove_add_zeroo)
    assert len(left) == 1
    assert [name for name, _ in made] == ["remove_add_zeroo"]


def test_terms_are_gathered_all_at_once():
    operands = [A @ x, B @ y, A @ z, w, A @ y, B @ w]
    left, made = step(rg.add, operands, distribute_matmulo.reversed)
    assert left == ["w"]
    assert made == [
        ("distribute_matmulo.reversed", "A @ (x + z + y)"),
        ("distribute_matmulo.reversed", "B @ (y + w)"),
    ]


def test_the_bucket_that_saves_more_comes_first():
    operands = [A @ B, A @ C, x + 0 * y, C @ B, C @ A, C @ C]
    _, made = step(rg.add, operands, distribute_matmulo.reversed)
    assert [text for _, text in made] == ["C @ (B + A + C)", "A @ (B + C)"]


def test_gathered_terms_have_one_type():
    batch = rg.tensor("T", (2, 3, 3))
    left, made = step(rg.add, [A @ x, A @ batch, A @ y], distribute_matmulo.reversed)
    assert left == ["A @ T"]
    assert [text for _, text in made] == ["A @ (x + y)"]


def test_new_operands_meet_old_ones_only_once():
    found = matcher(rg.add, pythagoraso)
    view = found.view()
    old = [view.add(rg.sin(x) ** 2), view.add(y)]
    assert found.step(view) == []
    new = view.add(rg.cos(x) ** 2)
    (match,) = found.step(view)
    assert set(match.slots) == {old[0], new}
    assert [repr(n) for n in view.in_order()] == ["y"]


def test_pairs_match_as_views_do():
    found = matcher(rg.add, pythagoraso, double_addo, count_oneso)
    pairs = [
        (rg.sin(x) ** 2, rg.cos(x) ** 2), (rg.cos(x) ** 2, rg.sin(x) ** 2), (x, x), (x, y),
        (y * x, x), (x, 3 * x), (y, x * z), (x - y, y),
    ]  # fmt: skip
    for a, b in pairs:
        one = found.pair(a, b)
        view = found.view()
        view.fill([a, b])
        several = found.step(view)
        assert (one is None) == (not several), (a, b)
        if one is not None:
            assert one[0] is several[0].firing.result


def test_pairs_are_gathered():
    found = matcher(rg.multiply, merge_expo)
    result, rewrite, _ = found.pair(rg.exp(x), rg.exp(y))
    assert result is rg.exp(x + y)
    assert rewrite.relation == "merge_expo"
    assert found.pair(rg.exp(x), y) is None


def test_a_short_look_rules_out_operands_that_cannot_match():
    found = matcher(rg.add, pythagoraso, distribute_matmulo.reversed)

    def idle(found, *operands):
        return found.idle([(x, False) for x in operands], True)

    assert not idle(found, rg.sin(x) ** 2, y, rg.cos(y) ** 2)
    assert not idle(found, A @ x, y, A @ y)
    assert idle(found, A @ x, y, rg.sin(x))
    assert idle(found, rg.sin(x), x * y, y)
    assert not idle(matcher(rg.add, double_addo), x, y, x)
    assert idle(matcher(rg.add, double_addo), x, y)


def test_constants_are_folded_where_a_fold_is_given():
    asked = []

    def fold(op, constants):
        asked.append((op, constants))

    one, two = rg.constant(1.0), rg.constant(2.0)
    found = matcher(rg.add, remove_add_zeroo, fold=fold)
    view = found.view()
    view.fill((x, one, y, two))
    found.step(view)
    assert asked == [(rg.add, (one, two))]


def test_partners_are_found_by_what_stands_in_them():
    """Many products and many terms: each term looks up its own products only."""
    found = matcher(rg.add, count_oneso, cancel_addo)
    terms = [rg.vector(f"v{i}", 3) for i in range(50)]
    view = found.view()
    slots = [view.add(rg.sin(t) * x) for t in terms]
    slots += [view.add(y - t) for t in terms]
    slots += [view.add(rg.sin(terms[7])), view.add(terms[9])]
    matches = found.step(view)
    assert sorted(repr(m.firing.result) for m in matches) == ["(x + 1) * sin(v7)", "y"]
    assert {rg.multiply, rg.subtract} <= set(view.main.inside)


def test_a_removed_operand_is_no_longer_found():
    found = matcher(rg.add, count_oneso)
    view = found.view()
    slots = [view.add(n) for n in (y * x, y * x, x)]
    view.remove(slots[:1])
    assert len(found.step(view)) == 1
    view = found.view()
    slots = [view.add(n) for n in (y * x, x)]
    view.remove(slots[:1])
    assert found.step(view) == []
    assert list(view.operands.values()) == [x]
