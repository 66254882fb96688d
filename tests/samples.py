"""Identities that several tests use; no test depends on their labels."""

import relgraph as rg


@rg.identity
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@rg.identity
def distribute_multiplyo(x, y, z):
    """x (y + z) = x y + x z."""
    return x * (y + z), x * y + x * z


@rg.identity
def double_addo(x):
    """x + x = 2 x."""
    return x + x, 2 * x


@rg.identity
def cancel_log_expo(x):
    """log(exp(x)) = x."""
    return rg.log(rg.exp(x)), x


@rg.identity
def remove_multiply_oneo(x):
    """x * 1 = x."""
    return x * 1, x


@rg.identity
def remove_add_zeroo(x):
    """x + 0 = x."""
    return x + 0, x


@rg.identity
def count_oneso(x, y):
    """x y + y = (x + 1) y."""
    return x * y + y, (x + 1) * y


@rg.identity
def merge_expo(x, y):
    """exp(x) exp(y) = exp(x + y)."""
    return rg.exp(x) * rg.exp(y), rg.exp(x + y)


@rg.identity
def merge_maximum_minimumo(x, y):
    """max(x, y) + min(x, y) = x + y."""
    return rg.maximum(x, y) + rg.minimum(x, y), x + y


@rg.identity
def pythagoraso(x):
    """sin(x)^2 + cos(x)^2 = 1."""
    return rg.sin(x) ** 2 + rg.cos(x) ** 2, 1


@rg.identity
def collapse_whereo(c, x):
    """where(c, x, x) = x."""
    return rg.where(c, x, x), x
