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

_OUTSIDE = (
    "leading axes are absorbed first; it is for new axes behind one that is repeated, and for the "
    "reverse direction"
)

_ORDER = (
    "both make the graph simpler, and what fires is decided by the declared order; that the other "
    "way costs less shows only in special graphs"
)

# Kind, relation, other relation, reason; names may hold wildcards, and the two may be exchanged.
KNOWN: tuple[tuple[str, str, str, str], ...] = (
    ("missed", "solve_invo", "*", _SOLVE),
    ("shadowed", "merge_specify_shapeo", "*", _TRIVIAL),
    ("shadowed", "specify_shape_broadcasto", "*", _TRIVIAL),
    ("shadowed", "broadcast_expand_dimso", "*", _OUTSIDE),
    ("missed", "merge_seto", "add_readso", _ORDER),
    ("missed", "join_whereo", "choose_extremeo", _ORDER),
    ("missed", "absorb_broadcast_too", "cancel_subtract_addo", _ORDER),
    ("missed", "absorb_broadcast_too", "absorb_extremeo", _ORDER),
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
