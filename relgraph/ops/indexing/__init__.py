"""Index expressions, what they select, and functional updates."""
