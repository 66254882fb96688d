"""Exact values of graphs, and whether rounding explains a difference from them.

``mpmath_semantics`` computes exact values and bounds of rounding errors, ``judge`` compares
computed values with them, and ``stability`` finds directions that lose digits.
"""
