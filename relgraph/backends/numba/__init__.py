"""The CPU backend: relgraph prints LLVM IR for the kernels, and LLVM compiles it.

Numba compiles only the scalar functions that have no formula in :mod:`.elementary`.  If TBB is
installed, kernels also run on numba's threads.

Sums may round differently from NumPy.  Functions such as ``exp`` are evaluated by polynomials or by
the C library; ``docs/accuracy.md`` states the error bounds.  The backend sets no fast-math flags
and reorders only the additions within one sum.
"""
