"""The graph: types, ops, hash-consed nodes, facts, walks, printing and the etuple bridge."""
