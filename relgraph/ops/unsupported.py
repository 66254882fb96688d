"""What to write instead of functions of NumPy that graphs do not have."""

from __future__ import annotations

_SORTS = "Write np.sort(x), whose elements are in order on both sides of every place."
_GENERAL = "No op takes a matrix that is not symmetric; of a symmetric one write np.linalg.eigh(A)."

INSTEAD: dict[str, str] = {
    "ndarray.sort": "Write np.sort(x), which returns a new array.",
    "ndarray.partition": _SORTS,
    "partition": _SORTS,
    "argpartition": "Write np.argsort(x).",
    "sort_complex": "Write np.sort(x).",
    "unique": "Write rg.unique(x).",
    "searchsorted": "Count: np.sum(a < v[..., None], axis=-1), or a <= v for side='right'.",
    "linalg.eig": _GENERAL,
    "linalg.eigvals": _GENERAL,
    "linalg.svdvals": "Write np.linalg.svd(A, compute_uv=False).",
    "linalg.pinv": "For a matrix of full column rank, write np.linalg.solve(A.T @ A, A.T).",
    "linalg.lstsq": "For a matrix of full column rank, write np.linalg.solve(A.T @ A, A.T @ b).",
    "piecewise": "Write np.where(condition, a, b), one inside the other.",
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
