"""The reference backend: each op computed on its own by its NumPy meaning."""
