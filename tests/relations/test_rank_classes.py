"""Rank classes: for which ranks an identity with products holds, by NumPy's own products."""

from __future__ import annotations

import itertools

import kanren
import numpy as np
import pytest
from etuples import etuple
from kanren.graph import mapo
from unification import vars as lvars

import relgraph as rg
from relgraph.relations import rank_classes
from relgraph.relations.rank_classes import SIZE, sample
from tests.samples import distribute_matmulo, double_addo

RANKS = (1, 2, 3)


@rg.identity
def associate_matmulo(X, Y, Z):
    """(X Y) Z = X (Y Z)."""
    return (X @ Y) @ Z, X @ (Y @ Z)


def operand(rank, seed):
    return np.random.default_rng(seed).integers(-4, 5, (SIZE,) * rank).astype(float)


def holds(ranks):
    """Tell with NumPy whether products of these ranks associate."""
    a, b, c = (operand(rank, seed) for seed, rank in enumerate(ranks))
    try:
        left, right = (a @ b) @ c, a @ (b @ c)
    except ValueError:
        return False
    return left.shape == right.shape and np.allclose(left, right)


@pytest.mark.parametrize("ranks", list(itertools.product(RANKS, repeat=3)), ids=str)
def test_products_associate_where_they_do_in_numpy(ranks):
    for relation in (associate_matmulo, associate_matmulo.reversed):
        allowed = relation.rewrites[0].ranks
        by_name = dict(zip("XYZ", ranks, strict=True))
        assert allowed(tuple(by_name[v.name] for v in allowed.variables)) == holds(ranks)


def test_a_vector_in_the_middle_does_not_match():
    allowed = associate_matmulo.rewrites[0].ranks
    assert [v.name for v in allowed.variables] == ["X", "Y", "Z"]
    assert allowed((2, 2, 1))
    assert not allowed((2, 1, 2))
    A, B = rg.matrices("A B", shape=("n", "n"))
    v = rg.vector("v", shape=("n",))
    assert rg.rewrite_graph((A @ B) @ v, associate_matmulo) is A @ (B @ v)
    assert rg.rewrite_graph((v @ A) @ B, associate_matmulo) is v @ (A @ B)
    assert rg.rewrite_graph((A @ v) @ B, associate_matmulo) is (A @ v) @ B
    assert rg.rewrite_graph(A @ (v @ B), associate_matmulo.reversed) is A @ (v @ B)


def test_the_refused_rewrite_would_change_the_value():
    a, v, b = operand(2, 0), operand(1, 1), operand(2, 2)
    assert not np.allclose((a @ v) @ b, a @ (v @ b))


@pytest.mark.parametrize("right", [1, 2, 3])
@pytest.mark.parametrize("left", [1, 2, 3])
def test_products_distribute_over_sums_of_one_rank(left, right):
    shapes = {1: ("n",), 2: ("n", "n"), 3: (4, "n", "n")}
    X = rg.tensor("X", shape=shapes[left])
    Y, Z = (rg.tensor(name, shape=shapes[right]) for name in "YZ")
    assert rg.rewrite_graph(X @ (Y + Z), distribute_matmulo) is X @ Y + X @ Z
    assert rg.rewrite_graph(X @ Y + X @ Z, distribute_matmulo.reversed) is X @ (Y + Z)


def test_terms_of_two_ranks_are_not_gathered():
    X, Y = rg.matrices("X Y", shape=("n", "n"))
    v = rg.vector("v", shape=("n",))
    graph = X @ Y + X @ v
    assert rg.rewrite_graph(graph, distribute_matmulo.reversed) is graph


def test_ranks_above_three_are_as_three():
    allowed = associate_matmulo.rewrites[0].ranks
    assert allowed((5, 4, 3)) is allowed((3, 3, 3)) is True


def test_an_identity_without_a_product_has_no_rank_classes():
    assert double_addo.rewrites[0].ranks is None


def test_samples_have_the_requested_facts():
    eye = np.eye(SIZE)
    assert (sample(0, 1, ("positive",)) > 0).all()
    symmetric = sample(0, 2, ("symmetric",))
    np.testing.assert_array_equal(symmetric, symmetric.T)
    orthogonal = sample(0, 2, ("orthogonal",))
    np.testing.assert_allclose(orthogonal @ orthogonal.T, eye, atol=1e-12)
    assert (np.linalg.eigvalsh(sample(0, 2, ("spd",))) > 0).all()
    assert np.linalg.matrix_rank(sample(0, 2, ("invertible",))) == SIZE
    diagonal = sample(0, 2, ("diagonal",))
    np.testing.assert_array_equal(diagonal, diagonal * eye)
    np.testing.assert_array_equal(np.triu(sample(0, 2, ("lower_triangular",)), 1), 0 * eye)


def test_samples_differ_and_have_quotients():
    values = [sample(number, 3) for number in range(40)]
    assert all((value != 0).all() for value in values)
    assert len({x for value in values for x in value.flat}) == 40 * SIZE**3


def test_sums_of_products_are_not_equal_by_chance():
    swap = rg.identity(lambda A, B: (rg.sum(A @ B), rg.sum(B @ A)), name="swapo")
    assert swap.rewrites[0].ranks.classes() == {(1, 1)}


@rg.identity
def lift_divide_matmulo(A, B, s):
    """A (B / s) = (A B) / s, for a number s or one for each column."""
    return A @ (B / s), (A @ B) / s


@rg.identity
def symmetric_formo(x, A):
    """x (A + A^T) x = 2 x A x, for vectors x."""
    return x @ (A + A.mT) @ x, 2 * (x @ A @ x)


def test_the_classes_of_three_clauses():
    associate, divide, form = (
        x.rewrites[0].ranks.classes()
        for x in (associate_matmulo, lift_divide_matmulo, symmetric_formo)
    )
    assert associate == {x for x in itertools.product(RANKS, repeat=3) if holds(x)}
    factors = set(itertools.product(RANKS, repeat=2))
    numbers = {(*ranks, 0) for ranks in factors}
    columns = {(*ranks, 1) for ranks in factors if ranks[1] > 1}
    assert divide == numbers | columns
    assert form == {(1, 2), (1, 3)}


def test_rewriting_draws_no_random_numbers_and_computes_nothing_twice(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    for name in ("default_rng", "Generator", "RandomState"):
        monkeypatch.setattr(np.random, name, refuse)
    reverse = rg.identity(lambda X, Y: (rg.inv(X @ Y), rg.inv(Y) @ rg.inv(X)), name="reverse")
    A, B = rg.matrices("A B", shape=("n", "n"))
    S, T = (rg.tensor(name, (2, "n", "n")) for name in "ST")
    assert rg.rewrite_graph(rg.inv(A @ B), reverse) is rg.inv(B) @ rg.inv(A)
    answered = rg.rewrite_graph((A @ S) @ T, rg.relation(associate_kanreno))
    assert answered is A @ (S @ T)
    for name, value in vars(np.linalg).items():
        if callable(value) and not isinstance(value, type):
            monkeypatch.setattr(np.linalg, name, refuse)
    for op in (rg.inv, rg.matmul):
        monkeypatch.setattr(type(op), "perform", refuse)
    for X, Y in ((A, T), (S, B), (S, T)):
        assert rg.rewrite_graph(rg.inv(X @ Y), reverse) is rg.inv(Y) @ rg.inv(X)


def test_identities_of_many_factors_have_classes_too():
    factors = rg.lvars(" ".join(f"X{i}" for i in range(12)))
    left, right = factors[0], factors[-1]
    for x in factors[1:]:
        left = left @ x
    for x in factors[-2::-1]:
        right = x @ right
    ranks = rg.identity(lambda: (left, right), name="chaino").rewrites[0].ranks
    assert len(ranks.variables) == 12
    assert ranks((2,) * 12)
    assert ranks((1, *(2,) * 10, 1))
    assert not ranks((2, 2, 1, *(2,) * 9))


def test_sides_that_are_nan_in_places_are_compared_elsewhere():
    roots = rg.identity(lambda X, Y, Z: (rg.sqrt((X @ Y) @ Z), rg.sqrt(X @ (Y @ Z))), name="rootso")
    A, B = rg.matrices("A B", shape=("n", "n"))
    v = rg.vector("v", shape=("n",))
    assert rg.rewrite_graph(rg.sqrt((A @ B) @ v), roots) is rg.sqrt(A @ (B @ v))
    wrong = rg.sqrt((A @ v) @ B)
    assert rg.rewrite_graph(wrong, roots) is wrong


def test_ranks_are_checked_beside_open_parameters():
    @rg.identity
    def sum_rows_matmulo(X, Y, k):
        """sum(X Y, axis=-1) = X sum(Y, axis=-1), for matrices."""
        left = rg.sum(X @ Y, axis=-1, keepdims=k)
        return left, X @ rg.sum(Y, axis=-1, keepdims=k)

    m, w = rg.matrix("M", shape=(3, 3)), rg.tensor("W", shape=(3, 3, 3))
    for keepdims in (False, True):
        graph = rg.sum(m @ m, axis=-1, keepdims=keepdims)
        assert rg.rewrite_graph(graph, sum_rows_matmulo).op is rg.matmul
    batch = rg.sum(m @ w, axis=-1)
    assert rg.rewrite_graph(batch, sum_rows_matmulo) is batch


n = ("n", "n")
P, A = rg.matrix("P", shape=n), rg.matrix("A", shape=n)
x = rg.vector("x", shape=("n",))


def test_a_law_of_one_matrix_fires_where_the_shapes_agree():
    projection = rg.identity(lambda X: (P @ (P @ X), P @ X), name="projection")
    assert rg.rewrite_graph([P @ (P @ x), P @ (P @ A)], projection) == [P @ x, P @ A]
    assert rg.rewrite_graph(A @ (P @ x), projection) is A @ (P @ x)
    idempotent = rg.identity(
        lambda X: (X @ X, X), where=lambda X: rg.checko(lambda X: X is P, X), name="idempotent"
    )
    assert rg.rewrite_graph([P @ P, A @ A], idempotent) == [P, A @ A]
    turned = rg.identity(lambda X: (P @ X, X.mT @ X), name="turned")
    assert rg.rewrite_graph([P @ A, P @ x], turned) == [A.mT @ A, P @ x]


def test_a_factor_that_only_a_graph_can_compute_is_not_compared():
    scale = rg.identity(
        lambda s, t, X, Y: ((s * X) @ Y, t * (X @ Y)),
        where=lambda s, t: rg.calco(t, lambda s: s, s),
        name="scale",
    )
    s = rg.scalar("s")
    assert rg.rewrite_graph((s * A) @ P, scale) is (s * A) @ P


def test_check_finds_relations_that_are_false_for_all_matrices():
    false = rg.identity(lambda X: (X @ X, 2 * X), name="false")
    assert rg.rewrite_graph(A @ A, false) == 2 * A
    found = rg.check(false)
    assert not found
    assert found.counterexample is not None


def associate_kanreno(left, right):
    """(X Y) Z = X (Y Z), beside a goal whose answers do not end."""
    X, Y, Z, xs = lvars(4)
    return kanren.lall(
        kanren.eq(left, etuple(rg.matmul, etuple(rg.matmul, X, Y), Z)),
        kanren.eq(right, etuple(rg.matmul, X, etuple(rg.matmul, Y, Z))),
        mapo(kanren.eq, xs, xs),
    )


def invert_kanreno(left, right):
    """X^-1 (X Y) = Y, beside the same."""
    X, Y, xs = lvars(3)
    return kanren.lall(
        kanren.eq(left, etuple(rg.matmul, etuple(rg.inv, X), etuple(rg.matmul, X, Y))),
        kanren.eq(right, Y),
        mapo(kanren.eq, xs, xs),
    )


def test_answers_of_kanren_respect_the_ranks():
    relation = rg.relation(associate_kanreno)
    assert relation.interpreted
    A, B = rg.matrices("A B", shape=("n", "n"))
    u, v = rg.vectors("u v", shape=("n",))
    T = rg.tensor("T", (2, "n", "n"))
    wrong = [(A @ v) @ B, (A @ v) @ T, (T @ v) @ B]
    right = {
        (A @ B) @ A: A @ (B @ A), (A @ B) @ v: A @ (B @ v), (u @ A) @ B: u @ (A @ B),
        (u @ A) @ v: u @ (A @ v), (A @ T) @ B: A @ (T @ B), (T @ A) @ v: T @ (A @ v),
    }  # fmt: skip
    for _ in range(2):  # asked, and then remembered
        for graph in wrong:
            assert rg.rewrite_graph(graph, relation) is graph
        for graph, expected in right.items():
            assert rg.rewrite_graph(graph, relation) is expected
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    assert not np.allclose((a @ b) @ c, a @ (b @ c))
    inverse = rg.relation(invert_kanreno)
    for y in (v, A, T):
        assert rg.rewrite_graph(rg.inv(A) @ (A @ y), inverse) is y


def test_relations_that_hold_for_no_ranks_are_trusted():
    def projecto(left, right):
        """P (P x) = P x for what the caller knows to be a projection."""
        P, x, xs = lvars(3)
        return kanren.lall(
            kanren.eq(left, etuple(rg.matmul, P, etuple(rg.matmul, P, x))),
            kanren.eq(right, etuple(rg.matmul, P, x)),
            mapo(kanren.eq, xs, xs),
        )

    P, v = rg.matrix("P", shape=("n", "n")), rg.vector("v", shape=("n",))
    assert rg.rewrite_graph(P @ (P @ v), rg.relation(projecto)) is P @ v


def halved(perform):
    """Return an op of one operand that a function computes."""

    class Halved(rg.Op):
        name = "halved"
        arity = 1

        def infer(self, x):
            return x

        def perform(self, x):
            return perform(x)

    return Halved()


@pytest.mark.parametrize("error", [AssertionError, RuntimeError, KeyError, ZeroDivisionError])
def test_an_op_that_refuses_a_rank_has_no_value_there(error):
    def of_matrices(x):
        if x.ndim == 1:
            raise error("no vectors")
        return x / 2

    half = halved(of_matrices)
    halvo = rg.identity(lambda X, Y: (half(X @ Y), X @ half(Y)), name="halvo")
    ranks = halvo.rewrites[0].ranks
    assert ranks((2, 2))
    assert not ranks((2, 1))


def test_a_misspelt_attribute_in_an_op_is_not_taken_for_a_refusal():
    half = halved(lambda x: x.halff())
    left = rg.identity(lambda X, Y: (half(X @ Y), X @ half(Y)), name="halvo")
    with pytest.raises(AttributeError, match="halff"):
        left.rewrites[0].ranks((2, 2))


def test_a_mistake_in_an_op_is_not_taken_for_a_refusal():
    half = halved(lambda x: x / half_of_it)  # noqa: F821
    left = rg.identity(lambda X, Y: (half(X @ Y), X @ half(Y)), name="halvo")
    with pytest.raises(NameError, match="half_of_it"):
        left.rewrites[0].ranks((2, 2))
    A, v = rg.matrix("A", shape=("n", "n")), rg.vector("v", shape=("n",))

    def halvo(left, right):
        X, y, xs = lvars(3)
        return kanren.lall(
            kanren.eq(left, etuple(half, etuple(rg.matmul, X, y))),
            kanren.eq(right, etuple(rg.matmul, X, etuple(half, y))),
            mapo(kanren.eq, xs, xs),
        )

    with pytest.raises(NameError, match="half_of_it"):
        rg.rewrite_graph(half(A @ v), rg.relation(halvo))


def test_few_instances_are_remembered(monkeypatch):
    monkeypatch.setattr(rank_classes, "KEPT", 3)
    monkeypatch.setattr(rank_classes, "_remembered", type(rank_classes._remembered)())
    relation = rg.relation(associate_kanreno)
    A, B = rg.matrices("A B", shape=("n", "n"))
    u, v = rg.vectors("u v", shape=("n",))
    T = rg.tensor("T", (2, "n", "n"))
    sizes = []
    for x, y, z in ((A, B, v), (u, A, B), (u, A, v), (A, T, B), (T, A, v)):
        assert rg.rewrite_graph((x @ y) @ z, relation) is x @ (y @ z)
        sizes.append(len(rank_classes._remembered))
    assert sizes == [1, 2, 3, 3, 3]


@pytest.mark.parametrize("needs_scalars", [False, True])
def test_a_product_with_a_number_computed_from_values_fires(needs_scalars):
    def product_of(c, d):
        value = c.value.item() * d.value.item() if needs_scalars else c.value * d.value
        return rg.constant(value)

    @rg.identity(
        where=lambda c, d, e: (rg.constanto(c), rg.constanto(d), rg.calco(e, product_of, c, d)),
        specials="assumes_finite",
        broadcast="*",
    )
    def merge_coefficientso(c, d, e, X, Y):
        """(c X) (d Y) = e X Y, where e is c d."""
        return (c * X) @ (d * Y), e * (X @ Y)

    A, B = rg.matrices("A B", shape=(3, 3))
    assert rg.rewrite_graph((2.0 * A) @ (3.0 * B), merge_coefficientso) is 6.0 * (A @ B)
