"""Records: immutable classes of fields."""

import copy
import pickle
from typing import ClassVar

import pytest

from relgraph.ir.records import record, replace


@record
class Point:
    """A point with a name."""

    count: ClassVar[int] = 0
    x: int
    y: int = 2
    name: str = "p"

    @property
    def sum(self):
        return self.x + self.y


@record
class Named(Point):
    """A point that checks its name."""

    tag: str = ""

    def __post_init__(self):
        if not self.tag:
            raise ValueError("no tag")


@record(eq=False)
class Node:
    """A node that is equal to itself only."""

    value: int


@record
class Empty:
    """No fields."""


def test_fields_are_given_by_position_or_name_and_have_defaults():
    assert (Point(1).x, Point(1).y, Point(1, name="q").name) == (1, 2, "q")
    assert Point(1).sum == 3
    with pytest.raises(TypeError, match="x"):
        Point()
    with pytest.raises(TypeError, match="z"):
        Point(1, z=3)


def test_records_are_equal_if_their_fields_are():
    assert Point(1) == Point(1, 2)
    assert hash(Point(1)) == hash(Point(1, 2))
    assert Point(1) != Point(2)
    assert Point(1) != Named(1, tag="t")
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert Node(1) != Node(1)
    assert len({Node(1), Node(1)}) == 2


def test_records_cannot_be_changed():
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is immutable: x cannot be changed"):
        point.x = 2
    with pytest.raises(AttributeError, match="immutable"):
        del point.x
    assert replace(point, y=5) == Point(1, 5)
    assert point.y == 2


def test_fields_and_checks_are_inherited():
    assert repr(Named(1, tag="t")) == "Named(x=1, y=2, name='p', tag='t')"
    with pytest.raises(ValueError, match="no tag"):
        Named(1)


def test_records_are_copied_pickled_and_matched_by_position():
    point = Point(3, 4)
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point
    match point:
        case Point(x, y):
            assert (x, y) == (3, 4)
