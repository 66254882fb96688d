"""Derivatives: differentials and adjoints, which are relations, read forward and in reverse."""
