"""Findings in the shipped modes that are expected, as data: what was found, and why it stays."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from relgraph.checking.report import Finding

_SOLVE = (
    "an inverse that is multiplied becomes a solve, which is more accurate, before the op around "
    "the product is looked at"
)

_TRIVIAL = (
    "the sizes in graphs made of its sides are mostly stated once; it fires where each of two "
    "statements adds a size, as a test shows"
)

# Kind, relation, other relation, reason; names may hold wildcards, and the two may be exchanged.
KNOWN: tuple[tuple[str, str, str, str], ...] = (
    ("missed", "solve_invo", "*", _SOLVE),
    ("shadowed", "merge_specify_shapeo", "*", _TRIVIAL),
)


def expected(finding: Finding) -> Finding:
    """Return a finding with the reason why it is expected, if there is one.

    Parameters
    ----------
    finding : Finding
        As it was found.
    """
    names = (*finding.relations, "", "")[:2]
    for kind, first, second, reason in KNOWN:
        if kind == finding.kind and any(
            fnmatchcase(a, first) and fnmatchcase(b, second) for a, b in (names, names[::-1])
        ):
            return replace(finding, reason=reason)
    return finding
