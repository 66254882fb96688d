"""Measurements of graphs and functions: times in turns, benchmarks, profiles."""
