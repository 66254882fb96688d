"""Trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from relgraph.relations.relation import Relation

RELATIONS: tuple[Relation, ...] = ()
