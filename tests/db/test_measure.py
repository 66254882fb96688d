"""Phases end because every rewrite they ship makes one measure smaller."""

import pytest

import relgraph as rg
from relgraph.db.catalogue import check_measure
from relgraph.errors import OscillationError


@rg.identity
def cancel_log_expo(x):
    """log(exp(x)) = x."""
    return rg.log(rg.exp(x)), x


@rg.identity
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


def test_what_simplifies_is_accepted():
    assert check_measure(cancel_log_expo) is None
    assert check_measure(distribute_matmulo.reversed) is None


def test_what_grows_is_refused():
    with pytest.raises(OscillationError, match="distribute_matmulo does not make its graph"):
        check_measure(distribute_matmulo)
