"""Search among equal graphs: proofs that two graphs are equal."""
