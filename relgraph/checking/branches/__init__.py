"""The comparison of both sides of a relation on each branch of ops such as ``where``.

``decisions`` says which branch a value takes, ``search`` looks for values that take each of them,
and ``coverage`` compares the sides there.
"""
