"""References of a kernel's statements, and its packed constants."""

import numpy as np

import relgraph as rg
from relgraph.lowering.refs import Ref, Slots, dtype_name

TWO, THREE = rg.constant(2.0), rg.constant(3.0)
SINGLE = rg.constant(np.float32(2.0))


def test_slots_are_counted_for_each_dtype():
    slots = Slots()
    refs = [slots.ref(x, False) for x in (TWO, SINGLE, THREE)]
    assert [(ref.dtype, ref.index) for ref in refs] == [
        ("float64", 0), ("float32", 0), ("float64", 1),
    ]  # fmt: skip
    assert slots.packed() == {"float32": (SINGLE,), "float64": (TWO, THREE)}


def test_shared_slots_hold_a_constant_once():
    shared, separate = Slots(), Slots(shared=False)
    for slots in (shared, separate):
        slots.ref(TWO, False)
        slots.ref(TWO, False)
    assert shared.packed() == {"float64": (TWO,)}
    assert separate.packed() == {"float64": (TWO, TWO)}


def test_a_literal_takes_no_slot():
    slots = Slots()
    assert slots.ref(TWO, True) == Ref("literal", 0, "float64", 2.0)
    assert slots.packed() == {}


def test_the_name_of_a_dtype():
    assert [dtype_name(x) for x in (TWO, SINGLE, TWO > THREE)] == ["float64", "float32", "bool"]
