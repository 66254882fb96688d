"""Why a relation does not fire: the first test that fails at the places nearest to a match."""
