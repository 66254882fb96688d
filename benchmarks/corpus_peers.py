"""Contenders for the programs of the corpus: NumPy, relgraph, numba, JAX and torch.compile.

A contender is a call without arguments that leaves the results in `Contender.results`.  Programs
that change their arguments get them anew before each call, by a copy into the same memory, which
counts in the time of NumPy, relgraph and numba; the forms for JAX return new arrays instead.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from corpus_programs.program import Program, leaves, rebound
from harness import load_tbb
from peers import Jax, TorchCompiled

from relgraph.settings import processors

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-3}
QUICK_CALLS = 3  # to choose a setting of numba


class Missing(Exception):
    """A framework has no form of a program; the text says why."""


class Stopped(BaseException):
    """A first call took too long; not an Exception, so that no framework handles it."""


class Reference:
    """The arguments of a program at a size, which of them it changes, and NumPy's results."""

    def __init__(self, program: Program, arguments: tuple[Any, ...]) -> None:
        self.program = program
        self.arguments = arguments
        given = copied(arguments)
        with np.errstate(all="ignore"):
            returned = program.function(*given)
        self.changed = [
            i
            for i, (x, y) in enumerate(zip(given, arguments, strict=True))
            if isinstance(x, np.ndarray)
            and not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")
        ]
        self.expected = leaves((returned, *(given[i] for i in self.changed)))

    def results(self, returned: Any, given: tuple[Any, ...]) -> list[Any]:
        """Return what a call returned, and then the arguments that it changed."""
        return leaves((returned, *(given[i] for i in self.changed)))

    def check(self, results: list[Any], dtypes: bool) -> None:
        """Raise an AssertionError unless results are NumPy's, up to rounding."""
        if len(results) != len(self.expected):
            raise AssertionError(f"{len(results)} results, and NumPy has {len(self.expected)}")
        for x, y in zip(results, self.expected, strict=True):
            x, y = np.asarray(x), np.asarray(y)
            if x.shape != y.shape:
                raise AssertionError(f"a result of shape {x.shape}, and NumPy's has {y.shape}")
            if dtypes and x.dtype != y.dtype:
                raise AssertionError(f"a result of dtype {x.dtype}, and NumPy's is {y.dtype}")
            tolerance = self.program.rtol or max(TOLERANCE.get(z.dtype.name, 0.0) for z in (x, y))
            scale = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))) or 1.0
            if not np.allclose(x, y, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
                with np.errstate(all="ignore"):
                    apart = np.nanmax(np.abs(x.astype(complex) - y)) / scale
                raise AssertionError(f"differs from NumPy by {apart:.2g} of the largest element")


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    return np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


def copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with copies of the arrays."""
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in arguments)


class InPlace:
    """Calls of a function of NumPy arrays, on arguments that are given anew before each call."""

    dtypes = False

    def __init__(self, function: Callable[..., Any], reference: Reference) -> None:
        self.function, self.reference = function, reference
        self.first_call: float | None = None  # seconds, where more than one call came first
        self.given = copied(reference.arguments)
        self.renewed = [(self.given[i], reference.arguments[i]) for i in reference.changed]

    def __call__(self) -> Any:
        """Call the function."""
        for mine, original in self.renewed:
            mine[...] = original
        return self.function(*self.given)

    def check(self) -> None:
        """Raise unless a call gives NumPy's results."""
        results = self.reference.results(self(), self.given)
        self.reference.check(results, self.dtypes)


class Checked(InPlace):
    """The same, where the results must have NumPy's dtypes, too."""

    dtypes = True


class Functional:
    """Calls of a function that returns results and changed arguments as new arrays."""

    def __init__(self, call: Callable[[], Any], reference: Reference) -> None:
        self.call, self.reference = call, reference
        self.first_call: float | None = None

    def __call__(self) -> Any:
        """Call the function."""
        return self.call()

    def check(self) -> None:
        """Raise unless a call gives NumPy's results."""
        self.reference.check(leaves(self()), False)


def form(program: Program, framework: str) -> Callable[..., Any] | None:
    """Return the form for a framework, or None if it is the function itself."""
    found = getattr(program, framework)
    if isinstance(found, str):
        raise Missing(found)
    return found


class Numpy:
    """NumPy, as the program is written."""

    setting = "as written"

    def contender(self, reference: Reference) -> InPlace:
        """Return the calls."""
        return InPlace(reference.program.function, reference)


class Relgraph:
    """relgraph on the same function, or on its form."""

    setting = "rg.jit"

    def __init__(self) -> None:
        import relgraph as rg

        self.rg = rg
        x = np.ones(10)
        rg.jit(lambda x: np.exp(x @ x) + np.sum(x))(x)  # loads what all programs need

    def contender(self, reference: Reference) -> InPlace:
        """Return the calls."""
        program = reference.program
        return Checked(self.rg.jit(form(program, "relgraph") or program.function), reference)


class Numba:
    """numba with fastmath, on one thread or with parallel=True, whichever is faster.

    Programs of a loop over steps run on one thread, unless their form has a ``prange``: their
    arrays are small, and parallel code of them takes minutes to compile.
    """

    setting = "njit, fastmath, the faster of parallel=True and False"

    def __init__(self) -> None:
        import numba

        load_tbb(numba)
        self.numba = numba
        numba.njit(lambda x: np.exp(x @ x) + np.sum(x))(np.ones(10))
        self.chosen = ""

    def contender(self, reference: Reference) -> InPlace:
        """Return the calls."""
        program = reference.program
        function = form(program, "numba") or program.function
        found: dict[str, InPlace] = {}
        times = {}
        settings = {"one thread": False, "parallel": True}
        if program.loops and "prange" not in function.__code__.co_names:
            del settings["parallel"]
        for name, parallel in settings.items():
            decorate = self.numba.njit(fastmath=True, parallel=parallel)
            names = {"prange": self.numba.prange if parallel else range}
            calls = InPlace(rebound(function, names, decorate), reference)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error" if parallel else "ignore")
                    start = time.perf_counter()
                    calls.check()
                    calls.first_call = time.perf_counter() - start
            except (self.numba.core.errors.NumbaError, Warning, AssertionError, Stopped):
                if not found:
                    raise
                break  # it has nothing to run in parallel, or fails in the attempt
            found[name], times[name] = calls, min(_seconds(calls) for _ in range(QUICK_CALLS))
        self.chosen = min(times, key=times.__getitem__)
        return found[self.chosen]


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class JaxPeer(Jax):
    """JAX's jit on its own arrays; Python's integers are static."""

    def __init__(self) -> None:
        super().__init__()
        self.jax.block_until_ready(self.jax.jit(lambda x: x @ x)(np.ones(10)))

    def contender(self, reference: Reference) -> Functional:
        """Return the calls."""
        program, jax = reference.program, self.jax
        written = form(program, "jax")
        function = written or rebound(program.function, {"np": jax.numpy})
        static = tuple(i for i, x in enumerate(reference.arguments) if isinstance(x, int))
        compiled = jax.jit(function, static_argnums=static)
        given = [
            jax.numpy.array(x) if isinstance(x, np.ndarray | np.generic) else x
            for x in reference.arguments
        ]
        return Functional(lambda: jax.block_until_ready(compiled(*given)), reference)


class TorchPeer(TorchCompiled):
    """torch.compile of the NumPy function, on torch's arrays."""

    setting = "torch.compile of wrap_numpy, static shapes, no gradients"

    def __init__(self) -> None:
        super().__init__()
        self.torch.set_num_threads(processors())
        self.torch.compile(lambda x: x @ x, dynamic=False)(self.torch.ones(10))

    def contender(self, reference: Reference) -> InPlace:
        """Return the calls."""
        torch, program = self.torch, reference.program
        torch._dynamo.reset()  # torch stops compiling a function after too many compilations
        function = torch.compiler.wrap_numpy(form(program, "torch") or program.function)
        return InTorch(torch, torch.compile(function, dynamic=False), reference)


class InTorch(InPlace):
    """The same on torch's arrays."""

    def __init__(self, torch: Any, function: Callable[..., Any], reference: Reference) -> None:
        super().__init__(function, reference)
        tensors = [_torch_value(torch, x) for x in self.given]
        originals = [x.clone() if torch.is_tensor(x) else x for x in tensors]
        self.given = tuple(tensors)
        self.renewed = [(self.given[i], originals[i]) for i in reference.changed]


def _torch_value(torch: Any, x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x)
    return x.item() if isinstance(x, np.generic) else x


FRAMEWORKS: dict[str, Callable[[], Any]] = {
    "numpy": Numpy,
    "relgraph": Relgraph,
    "numba": Numba,
    "jax": JaxPeer,
    "torch.compile": TorchPeer,
}
__all__ = ["FRAMEWORKS", "Missing", "Reference", "Stopped"]
