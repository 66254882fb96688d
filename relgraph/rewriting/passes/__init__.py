"""Rewriters written in Python: for whole graphs, and for nodes by rules that are not identities."""
