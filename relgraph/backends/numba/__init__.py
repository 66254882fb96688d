"""The CPU backend: one readable Python module for a graph, its kernels compiled by LLVM.

Numba compiles the functions of scalars that have no formula here, and shares its threads.

Sums may round differently from NumPy, and functions such as ``exp`` are computed by polynomials or
by the C library; ``docs/accuracy.md`` states the bounds.  No fast-math flag is used:
the only operations that are reordered are the additions inside one sum.
"""
