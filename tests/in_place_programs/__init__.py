"""Random programs that write in place, whose results and arguments are compared with NumPy's."""
