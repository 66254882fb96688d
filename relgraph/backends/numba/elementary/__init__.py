"""Elementary functions without branches, so that LLVM can vectorise loops that call them.

``values`` emits formulas as LLVM IR, ``table`` lists the functions with their error bounds, and
``coefficients`` holds the polynomials that ``benchmarks/minimax.py`` derives.
"""
