"""NumPy's names, for graphs: ``import relgraph.numpy as rnp``.

The functions take NumPy's arguments and build graphs.  On arrays and numbers they build graphs of
constants.  Every public name is one that NumPy has; functions that NumPy lacks, such as
``relgraph.softmax``, are in ``relgraph`` alone.

Examples
--------
>>> import relgraph as rg
>>> import relgraph.numpy as rnp
>>> rnp.sum(rnp.exp(rg.vector("x")))
sum(exp(x))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _np

from numpy import (
    bool_ as bool_, e as e, euler_gamma as euler_gamma, float32 as float32, float64 as float64,
    inf as inf, int8 as int8, int16 as int16, int32 as int32, int64 as int64, nan as nan,
    newaxis as newaxis, pi as pi, uint8 as uint8, uint16 as uint16, uint32 as uint32,
    uint64 as uint64,
)  # fmt: skip

from relgraph.errors import no_attribute as _no_attribute
from relgraph.numpy import linalg as linalg
from relgraph.numpy.along_axis import *
from relgraph.numpy.comparison import *
from relgraph.numpy.convolution import *
from relgraph.numpy.creation import *
from relgraph.numpy.cumulative import *
from relgraph.numpy.finite_differences import *
from relgraph.numpy.functions import *  # its clip is NumPy's
from relgraph.numpy.interpolation import *
from relgraph.numpy.manipulation import *
from relgraph.numpy.nan_reductions import *
from relgraph.numpy.polynomials import *
from relgraph.numpy.products import *
from relgraph.numpy.quantiles import *
from relgraph.numpy.reductions import *
from relgraph.numpy.searching import *
from relgraph.numpy.statistics import *
from relgraph.numpy.ufuncs import *
from relgraph.numpy.unsupported import instead_of as _instead_of
from relgraph.ops.checks import squeeze as squeeze, unique as unique
from relgraph.ops.concatenate import concatenate as concatenate, stack as stack
from relgraph.ops.contraction import einsum as einsum, matmul as matmul, outer as outer
from relgraph.ops.cumulative import cumprod as cumprod, cumsum as cumsum
from relgraph.ops.elementwise import (
    ROWS as _ROWS, Elementwise as _Elementwise, cast as _cast, conjugate as conjugate,
    divmod as divmod, fmax as fmax, fmin as fmin, positive as positive, round as round,
)  # fmt: skip
from relgraph.ops.indexing.index import take as take
from relgraph.ops.linalg.blocks import kron as kron
from relgraph.ops.linalg.structured import diag as diag, eye as eye, tril as tril, triu as triu
from relgraph.ops.permutation import (
    matrix_transpose as matrix_transpose, moveaxis as moveaxis, swapaxes as swapaxes,
)  # fmt: skip
from relgraph.ops.shape import (
    broadcast_to as broadcast_to, expand_dims as expand_dims, ravel as ravel, reshape as reshape,
    shape as shape,
)  # fmt: skip
from relgraph.ops.sorting import argsort as argsort, sort as sort

# Functions imported above have NumPy's signatures and take precedence over ops of the same name.
globals().update({
    name: _Elementwise(name)
    for name in _ROWS
    if hasattr(_np, name) and name not in globals()
})  # fmt: skip

# Other names that NumPy has for the same functions.
globals().update({
    alias: globals()[name]
    for name, row in _ROWS.items()
    for alias in row.aliases
    if name in globals()
})  # fmt: skip
array = asarray
astype = _cast
amax = max
amin = min
around = round
concat = concatenate
conj = conjugate
degrees = rad2deg
permute_dims = transpose
radians = deg2rad

_PUBLIC = sorted(name for name in globals() if hasattr(_np, name) and name[0] != "_")
if not TYPE_CHECKING:  # type checkers see the imports
    __all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    raise _no_attribute("relgraph.numpy", name, _PUBLIC, _instead_of(f"np.{name}"))


def __dir__() -> list[str]:
    return _PUBLIC
