"""Search among equal graphs: the cheapest program, and proofs of equality."""
