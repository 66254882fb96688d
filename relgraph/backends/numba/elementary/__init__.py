"""Elementary functions without branches, so that loops around them run on vectors.

``values`` writes formulas as LLVM, ``table`` lists the functions with the bounds of their errors,
and ``coefficients`` holds the polynomials that ``benchmarks/minimax.py`` derives.
"""
