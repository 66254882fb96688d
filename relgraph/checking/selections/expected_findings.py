"""Expected findings in the shipped modes, as data: each finding, and why it stays."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from relgraph.checking.selections.findings import Finding

_TRIVIAL = (
    "graphs built from its sides mostly state their sizes once; it fires if each of two statements "
    "adds a size, as a test shows"
)

_OUTSIDE = (
    "leading axes are absorbed first; it is for new axes behind one that is repeated, and for the "
    "reverse direction"
)

_ORDER = (
    "both simplify the graph, and the declared order decides which one fires; the other way is "
    "cheaper for special graphs only"
)

_TWICE = (
    "equal terms of a sum are counted first; doubling a block is cheaper than doubling the whole "
    "only if a matrix is added to itself"
)

_NOTHING = (
    "the key of the update selects no element of an axis of size 1, which only the sizes show; "
    "reads of everything are removed first"
)

_SMALL = (
    "by the weight of a division, a triangular solve costs less than dividing by the diagonal for "
    "matrices of order 3; from order 6 on it costs more"
)

_SIGNS = (
    "an orthogonal triangular matrix is diagonal, with entries 1 and -1, and nobody declares it by "
    "these two facts"
)

_LONGER = (
    "lift_transposeo fires first in a sum of two; it gathers the terms of a longer sum that are "
    "transposes, where others are not"
)

# Kind, relation, other relation, reason; names may contain wildcards, in either order.
KNOWN: tuple[tuple[str, str, str, str], ...] = (
    ("shadowed", "merge_specify_shapeo", "*", _TRIVIAL),
    ("shadowed", "specify_shape_broadcasto", "*", _TRIVIAL),
    ("shadowed", "broadcast_expand_dimso", "*", _OUTSIDE),
    ("shadowed", "transpose_addo.reversed", "lift_transposeo", _LONGER),
    ("missed", "cut_broadcast_too", "cancel_add_subtracto", _ORDER),
    ("missed", "merge_seto", "add_readso", _ORDER),
    ("missed", "double_addo", "distribute_kron*", _TWICE),
    ("missed", "double_addo", "add_block_diago", _TWICE),
    ("missed", "distribute_krono.reversed", "distribute_kron_lefto.reversed", _ORDER),
    ("missed", "remove_indexo", "read_besideo", _NOTHING),
    ("missed", "solve_diagonal_*o", "solve_*_triangularo", _SMALL),
    ("missed", "solve_lower_triangularo", "solve_upper_triangularo", _SMALL),
    ("missed", "divide_*o", "solve_*_triangularo", _SMALL),
    ("missed", "solve_orthogonalo", "solve_*_triangularo", _SIGNS),
    ("missed", "solve_orthogonalo", "solve_diagonal_matrixo", _SIGNS),
    ("missed", "cancel_square_factoro", "cancel_divide_multiplyo", _ORDER),
    ("missed", "negate_multiplyo", "merge_multiply_numeratoro", _ORDER),
    ("missed", "log_reciprocalo", "log_multiply_expo", _ORDER),
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
