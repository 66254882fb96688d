"""The CPU backend: one readable Python module for a graph, compiled by numba.

Sums may round differently from NumPy, and functions such as ``exp`` are computed by polynomials or
by the C library; ``docs/accuracy.md`` states the bounds.  No fast-math flag is used:
the only operations that are reordered are the additions inside one sum.
"""
