"""Checks of single relations, on graphs built from their sides, and of whole selections."""
