"""The pages in headless Chromium: pictures show, the slider moves, nothing is fetched or cut."""

import re

import pytest

import relgraph as rg
from relgraph.ir.diagram import NODES
from relgraph.viz.html import page
from tests.viz import browser
from tests.viz.displays import mixed, nested

pytestmark = pytest.mark.skipif(browser.PROGRAM is None, reason="no Chromium is installed")

# Texts that are wider than their boxes, and boxes of pictures that overlap.
CUT = """
const cut = [];
document.querySelectorAll("svg .node").forEach(node => {
  if (!node.getClientRects().length) return;
  const box = node.querySelector("rect").getBoundingClientRect();
  node.querySelectorAll("text").forEach(text => {
    const t = text.getBoundingClientRect();
    if (t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1
        || t.bottom > box.bottom + 1) cut.push(text.textContent);
  });
});
document.querySelectorAll("svg").forEach(svg => {
  if (!svg.getClientRects().length) return;
  const whole = svg.getBoundingClientRect();
  svg.querySelectorAll("text, rect, path").forEach(x => {
    const t = x.getBoundingClientRect();
    if (t.right > whole.right + 1 || t.bottom > whole.bottom + 1 || t.left < whole.left - 1)
      cut.push("outside: " + x.outerHTML.slice(0, 60));
  });
});
"""
FETCHED = 'performance.getEntriesByType("resource").length'


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return the page of a derivation of a few steps."""
    path = tmp_path_factory.mktemp("pages") / "rewrite.html"
    rg.explain(mixed(), mode="o4").to_html(path)
    return path.read_text(encoding="utf-8")


def test_the_report_shows_one_step_and_its_pictures(report, tmp_path):
    seen = browser.run(report, f"""
        {CUT}
        const shown = [...document.querySelectorAll("main > section")].filter(s => !s.hidden);
        return {{
          shown: shown.length, cut,
          fetched: {FETCHED},
          boxes: shown[0].querySelectorAll("svg .node rect").length,
          wide: document.querySelector("svg").getBoundingClientRect().width,
          formulas: shown[0].querySelectorAll("math").length,
          height: shown[0].querySelector("math").getBoundingClientRect().height,
        }};
    """, tmp_path)  # fmt: skip
    assert seen["shown"] == 1
    assert seen["cut"] == []
    assert seen["fetched"] == 0
    assert seen["boxes"] > 20 and seen["wide"] > 300
    assert seen["formulas"] >= 1 and seen["height"] > 10


def test_the_slider_and_the_keys_go_through_the_steps(report, tmp_path):
    steps = len(rg.explain(mixed(), mode="o4"))
    seen = browser.run(report, """
        const slider = document.getElementById("slider");
        const place = () => document.getElementById("place").value;
        const heading = () => document.querySelector("main > section:not([hidden]) h4").textContent;
        const seen = [[place(), heading()]];
        const note = () => seen.push([place(), heading()]);
        const press = key => {
          document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); note();
        };
        press("ArrowRight"); press("ArrowRight"); press("ArrowLeft"); press("End"); press("Home");
        press("ArrowLeft");
        slider.value = 2; slider.dispatchEvent(new Event("input")); note();
        document.getElementById("on").click(); note();
        document.getElementById("back").click(); note();
        return { seen, max: slider.max };
    """, tmp_path)  # fmt: skip
    assert int(seen["max"]) == steps + 1
    places = [place for place, _ in seen["seen"]]
    assert places == [
        "start", f"step 1 of {steps}", f"step 2 of {steps}", f"step 1 of {steps}", "result",
        "start", "start", f"step 2 of {steps}", f"step 3 of {steps}", f"step 2 of {steps}",
    ]  # fmt: skip
    headings = [heading for _, heading in seen["seen"]]
    assert headings[0] == "the graph" and headings[4] == "the result"
    assert headings[1].startswith("1. ") and headings[2].startswith("2. ")


def test_no_step_of_the_report_is_cut(report, tmp_path):
    seen = browser.run(report, f"""
        const all = [];
        document.querySelectorAll("main > section").forEach((section, i) => {{
          show(i); {CUT} all.push(...cut);
        }});
        return all;
    """, tmp_path)  # fmt: skip
    assert seen == []


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_drawings_are_shown_in_full(target, tmp_path):
    A, x = rg.matrix("A", ("n", "n")), rg.vector("x", "n")
    f = rg.function([A, x], rg.softmax(A @ x) + rg.sum(A, axis=0), target=target)
    drawing = rg.draw(f)
    written = page("f", drawing._document())
    seen = browser.run(written, f"""{CUT}
        return {{ cut, fetched: {FETCHED}, boxes: document.querySelectorAll("svg .node").length,
                  hover: document.querySelectorAll("svg .node > title").length }};
    """, tmp_path)  # fmt: skip
    count = int(re.search(r"\d+", repr(drawing))[0])
    assert seen == {"cut": [], "fetched": 0, "boxes": count, "hover": count}


def test_a_region_opens_on_a_click(tmp_path):
    v = rg.vector("x", "n")
    for i in range(NODES // 3):
        v = rg.sin(v) + rg.cos(v * (i + 2))
    written = page("graph", rg.draw(v)._document())
    seen = browser.run(written, """
        const folds = [...document.querySelectorAll("details")];
        const before = folds.filter(x => x.open).length;
        document.querySelectorAll("svg a")[1].dispatchEvent(
          new MouseEvent("click", { bubbles: true, cancelable: true }));
        const open = folds.map((x, i) => x.open ? i : -1).filter(i => i >= 0);
        const svg = open.length ? folds[open[0]].querySelector("svg").getBoundingClientRect() : {};
        return { before, open, height: svg.height || 0 };
    """, tmp_path)  # fmt: skip
    assert seen["before"] == 0
    assert seen["open"] == [1]
    assert seen["height"] > 100


def test_a_report_of_hundreds_of_steps_lays_out_one_of_them(tmp_path):
    path = tmp_path / "rewrite.html"
    derivation = rg.explain(nested(150), mode="fast_run")
    derivation.to_html(path)
    seen = browser.run(path.read_text(encoding="utf-8"), """
        const sections = [...document.querySelectorAll("main > section")];
        return { count: sections.length,
                 laid: sections.filter(x => x.getClientRects().length).length };
    """, tmp_path)  # fmt: skip
    assert seen == {"count": len(derivation) + 2, "laid": 1}
