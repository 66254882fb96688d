"""The layout: boxes do not overlap, edges point downward, and equal graphs look equal."""

from hypothesis import given, settings
from hypothesis import strategies as st

from relgraph.viz.layout import layered

SIZES = st.tuples(st.floats(10, 200), st.floats(10, 60))


@st.composite
def graphs(draw):
    sizes = draw(st.lists(SIZES, max_size=25))
    places = st.integers(0, max(len(sizes) - 1, 0))
    pairs = draw(st.lists(st.tuples(places, places), max_size=50)) if sizes else []
    return sizes, [(min(pair), max(pair)) for pair in pairs]


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_boxes_keep_apart_and_edges_point_downward(graph):
    sizes, edges = graph
    layout = layered(sizes, edges)
    boxes = [
        (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
        for (x, y), (w, h) in zip(layout.centres, sizes, strict=True)
    ]
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert left >= -1e-6 and top >= -1e-6
        assert right <= layout.width + 1e-6 and bottom <= layout.height + 1e-6
        for other in boxes[i + 1 :]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart, (boxes[i], other)
    for a, b in edges:
        if a != b:
            assert boxes[a][3] < boxes[b][1]
            heights = [layout.centres[a][1], *[y for _, y in layout.bends[a, b]]]
            assert heights == sorted(heights)
    assert layered(sizes, edges) == layout


def test_a_circle_has_a_layout():
    layout = layered([(10.0, 10.0)] * 3, [(0, 1), (1, 2), (2, 0)])
    assert len(set(layout.centres)) == 3


def test_sources_stand_above_their_first_user():
    # 0 -> 1 -> 2 -> 3, and 4 -> 3: the source 4 is in the layer of 2.
    layout = layered([(10.0, 10.0)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert layout.centres[4][1] == layout.centres[2][1]


def test_long_chains_need_no_recursion():
    count = 5000
    layout = layered([(10.0, 10.0)] * count, [(i, i + 1) for i in range(count - 1)])
    assert len({x for x, _ in layout.centres}) == 1
