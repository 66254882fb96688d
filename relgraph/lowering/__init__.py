"""Lowering: which ops run in one loop, in which order, and in which buffer each value lives."""
