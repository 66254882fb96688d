"""Registration as a decorator, and again from the same declaration."""

from __future__ import annotations

import gc
import warnings

import pytest

import relgraph as rg
from relgraph.errors import DuplicateNameError

x = rg.vector("x", shape=("n",))


def phases():
    """Return a database with two phases."""
    db = rg.SequenceDB("whole")
    db.register("canonicalize", rg.EquilibriumDB(), position=1)
    db.register("specialize", rg.EquilibriumDB(), position=2)
    return db


CELL = """
@db.register({tags})
@rg.identity
def double_addo(x):
    "x + x = 2 x."
    return x + x, {right}
"""

REWRITER = """
@db.register("canonicalize")
@rg.node_rewriter([rg.exp])
def drop_exp(graph, node):
    return {result}

class Keep(rg.GraphRewriter):
    def apply(self, graph):
        return graph

db.register("keep", Keep(), position=9)
"""


def run(source, db, **fields):
    """Run a cell of a notebook."""
    exec(source.format(**fields), {"rg": rg, "db": db, "__name__": "__main__"})


def test_tags_alone_make_a_decorator():
    db = phases()

    @db.register("canonicalize", "exponents")
    @rg.node_rewriter([rg.exp])
    def drop_exp(graph, node):
        return node.inputs[0]

    assert isinstance(drop_exp, rg.NodeRewriter)
    assert db.query("exponents").rewrite(rg.exp(x)) is x


def test_a_decorator_that_decorates_nothing_warns():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        phases().register("canonicalize")
        gc.collect()
    assert any("registered nothing" in str(w.message) for w in caught)


def test_a_cell_that_runs_again_replaces_what_it_registered():
    db = phases()
    run(CELL, db, tags="'canonicalize'", right="2 * x")
    run(CELL, db, tags="'canonicalize'", right="2 * x")
    assert db.query("canonicalize").rewrite(x + x) is 2 * x
    run(CELL, db, tags="'specialize'", right="3 * x")
    assert list(db) == ["canonicalize", "specialize", "double_addo"]
    assert db.query("specialize").rewrite(x + x) is 3 * x
    run(REWRITER, db, result="None")
    run(REWRITER, db, result="node.inputs[0]")
    assert db.query("drop_exp").rewrite(rg.exp(x)) is x
    assert list(db).count("keep") == 1


def test_an_item_may_be_registered_again_with_other_tags():
    db = rg.EquilibriumDB("mine")
    double = rg.PatternNodeRewriter((rg.add, "x", "x"), (rg.multiply, 2, "x"), name="double")
    db.register(double, "first")
    db.register(double, "second")
    assert len(db) == 1
    assert "first" not in db.tags()
    assert db.query("second").rewrite(x + x) is 2 * x


def test_another_declaration_of_the_name_raises():
    db = phases()
    run(CELL, db, tags="'canonicalize'", right="2 * x")
    with pytest.raises(DuplicateNameError):
        exec(
            CELL.format(tags="'canonicalize'", right="x * 2"),
            {"rg": rg, "db": db, "__name__": "another_module"},
        )
    for number in (2, 3):
        pattern = rg.PatternNodeRewriter(
            (rg.exp, "x"), (rg.multiply, number, "x"), name="same_name"
        )
        if number == 2:
            db.register(pattern, "canonicalize")
        else:
            with pytest.raises(DuplicateNameError):
                db.register(pattern, "canonicalize")
