"""``rg.explain`` says why a relation that was passed fired nowhere."""

from __future__ import annotations

import pickle

import pytest

import relgraph as rg

x, y, z = rg.vectors("x y z", 3)
p = rg.vector("p", 3, facts=("positive",))


@rg.identity(where=lambda a, b: (rg.nonnegativeo(a), rg.nonnegativeo(b)), specials="assumes_finite")
def log_producto(a, b):
    """log(a) + log(b) = log(a b) where a and b are not negative."""
    return rg.log(a) + rg.log(b), rg.log(a * b)


@rg.identity
def cancel_log_expo(a):
    """log(exp(a)) = a."""
    return rg.log(rg.exp(a)), a


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (
            rg.log(p) + rg.log(y) - z,
            "nothing proves that y is nonnegative at log(p) + log(y) - z",
        ),
        (rg.log(x) + rg.log(y), "nothing proves that x is nonnegative at log(x) + log(y)"),
        (
            rg.sin(x) + rg.log(p),
            "sin(x) stands where the pattern has log(a) at sin(x) + log(p)",
        ),
        (
            rg.sin(x),
            "no node of the graph matches log(a) + log(b): add does not occur in it",
        ),
    ],
)
def test_the_condition_that_is_not_proved_is_named(graph, reason):
    derivation = rg.explain(graph, log_producto)
    assert derivation.unused == (("log_producto", reason),)
    assert str(derivation).endswith(f"not used: log_producto, {reason}")
    assert pickle.loads(pickle.dumps(derivation)).unused == derivation.unused


def test_the_reverse_is_named_as_such():
    derivation = rg.explain(rg.log(p * x), log_producto.reversed)
    reason = "nothing proves that x is nonnegative at log(p * x)"
    assert derivation.unused == (("log_producto.reversed", reason),)


def test_what_fires_has_no_reason():
    assert rg.explain(rg.log(p) + rg.log(p + 1), log_producto).unused == ()


def test_another_relation_may_fire_first():
    @rg.identity
    def log_exp_zeroo(a):
        """log(exp(a)) = a + 0."""
        return rg.log(rg.exp(a)), a + 0

    graph = rg.log(rg.exp(x)) + 1
    derivation = rg.explain(graph, cancel_log_expo, log_exp_zeroo)
    assert derivation.after == (x + 1,)
    ((name, reason),) = derivation.unused
    assert name == "log_exp_zeroo"
    assert reason == "cancel_log_expo fires first at log(exp(x))"


def test_what_a_setting_leaves_out_is_named():
    with pytest.warns(RuntimeWarning, match='nonfinite="keep" leaves out log_producto'):
        derivation = rg.explain(rg.log(p) + rg.log(p), log_producto, nonfinite="keep")
    assert derivation.unused == (
        ("log_producto", 'nonfinite="keep" leaves out what assumes finite values'),
    )


def _is_matrix(a):
    return a.ndim == 2


def _is_square(a):
    return a.type.shape[0] == a.type.shape[1]


def test_a_condition_may_guard_another():
    @rg.identity(where=lambda a: (rg.checko(_is_matrix, a), rg.checko(_is_square, a)))
    def negate_twiceo(a):
        """-(-a) = a, of square matrices."""
        return rg.negative(rg.negative(a)), a

    place, *_ = rg.why_not(rg.negative(rg.negative(x)), negate_twiceo).places
    assert "_is_matrix" in place.reasons[0].text and "_is_square" in place.reasons[1].text
    wide = rg.matrix("wide", shape=(2, 3))
    ((_, reason),) = rg.explain(rg.negative(rg.negative(wide)), negate_twiceo).unused
    assert "_is_matrix" not in reason and "_is_square" in reason
