"""What to write instead of functions of NumPy that graphs do not have."""

from __future__ import annotations

import numpy as np

_SORTS = "Write np.sort(x), whose elements are in order on both sides of every place."
_GENERAL = "No op takes a matrix that is not symmetric; of a symmetric one write np.linalg.eigh(A)."

INSTEAD: dict[str, str] = {
    "ndarray.sort": "Write np.sort(x), which returns a new array.",
    "ndarray.flat": "Write x.reshape(-1), which is a view of an array in C order.",
    "ndarray.resize": "Use np.zeros(shape), and assign the elements to it.",
    "ndarray.view": "Use x.astype(dtype) to convert elements, or x[...] for a view.",
    "place": "Write x[mask] = values, with one value for each True of the mask.",
    "ndarray.partition": _SORTS,
    "partition": _SORTS,
    "argpartition": "Write np.argsort(x).",
    "sort_complex": "Write np.sort(x).",
    "isin": "Write np.any(np.equal(x[..., None], values), axis=-1), for a vector of values.",
    "unique": "Write rg.unique(x).",
    "add.at": "Write x.at[i].add(v), which returns a new array.",
    "subtract.at": "Write x.at[i].add(-v), which returns a new array.",
    "multiply.at": "Write x.at[i].multiply(v), which returns a new array.",
    "maximum.at": "Write x.at[i].max(v), which returns a new array.",
    "minimum.at": "Write x.at[i].min(v), which returns a new array.",
    "put": "Write np.ravel(x).at[i].set(v), which returns a new array.",
    "putmask": "Write np.where(mask, v, x), which returns a new array.",
    "copyto": "Write np.where(mask, v, x), which returns a new array.",
    "fill_diagonal": "Write np.where(np.eye(n, dtype=bool), v, x), which returns a new array.",
    "linalg.eig": _GENERAL,
    "linalg.eigvals": _GENERAL,
    "linalg.svdvals": "Write np.linalg.svd(A, compute_uv=False).",
    "linalg.pinv": "For a matrix of full column rank, write np.linalg.solve(A.T @ A, A.T).",
    "linalg.lstsq": "For a matrix of full column rank, write np.linalg.solve(A.T @ A, A.T @ b).",
    "put_along_axis": "Write x.at[key].set(v), with an index array for each axis in the key.",
    "piecewise": "Write np.where(condition, a, b), one inside the other.",
    "item": "Return the array; a result without dimensions is a NumPy scalar.",
    "tolist": "Return the array, and call tolist() on what the compiled function returns.",
    "fill": "Use np.full_like(x, value), which returns a new array.",
    "nonzero": "Use np.where(condition, a, b): how many elements there are must be known.",
    "argwhere": "Use np.where(condition, a, b): how many elements there are must be known.",
    "flatnonzero": "Use np.where(condition, a, b): how many elements there are must be known.",
}

_METHODS = {
    "at": "Write x.at[i].set(v), where v may be made of x[i]; it returns a new array.",
}


def instead_of(label: str) -> str:
    """Return what to write instead of a function such as "np.sort", or "" if nothing is known."""
    label = label.removeprefix("np.")
    name, _, method = label.rpartition(".")
    if label not in INSTEAD and isinstance(getattr(np, name, None), np.ufunc):
        return _METHODS.get(method, "").format(name=name)
    return INSTEAD.get(label, "")
