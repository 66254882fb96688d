"""Checks of a selection of relations against itself: ``rg.check("o4")``, ``rg.check([r, s])``.

Whoever maintains the shipped modes runs them: which relations never fire, undo each other, follow
from others, or rewrite one graph to two different results.
"""
