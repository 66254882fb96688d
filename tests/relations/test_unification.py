"""Patterns in goals: they unify as the terms they stand for, and beside other packages."""

from collections.abc import Mapping

import kanren
import pytest
from etuples import etuple
from multipledispatch.conflict import ambiguities
from unification import unify, var
from unification.core import _unify
from unification.variable import Var

import relgraph as rg

x = rg.vector("x", 3)


def test_signatures_are_not_ambiguous_beside_the_variables_of_another_package():
    class Foreign(Var):
        __slots__ = ()

    # As PyTensor registers its variables with constraints.
    theirs = [
        (Foreign, object),
        (object, Foreign),
        (Foreign, Foreign),
        (Foreign, Var),
        (Var, Foreign),
    ]
    assert not ambiguities([*_unify.funcs, *[(*pair, Mapping) for pair in theirs]])


@pytest.mark.parametrize("value", [x, rg.add, 2, -0.5, True, None, "float64", (-1,), [x], slice(3)])
def test_variables_inside_terms_unify_with_any_value(value):
    v = var()
    (p,) = rg.lvars("p")
    for pair in ((etuple(rg.exp, p), etuple(rg.exp, value)), ((value, 1), (p, 1)), (p, value)):
        assert kanren.run(0, p.token, kanren.eq(*pair)) == (value,)
        assert kanren.run(0, v, kanren.eq(v, p), kanren.eq(*pair)) == (value,)
        assert kanren.run(0, v, kanren.eq(*pair), kanren.eq(p, v)) == (value,)


def test_a_variable_is_not_bound_to_itself():
    (p,) = rg.lvars("p")
    assert unify(p.token, p, {}) == {}
    assert unify(etuple(rg.exp, p.token), etuple(rg.exp, p), {}) == {}
    assert unify((p, 1), (p.token, 1), {}) == {}
