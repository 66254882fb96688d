"""Functions that generated text defines: their lines, and what is kept of them."""

import linecache
import traceback
from typing import Any

import pytest

from relgraph.backends.source import define

TEXT = "def main(x):\n    return 1 / x\n"


def _defined(text: str = TEXT) -> Any:
    namespace: dict[str, Any] = {}
    define("main", text, namespace)
    return namespace["main"]


def _traceback(function: Any) -> str:
    with pytest.raises(ZeroDivisionError) as caught:
        function(0)
    return "".join(traceback.format_exception(caught.value))


def test_a_traceback_shows_the_line_of_the_text():
    assert "    return 1 / x\n" in _traceback(_defined())


def test_two_texts_of_one_name_show_their_own_lines():
    other = "def main(x):\n    y = x\n    return 2 / y\n"
    first, second = _traceback(_defined()), _traceback(_defined(other))
    assert "return 1 / x" in first
    assert "return 2 / y" in second


def test_what_is_defined_and_dropped_leaves_nothing_behind():
    before = len(linecache.cache)
    for k in range(20):
        _defined(f"def main(x):\n    return {k} + x\n")
    assert len(linecache.cache) == before


def test_entries_that_are_shown_stay_while_others_go():
    """``linecache.checkcache`` lists its entries and then reads them: none may go between."""
    function = _defined()
    _traceback(function)
    entries = [name for name in linecache.cache if name.startswith("relgraph/generated/main-")]
    del function
    linecache.checkcache()
    assert entries
    assert all(name in linecache.cache for name in entries)
