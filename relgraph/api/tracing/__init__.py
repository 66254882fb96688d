"""Tracing: NumPy code runs on tracers, which record the graph of what it computes.

:mod:`.tracer` has the arrays and :mod:`.weak_scalar` the Python numbers that a traced function
meets.  :mod:`.calls` starts a trace, and says what functions of NumPy do to both.  NumPy's arrays
change and graphs do not: :mod:`.storage` keeps what arrays share with their views, and
:mod:`.in_place` writes to them.
"""
