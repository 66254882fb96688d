"""Keys one after another, beside each other and past an op, compared with NumPy."""

import random

import numpy as np
import pytest

from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import numpy_key

ENTRIES = [
    ("int", 0), ("int", 1), ("int", -1), ("slice", None, None, None), ("slice", 1, None, None),
    ("slice", None, 2, None), ("slice", 1, 3, None), ("slice", None, None, -1),
    ("slice", None, None, 2), ("slice", 1, None, 2), ("newaxis",),
]  # fmt: skip


def drawn(seed, count=400):
    """Yield arrays with two keys, of which the second fits what the first selects."""
    rng = random.Random(seed)
    for _ in range(count):
        shape = tuple(rng.choice([1, 2, 3, 5]) for _ in range(rng.randint(1, 3)))
        first, second = (
            tuple(rng.choice(ENTRIES) for _ in range(rng.randint(1, 2))) for _ in range(2)
        )
        x = np.arange(int(np.prod(shape))).reshape(shape)
        try:
            yield x, first, second, x[numpy_key(first, ())][numpy_key(second, ())]
        except IndexError:
            continue


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_one_key_does_what_two_do(seed, known):
    found = 0
    for x, first, second, expected in drawn(seed):
        both = keys.composed(first, second, x.shape if known else (None,) * x.ndim)
        if both is not None:
            found += 1
            np.testing.assert_array_equal(x[numpy_key(both.spec, ())], expected)
    assert found > 50


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_disjoint_keys_have_no_element_in_common(seed, known):
    found = 0
    for x, first, second, _ in drawn(seed):
        shape = x.shape if known else (None,) * x.ndim
        marked = np.zeros(x.shape)
        try:
            marked[numpy_key(first, ())] = 1
            read = marked[numpy_key(second, ())]
        except IndexError:
            continue
        if keys.disjoint(first, second, shape):
            found += 1
            assert not np.any(read)
    assert found


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_constant_places_and_a_key_have_no_element_in_common(seed, known):
    rng = random.Random(seed)
    found = shared = 0
    for x, key, _, _ in drawn(seed):
        shape = x.shape if known else (None,) * x.ndim
        axis = rng.randrange(x.ndim)
        size = x.shape[axis]
        chosen = [rng.randrange(-size, size) for _ in range(rng.randrange(4))] if size else []
        marked = np.zeros(x.shape)
        marked[(slice(None),) * axis + (np.array(chosen, int),)] = 1
        spec = (("slice", None, None, None),) * axis + (("array",),)
        read = marked[numpy_key(key, ())]
        if keys.disjoint(spec, key, shape, chosen):
            found += 1
            assert not np.any(read)
        shared += bool(np.any(read))
    assert found
    assert shared
    assert not keys.disjoint((("array",), ("array",)), (("int", 0),), (3, 3), [1])


@pytest.mark.parametrize("seed", range(4))
def test_a_key_past_a_permutation(seed):
    rng = random.Random(seed)
    for x, key, _, _ in drawn(seed):
        axes = tuple(rng.sample(range(-x.ndim, 0), x.ndim))
        turned = np.transpose(x, axes)
        found = keys.past_permutation(key, axes)
        if found is not None:
            try:
                expected = turned[numpy_key(key, ())]
            except IndexError:
                continue
            part = x[numpy_key(found[0], ())]
            np.testing.assert_array_equal(np.transpose(part, found[1]), expected)


def test_what_is_not_known_is_refused():
    assert keys.composed((("slice", 1, None, None),), (("int", -1),), (None,)) is not None
    assert keys.composed((("slice", -2, None, None),), (("int", 0),), (None,)) is None
    assert keys.composed((("array",),), (("int", 0),), (3,)) is None
    assert keys.past_reduction((("int", 0),), (-3,), False, 2) is None
    assert not keys.disjoint((("int", 0),), (("int", -1),), (None,))
