"""Databases, which select rewrites by tag and run them in order, and the modes."""
