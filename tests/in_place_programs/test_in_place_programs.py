"""Random functions that write in place do to arrays what they do with NumPy."""

from collections import Counter

import pytest

from tests.in_place_programs.judge import judged


@pytest.mark.parametrize(("first", "target"), [(0, "numpy"), (100, "numpy"), (200, "cpu")])
def test_random_functions_change_arrays_as_with_numpy(first, target):
    outcomes = Counter()
    for seed in range(first, first + (20 if target == "cpu" else 100)):
        outcome, message = judged(seed, target)
        assert outcome != "wrong", message
        outcomes[outcome] += 1
    assert outcomes["equal"] + outcomes["fails"] > 4 * outcomes["refused"]
