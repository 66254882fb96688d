"""What objects display: snapshots of text, HTML and LaTeX; colour; the length of derivations.

``RELGRAPH_UPDATE_SNAPSHOTS=1 pytest tests/viz`` rewrites the snapshot.
"""

import io
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.viz.document import Code, Facts, Fold, Formula, Heading, Note, Table, text
from relgraph.viz.html import fragment
from tests.viz.displays import DISPLAYS, nested, wrong_logo

SNAPSHOT = Path(__file__).with_name("displays.txt")
VOID = {"meta", "input", "br"}


class Words(HTMLParser):
    """A reader of HTML: its visible words, and that every element is closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.words, self.elements = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "title" not in self.open and data.strip():
            self.words.append(data.strip())


def snapshot_of(name):
    """Return what an object displays, without what differs between runs."""
    bundle = DISPLAYS[name]()._repr_mimebundle_()
    words = " | ".join(" ".join(Words(bundle["text/html"]).words).splitlines())
    parts = [
        f"=== {name}", bundle["text/plain"], "--- html", words[:1500],
        *(["--- latex", bundle["text/latex"]] if "text/latex" in bundle else []), "",
    ]  # fmt: skip
    written = "\n".join(parts)
    written = re.sub(r"(\w+\.py):\d+", r"\1:LINE", written)
    return re.sub(r"\b\d+\.\d{3}\b", "MS", written)


@pytest.fixture(scope="module")
def snapshots():
    """Return the stored snapshots by name; write them first if the environment asks for it."""
    if os.environ.get("RELGRAPH_UPDATE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text("\n".join(map(snapshot_of, DISPLAYS)), encoding="utf-8")
    parts = re.split(r"(?m)^(?==== )", SNAPSHOT.read_text(encoding="utf-8"))
    return {part.partition("\n")[0][4:]: part.rstrip() for part in parts if part}


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays_are_those_of_the_snapshot(name, snapshots):
    assert snapshot_of(name).rstrip() == snapshots[name]


def test_tools_that_ask_for_html_alone_get_it():
    x = rg.vector("x", shape=(3,))
    assert "sin" in Words(rg.sin(x)._repr_html_()).words
    assert rg.draw(rg.sin(x))._repr_html_().count("<svg") == 1


@pytest.mark.parametrize("name", DISPLAYS)
def test_html_needs_nothing_else(name):
    page = DISPLAYS[name]()._repr_mimebundle_()["text/html"]
    elements = Words(page).elements
    assert [tag for tag, _ in elements if tag in ("script", "link", "img", "iframe")] == []
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "@import" not in page and "url(" not in page


def test_a_derivation_of_hundreds_of_steps_has_at_most_200_lines():
    derivation = rg.explain(nested(300), mode="fast_run")
    assert len(derivation) == 300
    shown = str(derivation)
    assert repr(derivation) == shown
    assert 150 < len(shown.splitlines()) <= 200
    assert max(map(len, shown.splitlines())) <= 200
    assert "more uses: cancel_log_expo x" in shown
    everything = derivation.text(lines=None)
    assert len([x for x in everything.splitlines() if re.match(r"\d+\. ", x)]) == 300
    assert "more use" not in everything
    assert len(derivation.text(lines=40).splitlines()) <= 40


def test_a_step_shows_what_changed_and_names_the_rest():
    x, y = rg.vectors("x y", "n")
    long = rg.exp(rg.sin(rg.exp(x) + rg.cos(y)) * rg.sqrt(rg.exp(x) + 1) + rg.tanh(x * y) + 0.5)
    derivation = rg.explain(rg.log(1 + rg.exp(long)) * long, include=["stabilize"])
    lines = str(derivation).splitlines()
    defined = [line.partition(" = ")[0].strip() for line in lines if re.match(r" +t\d+ = ", line)]
    assert len(defined) == len(set(defined)) >= 1
    assert sum(line.count("tanh") for line in lines) == 1
    assert "..." not in str(derivation)


def test_the_display_of_a_check_shows_its_counterexample():
    report = rg.check(wrong_logo)
    for shown in (repr(report), report._repr_mimebundle_()["text/html"]):
        for word in ("changes a value", "expected", "computed", "log(square(x))"):
            assert word in shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_is_for_terminals_only(monkeypatch):
    report = rg.check(wrong_logo)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    plain = report._repr_mimebundle_()["text/plain"]
    assert "\x1b" not in plain
    monkeypatch.setattr(sys, "stdout", Terminal())
    coloured = report._repr_mimebundle_()["text/plain"]
    assert coloured.startswith("\x1b[31mwrong_logo changes a value\x1b[0m")
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
    assert "\x1b" not in repr(report) + str(report) + report._repr_mimebundle_()["text/html"]
    monkeypatch.setenv("NO_COLOR", "1")
    assert report._repr_mimebundle_()["text/plain"] == plain


def test_what_is_displayed_is_escaped():
    words = "<script>alert(1)</script>"
    document = [
        Heading(words), Code(words), Note(words), Facts(((words, words),)),
        Table((words,), ((words,),)), Fold(words, (Code(words),)),
        Formula((("", rf"\text{{{words}}}"),), words),
    ]  # fmt: skip
    assert [tag for tag, _ in Words(fragment(document)).elements if tag == "script"] == []


def test_tables_align():
    table = Table(("name", "n"), (("a\nb", "1"), ("long name", "200")), frozenset((1,)))
    assert text([table]).splitlines() == [
        "name         n",
        "a            1",
        "b",
        "long name  200",
    ]


def test_the_parts_of_a_derivation_print_in_few_lines():
    derivation = rg.explain(nested(300), mode="fast_run")
    step = derivation.steps[1]
    assert repr(step) == str(step) == "cancel_log_expo\n    log(exp(x + y))\n  = x + y"
    assert "<math" in step._repr_mimebundle_()["text/html"]
    assert all(len(repr(phase)) < 500 for phase in derivation.phases)
