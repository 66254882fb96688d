"""Rewrites written in Python: of whole graphs, and of nodes by rules that are no identities."""
