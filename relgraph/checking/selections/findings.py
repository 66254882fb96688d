"""The findings about a selection, and the report that lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relgraph.checking.report import counted
from relgraph.errors import UnsoundRelationError
from relgraph.viz.display import Displayed

# The kinds of findings: a selection fails with an unexpected fault, and passes with notes.
FAULTS = {
    "shadowed": "never fires on its own sides: other relations fire first",
    "oscillates": "is undone by others, or does not terminate",
    "cannot run": "does not run in the direction selected",
    "fails": "raises an error on a graph built from its sides",
    "unproved": "has a condition that nothing satisfied",
    "derivable": "follows from the others",
    "missed": "fires where another relation would give a cheaper result",
}
NOTES = {
    "inner first": "would give a cheaper result before its operand is rewritten",
    "not joined": "competes with another relation, and the cheaper result wins",
    "one way": "does not run in the other direction",
    "derived": "is tagged derived: it follows from others, and stays for a reason",
    "unmeasured": "does not decrease the measure of the phases, so its termination is unproved",
}
QUIET = ("one way", "not joined", "inner first")  # only counted; ``of_kind`` lists them


@dataclass(frozen=True)
class Finding:
    """One finding of the check of a selection.

    Attributes
    ----------
    kind : str
        A key of ``FAULTS`` or ``NOTES``.
    phase : str
        The phase of the relations.
    relations : tuple of str
        The labels of the relations; the finding is about the first.
    text : str
        A description in one line.
    reason : str
        Why the finding is expected; empty for an unexpected one.
    """

    kind: str
    phase: str
    relations: tuple[str, ...]
    text: str
    reason: str = ""

    @property
    def fault(self) -> bool:
        """Whether the finding counts against the selection."""
        return self.kind in FAULTS and not self.reason

    def __str__(self) -> str:
        where = f"{self.phase}: " if self.phase else ""
        return f"{self.kind:<11}  {where}{self.text}"


class SelectionReport(Displayed):
    """The report on a selection; true if it has no unexpected fault.

    Parameters
    ----------
    name : str
        The name of the selection.
    counts : mapping of str to int
        The number of items checked, by kind.
    findings : sequence of Finding
        The faults and notes.

    Attributes
    ----------
    findings : tuple of Finding
        All findings.
    """

    def __init__(self, name: str, counts: Mapping[str, int], findings: Sequence[Finding]) -> None:
        self.name = name
        self.counts = dict(counts)
        self.findings = tuple(findings)

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that count against the selection."""
        return tuple(f for f in self.findings if f.fault)

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of one kind.

        Parameters
        ----------
        kind : str
            The kind, such as ``"derivable"``.

        Returns
        -------
        tuple of Finding
            The findings, expected or not.
        """
        return tuple(f for f in self.findings if f.kind == kind)

    def __bool__(self) -> bool:
        return not self.faults

    def raise_(self) -> None:
        """Raise the faults, if there are any.

        Raises
        ------
        UnsoundRelationError
            If there are faults; the error lists them.
        """
        if self.faults:
            raise UnsoundRelationError(
                f"{self.name} has {counted(len(self.faults), 'faults')}",
                [(f.kind, f.text) for f in self.faults],
                "Mend the relations, or leave one of each pair out.",
            )

    def __str__(self) -> str:
        counts = ", ".join(counted(n, what) for what, n in self.counts.items())
        kinds = Counter(f.kind for f in self.findings)
        expected = Counter(f.kind for f in self.findings if f.reason)
        lines = [f"{self.name}: {counts}"]
        for kind, what in {**FAULTS, **NOTES}.items():
            if kinds[kind]:
                rest = f", {expected[kind]} of them expected" if expected[kind] else ""
                lines.append(f"  {kinds[kind]:>4} {kind:<11} ({what}){rest}")
        shown = [f for f in self.findings if not f.reason and f.kind not in QUIET]
        lines += [f"  {f}" for f in sorted(shown, key=lambda f: not f.fault)]
        reasons = Counter((f.kind, f.reason) for f in self.findings if f.reason)
        lines += [f"  expected, {n} {kind}: {reason}" for (kind, reason), n in reasons.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<check of {self.name}: {counted(len(self.faults), 'faults')}>"
