"""Databases: what is selected by tags, in which order it runs, and the modes."""
