"""The loop language: nodes, rules, meaning, and graphs written in it."""
