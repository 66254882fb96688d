"""What to write instead of functions of NumPy that graphs do not have."""

from __future__ import annotations

_SORTS = "No op sorts: compile what comes before it, and sort the array that is returned."
_SPECTRAL = "No op computes eigenvalues or singular values: apply NumPy to the array returned."
_CLOSE = "Write np.abs(a - b) <= atol + rtol * np.abs(b)."

INSTEAD: dict[str, str] = {
    "sort": _SORTS,
    "argsort": _SORTS,
    "partition": _SORTS,
    "argpartition": _SORTS,
    "median": _SORTS,
    "percentile": _SORTS,
    "quantile": _SORTS,
    "unique": "Write rg.unique(x).",
    "searchsorted": _SORTS,
    "linalg.eig": _SPECTRAL,
    "linalg.eigh": _SPECTRAL,
    "linalg.eigvals": _SPECTRAL,
    "linalg.eigvalsh": _SPECTRAL,
    "linalg.svd": _SPECTRAL,
    "linalg.svdvals": _SPECTRAL,
    "linalg.pinv": "For a matrix of full column rank, write np.linalg.solve(A.T @ A, A.T).",
    "linalg.lstsq": "For a matrix of full column rank, write np.linalg.solve(A.T @ A, A.T @ b).",
    "nancumsum": "Write np.cumsum(np.where(np.isnan(x), 0, x)).",
    "nancumprod": "Write np.cumprod(np.where(np.isnan(x), 1, x)).",
    "isclose": _CLOSE,
    "allclose": "Write np.all(np.abs(a - b) <= atol + rtol * np.abs(b)).",
    "array_equal": "Write np.all(np.equal(a, b)).",
    "average": "Write np.sum(weights * x) / np.sum(weights).",
    "ediff1d": "Write x[1:] - x[:-1].",
    "fliplr": "Write x[:, ::-1].",
    "flipud": "Write x[::-1].",
    "append": "Write np.concatenate([a, b]).",
    "hstack": "Write np.concatenate(arrays, axis=1); axis=0 for vectors.",
    "vstack": "Write np.concatenate(arrays, axis=0); np.stack(arrays) for vectors.",
    "atleast_1d": "Write np.expand_dims(x, 0) for a scalar.",
    "atleast_2d": "Write np.expand_dims(x, 0) for a vector.",
    "count_nonzero": "Write np.sum(np.not_equal(x, 0)).",
    "nansum": "Write np.sum(np.where(np.isnan(x), 0, x)).",
    "nanmean": "Write np.sum(np.where(np.isnan(x), 0, x)) / np.sum(np.logical_not(np.isnan(x))).",
    "nanmax": "Write np.max(np.where(np.isnan(x), -np.inf, x)).",
    "nanmin": "Write np.min(np.where(np.isnan(x), np.inf, x)).",
    "nan_to_num": "Write np.where(np.isfinite(x), x, 0).",
    "select": "Write np.where(condition, a, b), one inside the other.",
    "piecewise": "Write np.where(condition, a, b), one inside the other.",
    "ptp": "Write np.max(x) - np.min(x).",
    "modf": "Write x - np.trunc(x) and np.trunc(x).",
    "float_power": "Write x.astype('float64') ** y.",
    "deg2rad": "Write x * (np.pi / 180).",
    "radians": "Write x * (np.pi / 180).",
    "rad2deg": "Write x * (180 / np.pi).",
    "degrees": "Write x * (180 / np.pi).",
    "heaviside": "Write np.where(x > 0, 1, np.where(np.equal(x, 0), h, 0)).",
    "logaddexp2": "Write np.log2(np.exp2(a) + np.exp2(b)).",
    "cov": "Write (X - m).T @ (X - m) / (n - 1), with m = np.mean(X, axis=0).",
    "cross": "Write the three differences of products out, and join them with np.stack.",
    "kron": "Write (A[:, None, :, None] * B[None, :, None, :]).reshape(...).",
    "item": "Return the array; a result without dimensions is a NumPy scalar.",
    "tolist": "Return the array, and call tolist() on what the compiled function returns.",
    "fill": "Use np.full_like(x, value), which returns a new array.",
    "nonzero": "Use np.where(condition, a, b): how many elements there are must be known.",
    "argwhere": "Use np.where(condition, a, b): how many elements there are must be known.",
    "flatnonzero": "Use np.where(condition, a, b): how many elements there are must be known.",
}


def instead_of(label: str) -> str:
    """Return what to write instead of a function, or "" where no way is known.

    Parameters
    ----------
    label : str
        The function, such as "np.sort".

    Returns
    -------
    str
        A sentence for the last line of a message.
    """
    return INSTEAD.get(label.removeprefix("np."), "")
