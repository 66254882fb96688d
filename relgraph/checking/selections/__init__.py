"""Checks of a selection of relations against itself: ``rg.check("o4")``, ``rg.check([r, s])``.

``static_checks`` runs them, ``critical_pairs`` builds graphs that two relations rewrite,
``findings`` has the report, and ``expected_findings`` lists what the shipped modes have for a
reason.
"""
