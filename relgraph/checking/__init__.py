"""Checks of relations: each by itself, on graphs made from its sides, and of whole selections."""
