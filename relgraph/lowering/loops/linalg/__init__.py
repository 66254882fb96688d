"""Linear algebra in the loop language."""
