"""
A graph before and after rewriting
==================================

A notebook shows a graph as formulas, and ``rg.draw`` draws it.  Each box names what a node
computes, its dtype and its shape.
"""

import relgraph as rg

A = rg.matrix("A", shape=("m", "n"))
x = rg.vector("x", shape=("n",))
y = rg.vector("y", shape=("m",))

# %%
# This is the loss of a logistic regression with labels -1 and 1, as a textbook writes it.  For a
# large margin, ``exp`` overflows:

loss = rg.mean(rg.log(1 + rg.exp(-y * (A @ x))))
loss

# %%

rg.draw(loss)

# %%
# Relations with the tag "stabilize" rewrite it to ``softplus``, which does not overflow:

stable = rg.rewrite_graph(loss, include=["stabilize"])
rg.draw(stable)

# %%
# A picture of the derivation has both: removed nodes are red, new ones are green.

derivation = rg.explain(loss, include=["stabilize"])
print(derivation)
rg.draw(derivation)
