"""Queries: what they select, that they are values, and what they refuse."""

from __future__ import annotations

import copy
import pickle

import pytest

from relgraph.db.query import Query, RewriteDatabaseQuery
from relgraph.errors import ArgumentError


def accepts(query, *tags, excluded_by=()):
    return query.accepts(frozenset(tags), frozenset(excluded_by))


def test_include_is_any_of():
    query = Query(include=["a", "b"])
    assert accepts(query, "a")
    assert accepts(query, "b", "z")
    assert not accepts(query, "z")


def test_require_is_all_of():
    query = Query(include=["a"], require=["b", "c"])
    assert accepts(query, "a", "b", "c")
    assert not accepts(query, "a", "b")


def test_exclude_is_none_of():
    query = Query(include=["a"], exclude=["x", "y"])
    assert accepts(query, "a")
    assert not accepts(query, "a", "y")
    assert not accepts(query, "a", excluded_by=["x"])


def test_nothing_included_selects_nothing():
    assert not accepts(Query(include=[]), "a")
    assert not accepts(Query(include=[], require=["a"]), "a")


def test_refinements_return_new_queries():
    query = Query(include=["a"])
    refined = query.including("b").requiring("c").excluding("d", "e")
    assert refined == Query(include=["a", "b"], require=["c"], exclude=["d", "e"])
    assert query == Query(include=["a"])


def test_excluding_reaches_subqueries():
    query = Query(["a"], subquery={"phase": Query(["b"])}).excluding("x")
    assert query.subquery["phase"] == Query(["b"], exclude=["x"])


def test_a_string_is_one_tag():
    assert Query("canonicalize").include == {"canonicalize"}


def test_queries_are_values():
    one = Query(["a", "b"], exclude=["c"], subquery={"phase": Query(["d"])})
    two = Query(["b", "a"], exclude=("c",), subquery={"phase": Query(("d",))})
    assert one == two
    assert hash(one) == hash(two)
    assert one != Query(["a", "b"])
    assert one != "a"
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one


def test_a_query_cannot_be_changed():
    query = Query(["a"], subquery={"phase": Query(["b"])})
    with pytest.raises(AttributeError, match="cannot be changed"):
        query.include = frozenset()
    with pytest.raises(AttributeError, match="cannot be changed"):
        query.subquery["other"] = query


def test_it_prints_as_it_is_written():
    query = Query(["b", "a"], exclude=["c"], subquery={"phase": Query(["d"])})
    assert repr(query) == (
        "Query(include=['a', 'b'], exclude=['c'], subquery={'phase': Query(include=['d'])})"
    )
    assert eval(repr(query)) == query


@pytest.mark.parametrize("tags", [3, None, [1], ["a", None]])
def test_tags_are_strings(tags):
    with pytest.raises(ArgumentError, match="takes tags, which are strings"):
        Query(tags)


def test_a_subquery_is_a_query():
    with pytest.raises(ArgumentError, match="the subquery for 'phase' is not a query"):
        Query(["a"], subquery={"phase": ["a"]})


def test_the_short_name_is_the_same_class():
    assert Query is RewriteDatabaseQuery
