"""``rg.check``: does a relation hold as its labels promise, and what does it do beside others?

Read :mod:`~relgraph.checking.check` first: it lists the checks of a relation.  Each of them draws
graphs and arrays (``generators``), rewrites the graphs with the relation alone (``matching``),
evaluates both (``evaluation``), and compares: values and types (``promises``), calls with other
sizes (``sizes``), products of matrices (``skipped_products``), and each branch of ops such as
``where`` (``branches``).  Exact values by mpmath say whether rounding explains a difference
(``rounding``).  A failure is shrunk (``shrinking``) to a counterexample (``outcome``), which gets a
fix (``advice``) and is printed (``report``).  ``selections`` checks modes and lists of relations.
"""
