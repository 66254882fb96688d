"""Backends, which compile a graph to a program.  Importing this package imports none of them."""
