"""A program of the corpus: NumPy's function, its arguments, and its forms for the peers.

JAX's forms name ``jnp`` and ``lax``, and numba's ``prange``; importing them from here needs neither
framework.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

Form = Callable[..., Any] | str | None
UNROLLED = "not run: torch.compile would unroll the loop"
prange = range  # numba's own once a form is compiled, see `rebound`


class _Lazy:
    """A module that is imported when one of its attributes is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


jax, jnp, lax = _Lazy("jax"), _Lazy("jax.numpy"), _Lazy("jax.lax")


@dataclass(frozen=True)
class Program:
    """A program of the corpus.

    A form returns what the function returns, of the same arguments.  A form for JAX returns after
    it the new values of the arguments that the function changes, in their order.  A form that is
    a string is missing, and the string says why.

    Attributes
    ----------
    function : callable
        The program as its user writes it in NumPy.
    draw : callable
        ``draw(generator, *size)`` returns the arguments; the names of its parameters label a size.
    sizes : tuple of tuple of int
        The sizes to measure, the first of them with ``--quick``.
    tiny : tuple of int
        A size for tests.
    relgraph : callable, str, optional
        By default, `function` itself.
    relgraph_reason : str
        Why relgraph needs a form of its own.
    jax : callable, str, optional
        By default, `function` with ``jnp`` in place of ``np``.
    numba : callable, str, optional
        By default, `function`.
    torch : callable, str, optional
        By default, `function`; torch.compile leaves to NumPy what it cannot translate.
    loops : bool
        Whether a Python loop runs over steps or elements.
    rtol : float, optional
        The tolerance of comparisons with NumPy, where that of the dtype is too narrow.
    """

    function: Callable[..., Any]
    draw: Callable[..., tuple[Any, ...]]
    sizes: tuple[tuple[int, ...], ...]
    tiny: tuple[int, ...]
    relgraph: Form = None
    relgraph_reason: str = ""
    jax: Form = None
    numba: Form = None
    torch: Form = None
    loops: bool = False
    rtol: float | None = None

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    def arguments(self, size: tuple[int, ...], seed: int = 0) -> tuple[Any, ...]:
        """Return the arguments at a size."""
        return self.draw(np.random.default_rng(seed), *size)

    def label(self, size: tuple[int, ...]) -> str:
        """Return the size with the names of its parts."""
        names = list(inspect.signature(self.draw).parameters)[1:]
        return ", ".join(f"{name}={value:,}" for name, value in zip(names, size, strict=True))


def rebound(
    function: Callable[..., Any],
    names: dict[str, Any],
    decorate: Callable[[Any], Any] = lambda f: f,
) -> Any:
    """Return a function in which names of modules mean something else.

    The functions of its own module that it calls change with it.

    Parameters
    ----------
    function : callable
        The function.
    names : dict of str to object
        What its globals of these names become.
    decorate : callable
        Applied to the function and to each that it calls.
    """
    module = function.__globals__
    scope = {k: v for k, v in module.items() if not isinstance(v, FunctionType)}
    scope |= {k: v for k, v in names.items() if k in module}
    waiting, done = [function], set()
    while waiting:
        one = waiting.pop()
        if one.__name__ in done:
            continue
        done.add(one.__name__)
        new = FunctionType(one.__code__, scope, one.__name__, one.__defaults__, one.__closure__)
        scope[one.__name__] = decorate(new)
        waiting += [
            module[name]
            for name in _names(one.__code__)
            if isinstance(module.get(name), FunctionType)
        ]
    return scope[function.__name__]


def _names(code: Any) -> set[str]:
    inner = [_names(x) for x in code.co_consts if hasattr(x, "co_names")]
    return set(code.co_names).union(*inner)


def leaves(value: Any) -> list[Any]:
    """Return the arrays and numbers of nested tuples and lists."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    return [] if value is None else [value]


def normals(
    *shapes: int | tuple[int, ...], dtype: str = "float64"
) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Return a function that draws normal arrays of those shapes."""
    return lambda rng: tuple(rng.standard_normal(shape).astype(dtype) for shape in shapes)


def uniforms(
    *shapes: int | tuple[int, ...], low: float = 0.5, high: float = 1.5
) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Return a function that draws uniform arrays of those shapes."""
    return lambda rng: tuple(rng.uniform(low, high, shape) for shape in shapes)
