"""Derivations: the recorded steps of a rewrite, and the checker that replays them."""
