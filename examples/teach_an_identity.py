"""
Teach an identity, and run it backward
======================================

An identity is a function that returns two equal sides.  It rewrites graphs in both directions and
answers queries.
"""

import relgraph as rg

A, B = rg.matrices("A B", shape=("n", "n"))
x, y, z = rg.vectors("x y z", shape=("n",))


@rg.identity(specials="assumes_finite")
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


distribute_matmulo

# %%
# Forward, it distributes:

print(rg.rewrite_graph(A @ (x + B @ (y + z)), distribute_matmulo))

# %%
# Backward, it gathers:

print(rg.rewrite_graph(A @ x + B @ y + A @ z, distribute_matmulo.reversed))

# %%
# As a relation it answers which graphs are equal to this one by the identity:

print(distribute_matmulo.run(1, None, A @ x + A @ y))

# %%
# ``rg.check`` searches for arrays that contradict it.  It finds some for an identity with a wrong
# sign, and prints the smallest ones:

print(bool(rg.check(distribute_matmulo)))


@rg.identity(specials="assumes_finite")
def wrong_matmulo(X, Y, Z):
    """X (Y + Z) = X Y - X Z, which is false."""
    return X @ (Y + Z), X @ Y - X @ Z


rg.check(wrong_matmulo)
