"""Pictures: what boxes say, frames of kernels, marks of what changed, files, and mistakes."""

import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError
from relgraph.ir.diagram import NODES
from relgraph.viz.icicle import Part, icicle
from relgraph.viz.svg import CHARACTER
from tests.samples import distribute_matmulo
from tests.viz.displays import mixed, nested

SVG = "{http://www.w3.org/2000/svg}"
A, B = rg.matrices("A B", shape=("n", "n"))
x, y = rg.vectors("x y", shape=("n",))


def boxes(picture):
    """Return the boxes of a picture: classes, lines of text, and what shows on hover."""
    found = []
    for group in ElementTree.fromstring(picture.svg).iter(f"{SVG}g"):
        classes = group.get("class", "").split()
        if "node" in classes:
            title = group.find(f"{SVG}title")
            lines = [t.text for t in group.iter(f"{SVG}text")]
            found.append((classes[1:], lines, title.text))
    return found


def test_boxes_show_op_dtype_and_shape_and_on_hover_facts():
    weight = rg.vector("weight", shape=(3,), dtype="float32", facts=["positive"])
    drawn = boxes(rg.draw(rg.log(weight * 2) + weight))
    assert [lines for _, lines, _ in drawn] == [
        ["weight", "float32[3]"],
        ["· * 2", "float32[3]"],
        ["log(·)", "float32[3]"],
        ["· + ·", "float32[3]"],
    ]
    assert [kinds for kinds, *_ in drawn] == [["input"], [], [], ["output"]]
    titles = [title for *_, title in drawn]
    assert titles[0].splitlines()[0] == "input" and "positive" in titles[0]
    assert titles[1].splitlines()[0] == "multiply" and "positive" in titles[1]
    assert titles[2].splitlines()[-1] == "log(weight * 2)"


def test_texts_fit_their_boxes():
    for group in ElementTree.fromstring(rg.draw(mixed()).svg).iter(f"{SVG}g"):
        if "node" not in group.get("class", "").split():
            continue
        rect = group.find(f"{SVG}rect")
        left, width = float(rect.get("x")), float(rect.get("width"))
        top, height = float(rect.get("y")), float(rect.get("height"))
        for line in group.iter(f"{SVG}text"):
            half = len(line.text) * 7.4 / 2  # 12 pixels of a monospace font
            assert left <= float(line.get("x")) - half
            assert float(line.get("x")) + half <= left + width
            assert top < float(line.get("y")) < top + height


def test_a_function_has_a_frame_for_each_kernel_and_call():
    f = rg.function([A, x, y], rg.softmax(A @ x) + y)
    picture = rg.draw(f)
    labels = [
        t.text for t in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")
        if t.get("class") == "label"
    ]  # fmt: skip
    assert len(labels) == f.report().loops + len(f.report().calls)
    assert labels[0] == "1. call matmul"
    assert {label.split()[-1] for label in labels[1:]} <= set(f.report().kernels)
    arrays = [lines[2].split()[1].rstrip(",") for _, lines, _ in boxes(picture) if len(lines) > 2]
    assert arrays
    assert all(f"{name} = " in f.source or name == "out_0" for name in arrays)


def test_a_function_without_kernels_is_drawn_as_its_graph():
    f = rg.function([x], rg.exp(x) + 1, target="numpy")
    assert [lines[0] for _, lines, _ in boxes(rg.draw(f))] == ["x", "exp(·)", "· + 1"]


def test_what_a_derivation_removed_and_added_is_marked():
    picture = rg.draw(rg.explain(A @ x + A @ y, distribute_matmulo.reversed))
    drawn = boxes(picture)
    removed = [lines[0] for kinds, lines, _ in drawn if "matched" in kinds]
    added = [lines[0] for kinds, lines, _ in drawn if "new" in kinds]
    assert sorted(removed) == ["· + ·", "· @ ·", "· @ ·"]
    assert sorted(added) == ["· + ·", "· @ ·"]
    captions = [
        t.text for t in ElementTree.fromstring(picture.svg).iter(f"{SVG}text")
        if t.get("class") == "caption"
    ]  # fmt: skip
    assert captions == ["before", "after"]


def test_large_graphs_are_drawn_as_regions_that_open():
    v = x
    for i in range(NODES):
        v = rg.sin(v) + rg.cos(v * (i + 2))
    picture = rg.draw(v)
    drawn = boxes(picture)
    assert all("region" in kinds for kinds, *_ in drawn)
    assert 1 < len(drawn) <= NODES
    assert sum(int(lines[1].split()[0]) for _, lines, _ in drawn) == 4 * NODES
    page = picture._repr_mimebundle_()["text/html"]
    links = [a.get("href") for a in ElementTree.fromstring(picture.svg).iter(f"{SVG}a")]
    assert len(links) == len(drawn)
    assert all(f'<div id="{link[1:]}">' in page for link in links)
    others = [a.get("href") for a in ElementTree.fromstring(rg.draw(-v).svg).iter(f"{SVG}a")]
    assert set(links).isdisjoint(others)  # a notebook may show both


def test_pictures_are_the_same_each_time():
    assert rg.draw(mixed()).svg == rg.draw(mixed()).svg


def test_notebooks_get_svg_and_html():
    bundle = rg.draw(x + y)._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["image/svg+xml"] in bundle["text/html"]
    assert bundle["text/plain"] == "<drawing of 3 nodes>"


@pytest.mark.parametrize("name", ["graph.svg", "graph.html"])
def test_files(name, tmp_path):
    path = tmp_path / name
    picture = rg.draw([x + y, x - y], path)
    written = path.read_text(encoding="utf-8")
    assert picture.svg in written
    assert written.startswith("<svg" if name == "graph.svg" else "<!doctype html>")


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_other_formats_need_a_converter(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "cairosvg", None)
    with pytest.raises(ArgumentError, match=f"converts SVG to {ending.upper()}") as caught:
        rg.draw(x + y, tmp_path / f"graph.{ending}")
    assert "pip install cairosvg" in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["graph", "graph.gif", 3])
def test_other_paths_raise(path):
    with pytest.raises(ArgumentError, match="is saved to the path of"):
        rg.draw(x + y).save(path)


@pytest.mark.parametrize("what", [3, None, distribute_matmulo, np.ones(2), "x"])
def test_what_has_no_picture_raises(what):
    with pytest.raises(ArgumentError):
        rg.draw(what)


def test_a_derivation_of_hundreds_of_steps_has_a_picture():
    drawn = boxes(rg.draw(rg.explain(nested(60), mode="fast_run")))
    assert any("matched" in kinds for kinds, *_ in drawn)
    assert any("new" in kinds for kinds, *_ in drawn)


def rectangles(picture):
    """Return the titles of an icicle with the left side, top and width of their rectangles."""
    root = ElementTree.fromstring(picture)
    found = []
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        numbers = [float(rect.get(name)) for name in ("x", "y", "width")]
        words = group.find(f"{SVG}text")
        found.append((group.find(f"{SVG}title").text, *numbers, getattr(words, "text", "")))
    return found


def test_an_icicle_is_as_wide_as_its_times():
    parts = (Part("lowering", 3.0, "half"), Part("a kernel of a long name", 1.0))
    rows = rectangles(icicle([Part("making", 4.0, "", parts), Part("a call", 0.1)]))
    assert [row[0] for row in rows] == [
        "making", "a kernel of a long name", "lowering: half", "a call"
    ]  # fmt: skip
    widths = {title: width for title, _, _, width, _ in rows}
    assert widths["making"] == widths["a call"]
    assert widths["lowering: half"] == pytest.approx(3 * widths["a kernel of a long name"])
    tops = {title: top for title, _, top, _, _ in rows}
    assert tops["lowering: half"] == tops["a kernel of a long name"] > tops["making"]
    assert tops["a call"] > tops["lowering: half"]


def test_labels_of_an_icicle_stay_in_their_rectangles():
    parts = tuple(Part(f"part {i} with a long name", 1.0) for i in range(30))
    for _, _, _, width, label in rectangles(icicle([Part("whole", 30.0, "", parts)])):
        assert len(label) * CHARACTER <= width


def test_a_profile_is_drawn_with_its_phases_and_calls(tmp_path):
    x = rg.vector("x")
    profile = rg.profile(rg.log(1 + rg.exp(x)), np.ones(10), mode="o4")
    drawing = rg.draw(profile, tmp_path / "profile.svg")
    titles = [title for title, *_ in rectangles(drawing.svg)]
    assert any(title.startswith("making the function") for title in titles)
    assert any(title.startswith("rewriting") for title in titles)
    assert any(title.startswith("a call") for title in titles)
    assert (tmp_path / "profile.svg").read_text(encoding="utf-8") == drawing.svg


@pytest.mark.parametrize(("ending", "first"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures_are_converted(ending, first, tmp_path):
    pytest.importorskip("cairosvg", exc_type=(ImportError, OSError))  # it loads the library Cairo
    path = tmp_path / f"graph.{ending}"
    rg.draw(rg.exp(rg.vector("x"))).save(path)
    assert path.read_bytes().startswith(first)
