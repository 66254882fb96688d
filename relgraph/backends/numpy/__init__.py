"""The reference backend: it computes each op separately with NumPy."""
