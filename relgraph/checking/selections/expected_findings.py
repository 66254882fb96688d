"""Expected findings in the shipped modes, as data: each finding, and why it stays."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from relgraph.checking.report import Finding

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

_TWICE = (
    "equal terms are counted before anything else is made of a sum; that twice a block is cheaper "
    "than twice the whole shows only where a matrix is added to itself"
)

_NOTHING = (
    "the key of the update selects no element of an axis of size 1, which only its sizes show; a "
    "read of everything is dropped first"
)

_SMALL = (
    "by the weight of a division, a triangular solve costs less than dividing by the diagonal for "
    "matrices of order 3; from order 6 on it costs more"
)

_SIGNS = (
    "a matrix that is orthogonal and triangular has 1 and -1 on its diagonal and nothing beside "
    "it, which nobody declares by these two facts"
)

# Kind, relation, other relation, reason; names may contain wildcards, in either order.
KNOWN: tuple[tuple[str, str, str, str], ...] = (
    ("shadowed", "merge_specify_shapeo", "*", _TRIVIAL),
    ("shadowed", "specify_shape_broadcasto", "*", _TRIVIAL),
    ("shadowed", "broadcast_expand_dimso", "*", _OUTSIDE),
    ("missed", "merge_seto", "add_readso", _ORDER),
    ("missed", "double_addo", "distribute_kron*", _TWICE),
    ("missed", "double_addo", "add_block_diago", _TWICE),
    ("missed", "distribute_krono.reversed", "distribute_kron_lefto.reversed", _ORDER),
    ("missed", "remove_indexo", "read_besideo", _NOTHING),
    ("missed", "solve_diagonal_*o", "solve_*_triangularo", _SMALL),
    ("missed", "solve_lower_triangularo", "solve_upper_triangularo", _SMALL),
    ("missed", "solve_orthogonalo", "solve_*_triangularo", _SIGNS),
    ("missed", "absorb_broadcast_too", "cancel_subtract_addo", _ORDER),
    ("missed", "absorb_broadcast_too", "absorb_extremeo", _ORDER),
)


def expected(finding: Finding) -> Finding:
    """Return a finding, with the reason if it is expected."""
    names = (*finding.relations, "", "")[:2]
    for kind, first, second, reason in KNOWN:
        if kind == finding.kind and any(
            fnmatchcase(a, first) and fnmatchcase(b, second) for a, b in (names, names[::-1])
        ):
            return replace(finding, reason=reason)
    return finding
