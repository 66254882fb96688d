"""The estimated time in blocks decides which form a search for a Dask program returns."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError

da = pytest.importorskip("dask.array")

X = rg.matrix("X", ("n", "k"))
z = rg.vector("z", "n")
v, w = rg.vectors("v w", shape="k")
SIZES = {"n": 10**6, "k": 16}
CHUNKS = {"n": 10**4}


def plan(graph):
    rows = da.zeros((SIZES["n"], SIZES["k"]), chunks=(CHUNKS["n"], SIZES["k"]))
    arrays = {X: rows, z: rows[:, 0], v: np.ones(SIZES["k"]), w: np.ones(SIZES["k"])}
    inputs = [x for x in arrays if x in rg.FunctionGraph(None, [graph]).inputs]
    compiled = rg.function(inputs, graph, mode=None, target="dask")
    return compiled.plan(*[arrays[x] for x in inputs])


def test_partial_results_that_move_decide_for_products_with_vectors():
    # On one machine, the Gram matrix reads X from memory once; in tasks, both forms do.
    written = X.T @ X @ w
    local = rg.optimize(written, sizes=SIZES)
    divided = rg.optimize(written, sizes=SIZES, chunks=CHUNKS)
    assert local is written
    assert divided is X.T @ (X @ w)
    assert plan(divided).passes == plan(local).passes == 1
    assert plan(divided).bytes_moved < plan(local).bytes_moved


def test_two_passes_become_one():
    written = rg.sum(X @ (X.T @ z))
    found = rg.optimize(written, sizes=SIZES, chunks=CHUNKS)
    assert (plan(written).passes, plan(found).passes) == (2, 1)


def test_products_that_share_a_matrix_are_gathered():
    found = rg.optimize(X.T @ z + X.T @ (X @ w), mode=None, sizes=SIZES, chunks=CHUNKS)
    assert found is X.T @ (z + X @ w) or found is X.T @ (X @ w + z)


def test_a_program_that_cannot_run_in_the_blocks_is_not_chosen():
    A = rg.matrix("A", ("n", "n"))
    written = rg.inv(A) @ z  # neither form can divide the rows of A
    sizes = {"n": 10**6}
    assert rg.optimize(written, mode=None, sizes=sizes, chunks=CHUNKS) is written
    assert rg.optimize(written, mode=None, sizes=sizes) is not written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunks": CHUNKS}, "the size 'n' has chunks, but no value"),
        ({"chunks": {"n": 0}, "sizes": SIZES}, "the size of a chunk is a positive integer, not 0"),
        ({"chunks": {"n": 1.5}, "sizes": SIZES}, "the size of a chunk is a positive integer"),
        ({"chunks": CHUNKS, "sizes": SIZES, "cost": "flops"}, "chunks are for the estimated time"),
        ({"chunks": 5}, "chunks"),
    ],
)
def test_wrong_chunks(options, message):
    with pytest.raises(ArgumentError, match=message):
        rg.optimize(X.T @ z, **options)
