"""Relations and traced functions pickle by reference; what cannot be pickled says what can."""

import copy
import pickle

import numpy as np
import pytest
from etuples import etuple

import relgraph as rg
from relgraph.errors import ArgumentError


@rg.identity
def exp_logo(x):
    """e^(log x) = x."""
    return rg.exp(rg.log(x)), x + 0


renamed_o = rg.relation(
    lambda left, right: rg.eq(left, etuple(rg.exp, etuple(rg.log, right))), name="another_name"
)


@rg.jit(target="numpy")
def doubled(x):
    return 2 * x


def tripled(x):
    return 3 * x


def again(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("relation", [exp_logo, renamed_o])
def test_relations_of_a_module_pickle_by_reference(relation):
    assert again(relation) is relation


def test_a_reversed_relation_pickles():
    assert again(exp_logo.reversed) is exp_logo.reversed
    assert again([exp_logo, exp_logo.reversed])[1].backward


def test_relations_of_no_module_say_so():
    local = rg.identity(lambda x: (rg.exp(x), rg.sin(x)), name="localo")
    for one in (local, local.reversed):
        with pytest.raises(ArgumentError, match=r"localo.* cannot be pickled: no module"):
            pickle.dumps(one)
        assert copy.deepcopy(one) is one
        assert copy.copy(one) is one


def test_queries_and_modes_pickle():
    for query in (rg.mode("o4"), rg.mode("o4").excluding("fusion"), rg.Query(["a"], ["b"])):
        assert again(query) == query


def test_traced_functions_pickle_and_copy():
    x = np.arange(3.0)
    assert again(doubled) is doubled
    np.testing.assert_array_equal(again(rg.jit(tripled, target="numpy"))(x), 3 * x)
    local = rg.jit(lambda x: x + 1, target="numpy")
    for made in (copy.copy(local), copy.deepcopy(local)):
        assert made is not local
        np.testing.assert_array_equal(made(x), x + 1)
    with pytest.raises(ArgumentError, match="cannot be pickled: no module holds it"):
        pickle.dumps(local)


def test_databases_name_the_query_as_what_to_pickle():
    with pytest.raises(ArgumentError, match="cannot be pickled") as caught:
        pickle.dumps(rg.EquilibriumDB("mine"))
    assert "Pickle the query" in str(caught.value)
