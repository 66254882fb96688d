"""Adapters to miniKanren: what it does that makes each one necessary.

goals : Its goals decide at once, apart from ``neq``, ``typeo`` and ``isinstanceo``, so a condition
    that calls a function of several terms cannot wait until they are bound.  While both ends are
    open, its ``mapo`` has an answer for each length, and its ``assoc_flatten`` equates a term with
    its flat form.
residuals : It checks constraints only in a ``ConstrainedState``, variable by variable; in a plain
    state nothing runs a goal again when a variable is bound.
search : Its ``run`` has no bound, so a goal that diverges never returns; and it unifies by
    generators that are dispatched on the types of both terms, at each level of a graph.
skeleton : It has no table of answers: a goal runs anew at each node, though it may unify the upper
    levels only and answer alike for all graphs that have them.
enumeration : It answers with substitutions; the matcher compiler needs clauses.
clause_goals : It runs goals; an identity is declared as clauses.

How graphs and patterns unify stands with them, in :mod:`relgraph.ir.etuple` and
:mod:`relgraph.relations.pattern`.
"""
