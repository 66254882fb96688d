"""The frameworks to compare kernels with, each at its best setting.

Every contender returns a new array for each result, which is freed before the next call.  NumPy,
numexpr, PyTensor and relgraph read the same NumPy arrays; JAX and torch read arrays in their own
format, created before, and each call waits for the result.  A framework is imported on first use.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from kernel_workloads import EPSILON, Arrays, Composed, NumpySpace, Row

Contender = Callable[[], Any]
_CASTING = {"order": "K", "casting": "safe"}


class Numpy:
    """NumPy's functions, called in sequence."""

    name = "numpy"
    setting = "as written"

    def contender(self, row: Row, arrays: Arrays) -> Contender:
        """Return a call that computes the workload on the arrays."""
        if row.operators is not None:
            return partial(row.operators, *arrays.values())
        return lambda: row.build(NumpySpace, arrays)

    def into(self, row: Row, arrays: Arrays, out: np.ndarray) -> Contender | None:
        """Return the same for a row whose result goes into a given array; None where it cannot."""
        spare = np.empty_like(out)

        def run(a: Any, b: Any, c: Any, d: Any) -> Any:
            np.multiply(a, b, out=out)
            np.multiply(c, d, out=spare)
            return np.add(out, spare, out=out)

        return partial(run, *arrays.values())


class Numexpr:
    """numexpr on all processors; its expressions are compiled before.

    Reductions are NumPy's where they are not the whole of an expression.
    """

    name = "numexpr"
    setting = "compiled expressions, all processors"

    def __init__(self) -> None:
        import numexpr

        numexpr.set_num_threads(os.cpu_count())
        self.compiled: dict[tuple[str, str], Any] = {}
        self.compile = numexpr.NumExpr

    def _expression(self, text: str, arrays: Arrays) -> Any:
        dtype = next(iter(arrays.values())).dtype
        found = self.compiled.get((text, dtype.char))
        if found is None:
            kind = float if dtype == np.float32 else np.double  # how it calls float32 and float64
            found = self.compile(text, [(name, kind) for name in arrays])
            self.compiled[text, dtype.char] = found
        return found

    def contender(self, row: Row, arrays: Arrays) -> Contender | None:
        """Return a call that computes the workload on the arrays; None where it cannot."""
        if isinstance(row.numexpr, str):
            return partial(self._expression(row.numexpr, arrays), *arrays.values())
        if row.numexpr is None:
            return None
        formula = row.numexpr

        def evaluate(text: str, **given: Any) -> Any:
            return self._expression(text, given)(*given.values())

        return lambda: formula(evaluate, arrays)

    def into(self, row: Row, arrays: Arrays, out: np.ndarray) -> Contender:
        """Return the same for a row whose result goes into a given array."""
        compiled = self._expression(str(row.numexpr), arrays)
        # numexpr needs all keywords if a call has one; the others have their default values.
        return partial(compiled, *arrays.values(), out=out, ex_uses_vml=False, **_CASTING)


class Jax:
    """JAX's jit on its own arrays, 64-bit numbers enabled."""

    name = "jax"
    setting = "jit, device arrays"

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax = jax
        self.space = _jax_space(jax)

    def contender(self, row: Row, arrays: Arrays) -> Contender:
        """Return a call that computes the workload on the arrays."""
        names = list(arrays)
        compiled = self.jax.jit(
            lambda *xs: row.build(self.space, dict(zip(names, xs, strict=True)))
        )
        xs = [self.jax.numpy.array(x) for x in arrays.values()]

        def run() -> Any:
            found = compiled(*xs)
            for x in found:
                x.block_until_ready()
            return found

        return run

    into = None


def _jax_space(jax: Any) -> Any:
    jnp, nn = jax.numpy, jax.nn

    class Space(Composed):
        exp, log1p, tanh, sqrt, abs = jnp.exp, jnp.log1p, jnp.tanh, jnp.sqrt, jnp.abs
        maximum, where, sum, mean, max = jnp.maximum, jnp.where, jnp.sum, jnp.mean, jnp.max
        erf, sigmoid, softplus = jax.scipy.special.erf, nn.sigmoid, nn.softplus
        gelu = partial(nn.gelu, approximate=False)
        softmax = nn.softmax
        logsumexp = partial(jax.scipy.special.logsumexp, axis=-1)
        cumsum = partial(jnp.cumsum, axis=-1)

        @staticmethod
        def log(x: Any) -> Any:
            return math.log(x) if isinstance(x, float) else jnp.log(x)

    return Space


class Torch:
    """torch on its own arrays, without gradients."""

    name = "torch"
    setting = "eager, no gradients"

    def __init__(self) -> None:
        import torch

        torch.set_grad_enabled(False)
        torch.set_num_threads(os.cpu_count() or 1)
        self.torch = torch
        self.space = _torch_space(torch)

    def _function(self, row: Row, arrays: Arrays) -> Any:
        names = list(arrays)
        if row.operators is not None:
            return row.operators
        return lambda *xs: row.build(self.space, dict(zip(names, xs, strict=True)))

    def _own(self, arrays: Arrays) -> list[Any]:
        return [self.torch.from_numpy(x.copy()).clone() for x in arrays.values()]

    def contender(self, row: Row, arrays: Arrays) -> Contender:
        """Return a call that computes the workload on the arrays."""
        return partial(self._function(row, arrays), *self._own(arrays))

    def into(self, row: Row, arrays: Arrays, out: np.ndarray) -> Contender:
        """Return the same for a row whose result goes into a given array."""
        mine, spare = self.torch.from_numpy(out), self.torch.from_numpy(np.empty_like(out))

        def run(a: Any, b: Any, c: Any, d: Any) -> Any:
            self.torch.mul(a, b, out=mine)
            self.torch.mul(c, d, out=spare)
            return self.torch.add(mine, spare, out=mine)

        return partial(run, *self._own(arrays))


class TorchCompiled(Torch):
    """torch.compile for the shapes given."""

    name = "torch.compile"
    setting = "inductor, static shapes, no gradients"

    def contender(self, row: Row, arrays: Arrays) -> Contender:
        """Return a call that computes the workload on the arrays."""
        self.torch._dynamo.reset()  # torch stops compiling a function after too many compilations
        compiled = self.torch.compile(self._function(row, arrays), dynamic=False)
        return partial(compiled, *self._own(arrays))

    def into(self, row: Row, arrays: Arrays, out: np.ndarray) -> Contender:
        """Return the same for a row whose result goes into a given array."""
        self.torch._dynamo.reset()
        function = self._function(row, arrays)
        compiled = self.torch.compile(lambda out, *xs: out.copy_(function(*xs)), dynamic=False)
        return partial(compiled, self.torch.from_numpy(out), *self._own(arrays))


def _torch_space(torch: Any) -> Any:
    F = torch.nn.functional

    def reduced(function: Any) -> Any:
        def run(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
            return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

        return run

    class Space(Composed):
        exp, log1p, tanh, erf = torch.exp, torch.log1p, torch.tanh, torch.erf
        sqrt, abs, where = torch.sqrt, torch.abs, torch.where
        sigmoid, softplus, gelu = torch.sigmoid, F.softplus, F.gelu
        sum, mean, max = reduced(torch.sum), reduced(torch.mean), reduced(torch.amax)
        softmax = partial(torch.softmax, dim=-1)
        logsumexp = partial(torch.logsumexp, dim=-1)
        cumsum = partial(torch.cumsum, dim=-1)

        @staticmethod
        def log(x: Any) -> Any:
            return math.log(x) if isinstance(x, float) else torch.log(x)

        @staticmethod
        def maximum(x: Any, least: float) -> Any:
            return torch.clamp(x, min=least)

        @staticmethod
        def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
            return F.layer_norm(x, scale.shape, scale, shift, EPSILON)

    return Space


class Pytensor:
    """PyTensor's numba; inputs are trusted, not checked."""

    name = "pytensor"
    setting = "numba, trust_input"
    mode = "NUMBA"

    def __init__(self) -> None:
        import pytensor
        import pytensor.tensor as pt

        self.pytensor, self.pt = pytensor, pt
        self.functions: dict[tuple[str, str], Any] = {}

    def _function(self, row: Row, arrays: Arrays) -> Any:
        dtype = np.result_type(*(x for x in arrays.values() if x.dtype.kind == "f")).name
        found = self.functions.get((row.name, dtype))
        if found is None:
            with self.pytensor.config.change_flags(floatX=dtype):  # the dtype of its numbers
                inputs = {
                    name: self.pt.tensor(name, dtype=x.dtype.name, shape=(None,) * x.ndim)
                    for name, x in arrays.items()
                }
                outputs = row.build(_pytensor_space(self.pt), inputs)
                found = self.pytensor.function(
                    list(inputs.values()), outputs, mode=self.mode, trust_input=True
                )
            self.functions[row.name, dtype] = found
        return found

    def contender(self, row: Row, arrays: Arrays) -> Contender:
        """Return a call that computes the workload on the arrays."""
        return partial(self._function(row, arrays), *arrays.values())

    into = None


class PytensorC(Pytensor):
    """PyTensor's C code."""

    name = "pytensor c"
    setting = "C, trust_input"
    mode = "CVM"


def _pytensor_space(pt: Any) -> Any:
    class Space(Composed):
        exp, log1p, tanh, erf, sqrt, abs = pt.exp, pt.log1p, pt.tanh, pt.erf, pt.sqrt, pt.abs
        maximum, where, sum, mean, max = pt.maximum, pt.where, pt.sum, pt.mean, pt.max
        sigmoid, softplus = pt.sigmoid, pt.softplus
        softmax = partial(pt.special.softmax, axis=-1)
        logsumexp = partial(pt.logsumexp, axis=-1)
        cumsum = partial(pt.cumsum, axis=-1)

        @staticmethod
        def log(x: Any) -> Any:
            return math.log(x) if isinstance(x, float) else pt.log(x)

    return Space


class Relgraph:
    """relgraph as a user calls it: sizes named, arguments checked."""

    name = "relgraph"
    setting = "rg.function, named sizes"

    def __init__(self) -> None:
        import relgraph as rg

        self.rg = rg
        self.functions: dict[tuple[str, str], Any] = {}

    def function(self, row: Row, arrays: Arrays) -> Any:
        """Return the compiled function, which serves all sizes."""
        dtype = np.result_type(*(x for x in arrays.values() if x.dtype.kind == "f")).name
        found = self.functions.get((row.name, dtype))
        if found is None:
            rg = self.rg
            inputs = {
                name: rg.tensor(name, row.dims[name], dtype=x.dtype.name)
                for name, x in arrays.items()
            }
            outputs = row.build(relgraph_space(rg), inputs)
            single = outputs[0] if len(outputs) == 1 else outputs
            found = rg.function(list(inputs.values()), single)
            self.functions[row.name, dtype] = found
        return found

    def contender(self, row: Row, arrays: Arrays) -> Contender:
        """Return a call that computes the workload on the arrays."""
        return partial(self.function(row, arrays), *arrays.values())

    def into(self, row: Row, arrays: Arrays, out: np.ndarray) -> Contender:
        """Return the same for a row whose result goes into a given array."""
        function = self.function(row, arrays)
        return partial(function, *arrays.values(), out=out)


def relgraph_space(rg: Any) -> Any:
    """Return the namespace of relgraph."""

    class Space(Composed):
        exp, log1p, tanh, erf, sqrt, abs = rg.exp, rg.log1p, rg.tanh, rg.erf, rg.sqrt, rg.abs
        maximum, where, sum, mean, max = rg.maximum, rg.where, rg.sum, rg.mean, rg.max
        sigmoid, softplus = rg.sigmoid, rg.softplus
        softmax = partial(rg.softmax, axis=-1)
        logsumexp = partial(rg.logsumexp, axis=-1)
        cumsum = partial(rg.cumsum, axis=-1)

        @staticmethod
        def log(x: Any) -> Any:
            return math.log(x) if isinstance(x, float) else rg.log(x)

    return Space


PEERS = {x.name: x for x in (Numpy, Numexpr, Jax, Torch, TorchCompiled, Pytensor, PytensorC)}
FRAMEWORKS: dict[str, Any] = {"relgraph": Relgraph, **PEERS}


def arrays_of(found: Any) -> list[np.ndarray]:
    """Return the results of a contender as NumPy arrays."""
    return [np.asarray(x) for x in (found if isinstance(found, list | tuple) else [found])]


def opened(names: Iterable[str]) -> dict[str, Any]:
    """Return the frameworks of those names that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = FRAMEWORKS[name]()
        except ImportError as error:
            print(f"{name} is left out: {error}")
    return found
