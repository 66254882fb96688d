"""Targets: what an update in a kernel says of itself."""

import relgraph as rg
from relgraph.lowering.targets import Update
from relgraph.lowering.update_rules import part_of

x, v = rg.vectors("x v", 5)
i = rg.tensor("i", (5,), "int64")
k = rg.scalar("k", "int64")


def test_an_update_reads_its_array_and_its_key():
    node = x.at[k].set(2.0)
    update = Update(node, part_of(node))
    assert update.array is x
    assert update.key == (k,)
    assert update.reads == (x, k)


def test_an_update_at_places_reads_their_largest():
    node, largest = x.at[i].add(v), rg.max(i)
    update = Update(node, part_of(node), largest, 1)
    assert update.reads == (x, i, largest)


def test_reads_of_an_update_leave_out_its_value():
    node = x.at[1:3].set(v[:2])
    assert Update(node, part_of(node)).reads == (x,)
