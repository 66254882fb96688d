"""Kernels in the loop language: each kind of :class:`.kernels.Structure` has a module."""

from __future__ import annotations

from relgraph.lowering.kernels import Structure
from relgraph.lowering.nests.elements import Elements
from relgraph.lowering.nests.products import MatrixProducts
from relgraph.lowering.nests.rows import Rows
from relgraph.lowering.nests.scans import Scans, has_scans
from relgraph.lowering.nests.updates import Updates

AnyNest = Elements | Rows | MatrixProducts


def nest_of(structure: Structure, past: bool = False) -> AnyNest:
    """Return the nest of a structure; with ``past`` its results are stored past the cache."""
    if structure.products is not None:
        return MatrixProducts(structure)
    if has_scans(structure):
        return Scans(structure)
    if any(target is not None and target.places is not None for target in structure.targets):
        return Updates(structure)
    return Rows(structure, past) if structure.passes else Elements(structure, past)


__all__ = ["AnyNest", "nest_of"]
