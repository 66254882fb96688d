"""
The kernels of a compiled function
==================================

relgraph divides a graph into kernels, which run as machine code, and calls of libraries.
``rg.draw`` frames each of them, in the order in which they run.
"""

import numpy as np

import relgraph as rg

X = rg.matrix("X", shape=("n", "k"))
W = rg.matrix("W", shape=("k", "m"))
b = rg.vector("b", shape=("m",))

# %%
# The matrix product is a call of NumPy.  The rest is one kernel, which computes a row at a time:

probabilities = rg.softmax(np.tanh(X @ W) + b, axis=-1)
function = rg.function([X, W, b], probabilities)
rg.draw(function)

# %%
# ``rg.cost`` counts what a call does:

print(rg.cost(function, sizes={"n": 10_000, "k": 20, "m": 10}))

# %%
# It takes and returns NumPy's arrays:

rng = np.random.default_rng(0)
result = function(rng.standard_normal((2, 4)), rng.standard_normal((4, 3)), np.zeros(3))
print(result, result.sum(axis=-1), sep="\n")
