"""Random programs, whose results on graphs are compared with NumPy's."""
