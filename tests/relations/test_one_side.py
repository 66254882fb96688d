"""On every graph that a direction matches it keeps the value, and runs wherever the graph does.

The graphs are made from the matched side alone, whether or not the other side can be built, with
sizes of 0 and 1, unknown ones and named ones, and matrices that may have no inverse.
"""

from __future__ import annotations

from relgraph.checking.sizes import runs_wherever
from tests.relations.test_soundness import every_direction, passed


@every_direction
def test_it_runs_wherever_the_graph_does(theme, relation):
    assert passed(runs_wherever(relation))
