"""Special functions: the gamma and error functions and their kin."""

from __future__ import annotations

from relgraph.relations.relation import Relation

RELATIONS: tuple[Relation, ...] = ()
