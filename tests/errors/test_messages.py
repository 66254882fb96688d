"""The text of every usual mistake, as a snapshot; and the form that each text has.

``RELGRAPH_UPDATE_SNAPSHOTS=1 pytest tests/errors`` rewrites the snapshot.
"""

from __future__ import annotations

import ast
import os
import pickle
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from relgraph import errors
from relgraph.errors import RelgraphError
from tests.errors import mistaken_calls, mistakes

CASES = {**mistakes.MISTAKES, **mistaken_calls.MISTAKES}
SNAPSHOT = Path(__file__).with_name("messages.txt")


@cache
def error_of(heading):
    """Return the error that a mistake raises."""
    with pytest.raises(RelgraphError) as caught:
        CASES[heading]()
    return caught.value


def message_of(heading):
    """Return the heading, the class with the builtin it derives from, and the text."""
    error = error_of(heading)
    text = re.sub(r"(\w+\.py):\d+", r"\1:LINE", str(error))
    text = re.sub(r"\d+ (in all|times deep)", r"COUNT \1", text)
    builtin = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
    return f"=== {heading}\n{type(error).__name__}({builtin.__name__})\n{text}\n"


def test_the_texts_are_those_of_the_snapshot():
    written = "\n".join(map(message_of, CASES))
    if os.environ.get("RELGRAPH_UPDATE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text(written, encoding="utf-8")
    assert written == SNAPSHOT.read_text(encoding="utf-8")


def test_every_class_of_errors_has_a_text():
    named = {c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, Exception)}
    assert named - {RelgraphError, np.linalg.LinAlgError} == {type(error_of(h)) for h in CASES}


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "axis", "1 axis"), (0, "axis", "0 axes"), (2, "entry", "2 entries"), (1, "part", "1 part"),
     (3, "positional argument", "3 positional arguments")],
)  # fmt: skip
def test_a_number_with_its_noun(number, noun, text):
    assert errors.count_of(number, noun) == text


NAMED = {
    name for name, c in vars(errors).items() if isinstance(c, type) and issubclass(c, RelgraphError)
}


def without_fix(path):
    """Return the lines of a module that make an error which does not say how to mend it."""
    calls = [
        x for x in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(x, ast.Call)
    ]
    return [
        x.lineno
        for x in calls
        if isinstance(x.func, ast.Name) and x.func.id in NAMED
        and len(x.args) < 3 and not any(isinstance(a, ast.Starred) for a in x.args)
        and not any(k.arg == "fix" for k in x.keywords)
    ]  # fmt: skip


FOLDERS = ("api", "backends", "checking", "db", "ir", "lowering", "ops", "relations", "rewriting")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_error_says_how_to_mend_it(folder):
    paths = sorted((Path(errors.__file__).parent / folder).rglob("*.py"))
    assert paths
    assert {path.name: found for path in paths if (found := without_fix(path))} == {}


@pytest.mark.parametrize("heading", CASES)
def test_a_message_says_what_the_facts_and_the_fix(heading):
    error = error_of(heading)
    lines = str(error).splitlines()
    assert lines[0] == error.what
    assert len(lines[0]) > 10
    assert error.fix, "the last line says how to mend it"
    assert lines[-1] == error.fix
    assert not lines[-1].startswith(" ")
    middle = lines[1:-1]
    assert all(line.startswith("  ") for line in middle)
    first = [line for line in middle if re.match(r"  \S.* : ", line)]
    assert len(first) >= len(error.facts)
    width = max((len(str(name)) for name, _ in error.facts), default=0)
    assert all(line[width + 2 : width + 5] == " : " for line in first)


@pytest.mark.parametrize("heading", CASES)
def test_an_error_pickles(heading):
    error = error_of(heading)
    again = type(error)(*error.__reduce__()[1])
    assert str(again) == str(error)
    assert isinstance(error, RelgraphError)
    plain = type(error)(error.what, [(n, str(v)) for n, v in error.facts], error.fix)
    assert str(pickle.loads(pickle.dumps(plain))) == str(error)
