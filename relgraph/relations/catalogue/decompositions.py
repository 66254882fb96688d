"""Decompositions, and what is known of them from structure."""

from __future__ import annotations

from relgraph.relations.relation import Relation

RELATIONS: tuple[Relation, ...] = ()
