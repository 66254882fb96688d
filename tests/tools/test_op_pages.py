"""The pages list the elementwise ops as their rows say."""

from pathlib import Path

import pytest

from tools import op_pages

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", op_pages.PAGES)
def test_the_page_has_the_tables_of_the_rows(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    assert op_pages.PAGES[name](text) == text, "run python -m tools.op_pages"


def test_only_changed_pages_are_written(tmp_path):
    for name in op_pages.PAGES:
        text = (DOCS / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("| exp | 4 |", "| exp | 9 |"), encoding="utf-8")
    assert op_pages.write(tmp_path) == ["accuracy.md"]
    assert op_pages.write(tmp_path) == []
