"""Numerical kernels as people write them in NumPy: whole arrays, in place, and in loops.

The names are those of the 54 programs of NPBench (Ziogas et al., NPBench: A benchmarking suite for
high-performance NumPy, ICS 2021); the code restates what each computes.
"""
