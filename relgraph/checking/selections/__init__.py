"""Checks of a selection of relations against itself: ``rg.check("o4")``, ``rg.check([r, s])``.

Maintainers of the shipped modes run them.  They report relations that never fire, undo each other,
follow from others, or rewrite one graph to two different results.
"""
