"""Forward and reverse mode, by differentials and adjoints, which are relations."""
