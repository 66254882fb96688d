"""
Fit a curve
===========

``rg.value_and_grad`` differentiates a loss that is written with NumPy's functions, and compiles
it.  SciPy's ``minimize`` chooses the steps.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import relgraph as rg

rng = np.random.default_rng(0)
t = np.linspace(0, 4, 80)
data = 2.5 * np.exp(-0.7 * t) * np.cos(5.0 * t) + 0.1 * rng.standard_normal(t.size)


def model(parameters, t):
    """Return a damped oscillation."""
    amplitude, decay, frequency = parameters[0], parameters[1], parameters[2]
    return amplitude * np.exp(-decay * t) * np.cos(frequency * t)


def loss(parameters, t, data):
    """Return the mean squared error of the model."""
    return np.mean((model(parameters, t) - data) ** 2)


# %%
# One call returns the loss and its gradient, which ``jac=True`` tells SciPy:

objective = rg.value_and_grad(loss)
fitted = minimize(objective, [1.0, 0.1, 4.5], args=(t, data), jac=True, method="BFGS")
print("amplitude, decay, frequency:", fitted.x.round(2))
print("calls:", fitted.nfev)

# %%
# The same model computes the curve:

plt.plot(t, data, ".", label="data")
plt.plot(t, model(fitted.x, t), label="fitted")
plt.xlabel("t")
plt.legend()
plt.show()
