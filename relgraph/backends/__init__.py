"""Backends: what turns a graph into a program.  Importing this package imports none of them."""
