"""Matrices with structure: diagonal, triangular, orthogonal, Kronecker, block-diagonal."""

from __future__ import annotations

from relgraph.relations.relation import Relation

RELATIONS: tuple[Relation, ...] = ()
