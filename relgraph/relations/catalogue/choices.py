"""Choices: where, minimum, maximum and clip."""

from __future__ import annotations

from relgraph.relations.relation import Relation

RELATIONS: tuple[Relation, ...] = ()
