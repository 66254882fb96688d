"""
Time over sizes
===============

``rg.benchmark`` times a graph as written and as rewritten, in turns, for each size.  ``(A B) x``
takes a product of matrices; ``A (B x)`` takes products of matrices and vectors only.
"""

import matplotlib.pyplot as plt

import relgraph as rg

A, B = rg.matrices("A B", shape=("n", "n"))
x = rg.vector("x", shape=("n",))

result = rg.benchmark((A @ B) @ x, sizes={"n": [10, 30, 100, 300]}, budget=3)
print(result)

# %%
# Both axes are logarithmic, so the slope is the power of the size with which the time grows.

_, axes = plt.subplots(layout="constrained")
result.plot(axes)
axes.set_title("(A @ B) @ x")
plt.show()
