"""Search for the cheapest equal program: an e-graph over sums and products of matrices."""
