"""Functions of SciPy that relgraph's table of elementwise ops lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, Type, broadcast_shapes


class SpecialFunction(Op):
    """A function of ``scipy.special``, applied to every element, with broadcasting.

    Parameters
    ----------
    function : str
        Its name in ``scipy.special``.
    """

    __slots__ = ()
    parameters = ("function",)
    pointwise = True
    overhead = 1500

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the function."""
        return str(self.params[0])

    def infer(self, *types: Any) -> Type:
        """Return float32 or float64, and the broadcast shape."""
        dtype = np.result_type("float32", *[t.dtype for t in types])
        return TensorType(dtype, broadcast_shapes([t.shape for t in types]))

    def perform(self, *values: Any) -> Any:
        """Compute with SciPy."""
        dtype = np.result_type("float32", *[np.asarray(v).dtype for v in values])
        function = getattr(scipy.special, self.params[0])
        return np.asarray(function(*[np.asarray(v, dtype=dtype) for v in values]), dtype=dtype)

    def flops(self, types: tuple[Any, ...], result: Any) -> Any:
        """Return a hundred operations for each element."""
        from relgraph.ir.cost import size

        return 100 * size(result)


__all__ = ["SpecialFunction"]
