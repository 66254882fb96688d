"""Rewriting: selections of relations, the driver to normal form, and derivations."""
