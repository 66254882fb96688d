"""Graphs as source text for other array libraries."""
