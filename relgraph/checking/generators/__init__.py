"""What to check a relation on: graphs built from its sides, and arrays for their inputs.

``shapes`` lists the shapes, dtypes and parameters to try, ``instances`` builds both sides of a
clause from a combination of them, ``cases`` does so for a relation in one direction, and ``arrays``
draws values that have the declared facts.
"""
