"""Lowering: which ops share a loop, the order of the loops, and the buffer of each value."""
