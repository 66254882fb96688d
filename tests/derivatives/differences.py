"""Derivatives by differences of NumPy's values, which tests compare with."""

import numpy as np

WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # of central differences of order 8


def along(function, operands, direction, step=2e-3):
    """Return the derivative of a function of arrays along a direction, to the eighth order."""
    total = 0.0
    for k, weight in WEIGHTS.items():
        ahead = [x + k * step * t for x, t in zip(operands, direction, strict=True)]
        behind = [x - k * step * t for x, t in zip(operands, direction, strict=True)]
        total = total + weight / step * (function(*ahead) - function(*behind))
    return total


def jacobian_by_differences(function, x, step=2e-3):
    """Return all derivatives of a function of one array, in its shape and then that of ``x``."""
    x = np.asarray(x)
    columns = []
    for i in range(x.size):
        unit = np.zeros(x.size)
        unit[i] = 1.0
        columns.append(along(function, [x], [unit.reshape(x.shape)], step))
    stacked = np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(function(x)), 0))
    return stacked.reshape(*np.shape(stacked)[:-1], *x.shape)
