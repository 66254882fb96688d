"""Display: documents as text and HTML, formulas as MathML, and pictures of graphs as SVG.

Nothing here knows what a node or a relation is.  Each class describes itself with the elements of
:mod:`relgraph.viz.document`, and :class:`~relgraph.viz.display.Displayed` shows them.
"""
