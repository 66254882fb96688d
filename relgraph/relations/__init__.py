"""Relations: identities and goals as data, and the compiler from their clauses to matchers."""
