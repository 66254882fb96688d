"""Findings in the shipped modes that are expected, as data: what was found, and why it stays."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

from relgraph.checking.report import Finding

_INNERMOST = (
    "operands are rewritten before the op they belong to, so a term or factor that changed within "
    "its own operand is no longer common to two"
)

_SOLVE = (
    "an inverse that is multiplied becomes a solve, which is more accurate, before the op around "
    "the product is looked at"
)
_ACCURATE = "the form that keeps its digits is worth what it costs"

# Kind, relation, other relation, reason; names may hold wildcards, and the two may be exchanged.
KNOWN: tuple[tuple[str, str, str, str], ...] = (
    ("missed", "solve_*", "*", _SOLVE),
    ("missed", "erfc_*", "*", _ACCURATE),
    ("missed", "exp_log_softmaxo", "*", _INNERMOST),
    ("missed", "distribute_*.reversed", "*", _INNERMOST),
    ("missed", "transpose_*.reversed", "*", _INNERMOST),
    ("missed", "collect_like_termso", "*", _INNERMOST),
    ("missed", "lift_*", "*", _INNERMOST),
    ("missed", "cancel_*", "*", _INNERMOST),
    ("missed", "negate_*", "*", _INNERMOST),
    ("missed", "scale_*", "*", _INNERMOST),
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
