"""The answer to why a relation does not fire: to print, or to read by its fields."""

from __future__ import annotations

from collections.abc import Iterator

from relgraph.checking.diagnosis.reasons import Place, Reason, shown
from relgraph.errors import count_of
from relgraph.ir.node import Variable
from relgraph.ir.records import record
from relgraph.relations.pattern import text
from relgraph.relations.relation import Relation
from relgraph.viz.display import Displayed
from relgraph.viz.document import Code, Element, Heading

PRINTED = 3  # places


@record
class WhyNot(Displayed):
    """Where a relation fires in a graph, or what keeps it from firing.

    :func:`why_not` returns it.  It prints the reasons, those nearest to a match first.

    Attributes
    ----------
    relation : Relation
        The relation, in the direction that was asked for.
    fired : tuple of Variable
        The nodes at which it fires, as they stand when it does.
    places : tuple of Place
        If it fires nowhere: the places at which it might have, the nearest first.  Each has the
        ``node``, the clause as ``rewrite``, and the ``reasons``: the tests that fail, each with
        ``kind``, ``text`` and ``advice``.
    """

    relation: Relation
    fired: tuple[Variable, ...]
    places: tuple[Place, ...] = ()

    @property
    def reason(self) -> Reason | None:
        """The first test that failed at the nearest place; None if the relation fires."""
        return self.places[0].reason if self.places else None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _document(self) -> list[Element]:
        first, *rest = self._lines()
        reasons = [Code("\n".join(rest))] if rest else []
        return [Heading(first, "good" if self.fired else "bad"), *reasons]

    def _lines(self) -> Iterator[str]:
        label = self.relation.label
        if self.fired:
            where = ", ".join(map(shown, self.fired[:PRINTED]))
            rest = len(self.fired) - PRINTED
            yield f"{label} fires at {where}" + (f", and {rest} more" if rest > 0 else "")
            return
        yield f"{label} does not fire"
        for number, place in enumerate(self.places[:PRINTED], 1):
            if place.rewrite is None:
                yield f"{number}. {place.reasons[0].text}"
            else:
                yield f"{number}. at {shown(place.node)}, pattern {text(place.rewrite.pattern)}:"
                yield f"   {place.reasons[0].text}"
            if place.reasons[0].advice:
                yield f"   {place.reasons[0].advice}"
            for reason in place.reasons[1:]:
                yield f"   and then: {reason.text}"
        rest = len(self.places) - PRINTED
        if rest > 0:
            yield f"and at {count_of(rest, 'more place')}"
