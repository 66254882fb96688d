"""The table of subgradients in docs/derivatives.md, row by row."""

import re
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg

PAGE = Path(rg.__file__).parents[1] / "docs" / "derivatives.md"
ROWS = re.findall(r"^\| `(.+)` \| `([xv]) = (.+)` \| `(.+)` \|$", PAGE.read_text(), re.M)


def test_the_page_has_the_table():
    assert len(ROWS) > 20


@pytest.mark.parametrize(("function", "name", "point", "expected"), ROWS)
def test_a_gradient_is_as_the_page_says(function, name, point, expected):
    value = np.array(eval(point), float)
    x = rg.tensor(name, value.shape)
    gradient = rg.grad(eval(function, {"rg": rg, name: x}), x)
    with np.errstate(all="ignore"):
        computed = rg.evaluate(gradient, {x: value})
    named = {"nan": np.nan, "inf": np.inf}
    np.testing.assert_allclose(computed, np.array(eval(expected, named), float), rtol=1e-15)
