"""
Ask why a graph changed
=======================

``rg.explain`` lists the steps from a graph to its rewritten form, and ``rg.why_not`` says why a
relation does not apply.
"""

import relgraph as rg

A = rg.matrix("A", shape=("n", "n"))
x, y = rg.vectors("x y", shape=("n",))

# %%
# A step names its relation and its place in the graph.  The dots in the place stand for what
# changes there.

graph = rg.log(rg.exp(A @ x + A @ y)) + rg.trace(A.mT) - rg.trace(A)
derivation = rg.explain(graph)
derivation

# %%
# In its picture, removed nodes are red, and new ones are green:

rg.draw(derivation)

# %%
# miniKanren, which shares no code with the rewriting engine, replays the steps and raises an error
# if one does not follow:

derivation.check()

# %%
# ``log(x y) = log(x) + log(y)`` holds for positive numbers, and nothing is known of these:


@rg.identity(where=lambda u, v: (rg.positiveo(u), rg.positiveo(v)))
def split_logo(u, v):
    """log(u v) = log(u) + log(v)."""
    return rg.log(u * v), rg.log(u) + rg.log(v)


rg.why_not(rg.log(x * y), split_logo)

# %%
# With this fact about both, it applies:

p, q = rg.vectors("p q", shape=("n",), facts=("positive",))
print(rg.rewrite_graph(rg.log(p * q), split_logo))
