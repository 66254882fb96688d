"""Compiled kernels: loaded from this process, from the disk cache, or compiled.

The name of a kernel contains a digest of its source and of everything else that its machine code
depends on: the source of this package, the versions of Python, numba, llvmlite and NumPy, the
operating system and processor, the vector library and the contraction setting.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph import cache
from relgraph.backends.base import Array
from relgraph.backends.numba import launch, machine, main_call, numpy_api, threads
from relgraph.backends.numba.arena import ENDS, FEW, Arena
from relgraph.backends.numba.arena import TEXT as ARENA
from relgraph.backends.numba.calls import TRAMPOLINE, Layout, bind
from relgraph.backends.numba.entry import ENTRY, bind_entry
from relgraph.backends.numba.guard import GUARD, Source, bind_guard
from relgraph.backends.numba.instructions import Scalar, Translation
from relgraph.backends.numba.launch import HANDLER, PREPARE, SET_HANDLER, settings
from relgraph.backends.numba.llvm_printer import printed
from relgraph.backends.numba.uninterrupted import uninterrupted
from relgraph.errors import CompileError
from relgraph.ir.records import replace
from relgraph.ir.spans import COMPILED, LOADED, span
from relgraph.lowering.loops.nodes import Function
from relgraph.lowering.loops.text import text as text_of
from relgraph.settings import config
from relgraph.viz.progress import note

if TYPE_CHECKING:
    from relgraph.backends.numba.main_function import MainFunction

Kernel = Callable[..., None]

# Suffixes of the names of the variants for short rows and for large results.
SHORT, PAST = "_short", "_past"
_PLACES = {SHORT: launch.SHORT, PAST: launch.PAST}
FINISH = "_finish"  # suffix of the function that combines partial results

# The folders of the code that writes kernels, by their path in the package.
_WRITERS = ("backends/numba", "lowering/loops", "lowering/nests")

_lock = machine.compiling
_addresses: dict[str, tuple[int, ...]] = {}
_scalars: dict[str, Scalar] = {}
_arenas: list[Arena] = []  # at most one
_where: dict[str, str] = {}  # kernel name to "disk" or "compiled"


@lru_cache(maxsize=1)
def _fixed_environment() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).parents[2]
    for folder in _WRITERS:
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(path.read_bytes())
    return (
        f"numba {_numba_version()}, numpy {np.__version__}, {machine.versions()}, "
        f"code {digest.hexdigest()[:16]}"
    )


def _numba_version() -> str:
    """Return a string that identifies the version of numba, without importing it.

    Importing numba takes a quarter of a second, and ``importlib.metadata`` takes longer than
    loading a kernel.
    """
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        return "none"
    path = Path(spec.origin).with_name("_version.py")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.exists() else spec.origin


def environment() -> str:
    """Return everything, besides its source, that the machine code of a kernel depends on."""
    return f"{_fixed_environment()}, veclib {config.veclib}, contract {config.contract}"


def digest(text: str) -> str:
    """Return the digest that names a kernel."""
    return hashlib.sha256(f"{environment()}\n{text}".encode()).hexdigest()[:16]


def load(
    name: str,
    functions: Callable[[str], list[Function]],
    layout: Layout,
    others: Mapping[str, Callable[[str], list[Function]]] = MappingProxyType({}),
) -> Kernel:
    """Return the function that calls a kernel with sizes and arrays.

    ``functions`` returns the kernel with a name, which is ``rgk_<digest>``, and the function that
    combines its partial results.  ``others`` maps ``SHORT`` and ``PAST`` to such functions for the
    variants, which are compiled on first use.  What does not compile raises CompileError.
    """
    names = (name, f"{name}{FINISH}") if layout.folds else (name,)
    addresses = _compiled(name, names, lambda: _printed(functions(name)))

    def address(end: str, functions: Callable[[str], list[Function]]) -> int:
        other = f"{name}{end}"
        return _compiled(other, (other,), lambda: _printed(functions(other)))[0]

    makers = {_PLACES[end]: partial(address, end, other) for end, other in others.items()}
    return bind(name, trampoline(), addresses, layout, makers)


def load_function(function: Function, layout: Layout) -> Kernel:
    """Return what calls a function of the loop language, which is named ``NAME``.

    Parameters
    ----------
    function : Function
        The function.
    layout : Layout
        Its signature; the first size is the length of its range.
    """
    translation = printed([function], scalar, config.contract)
    name = f"rgk_{digest(translation.text)}"
    text = translation.text.replace("@NAME", f"@{name}")
    addresses = _compiled(name, (name,), lambda: replace(translation, text=text))
    return bind(name, trampoline(), addresses, layout)


def _printed(functions: Sequence[Function]) -> Translation:
    source = "\n\n".join(map(text_of, functions))
    return replace(printed(functions, scalar, config.contract), source=source)


def _compiled(
    name: str, names: tuple[str, ...], translated: Callable[[], Translation]
) -> tuple[int, ...]:
    addresses = _addresses.get(name)
    if addresses is None:
        with _lock:
            if name not in _addresses:
                try:
                    _addresses[name] = _code(name, translated, names)
                except Warning:  # raised by a warning filter; its message is complete
                    raise
                except Exception as error:
                    lines = str(error).strip().splitlines() or [type(error).__name__]
                    raise CompileError(
                        f"the kernel {name} cannot be compiled",
                        {"compiler": lines[-1]},
                        "Use target='numpy' for this graph, and report this text.",
                    ) from error
            addresses = _addresses[name]
    return addresses


@lru_cache(maxsize=1)
def trampoline() -> int:
    """Return the address of the function that calls kernels."""
    threads.prepare(_module)
    return _module("rgt", TRAMPOLINE, ("",))[0]


def guard(
    wanted: Sequence[tuple[np.dtype[Any] | None, int]],
    equal: Sequence[tuple[Source, Source]],
    written: Mapping[int, Collection[int]] = MappingProxyType({}),
    numbers: bool = False,
) -> Callable[..., bool]:
    """Return a test of arguments: see :func:`relgraph.backends.numba.guard.bind_guard`."""
    return bind_guard(_guard(), wanted, equal, written, numbers)


@lru_cache(maxsize=1)
def _guard() -> int:
    return _module("rgg", GUARD, ("",))[0]


@lru_cache(maxsize=1)
def _calls() -> dict[str, int]:
    """Return the functions that main functions in machine code need, by their suffixes."""
    settings[PREPARE] = id(arena)
    return dict(zip(main_call.ENDS, _module("rgm", main_call.CALL, main_call.ENDS), strict=True))


@lru_cache(maxsize=1)
def routines() -> dict[str, Kernel]:
    """Return the kernels that main functions may launch: "copy" and "dot"."""
    return {
        end[1:]: bind(end[1:], trampoline(), [_calls()[end]], layout)
        for end, layout in main_call.ROUTINES.items()
    }


def main(
    function: MainFunction,
    dtypes: list[np.dtype[Any]],
    python: tuple[Callable[..., Any], Callable[..., Any]],
) -> Callable[..., Any]:
    """Return the call of a main function: see :func:`.main_call.bind_main`."""
    return main_call.bind_main(_calls(), function, dtypes, python, _loaded)


def _loaded(function: Function) -> int:
    """Compile a main function, which is named ``NAME``, and return its address."""
    translation = printed([function], scalar)
    name = f"rgm_{digest(translation.text)}"
    text = translation.text.replace("@NAME", f"@{name}")
    translation = replace(translation, text=text, source=text_of(function))
    with _lock:
        return _code(name, lambda: translation, (name,), branches=True)[0]


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """Return an uninitialised array; the arena allocates large ones."""
    return np.empty(shape, dtype) if prod(shape) < FEW else arena().empty(shape, dtype)


def arena() -> Arena:
    """Return the arena of the process."""
    if not _arenas:
        with _lock:
            if not _arenas:
                new_arena = Arena(_module("rga", ARENA, ENDS))
                settings[SET_HANDLER] = numpy_api.address(numpy_api.SET_HANDLER)
                settings[HANDLER] = id(new_arena.handler)
                _arenas.append(new_arena)
    return _arenas[0]


def entry(
    test: Callable[..., bool], run: Callable[..., Any], other: Callable[..., Any]
) -> Callable[..., Any]:
    """Return the call of a function: see :func:`relgraph.backends.numba.entry.bind_entry`."""
    return bind_entry(_entry(), (_guard(), test), (_calls()[""], run), other)


@lru_cache(maxsize=1)
def _entry() -> int:
    return _module("rge", ENTRY, ("",))[0]


def _module(prefix: str, text: str, ends: tuple[str, ...]) -> tuple[int, ...]:
    """Compile a module in LLVM IR and return the addresses of its functions ``NAME{end}``."""
    name = f"{prefix}_{digest(text)}"
    whole = text.replace("@NAME", f"@{name}")
    with _lock:
        names = tuple(f"{name}{end}" for end in ends)
        return _code(name, lambda: Translation(whole, {}), names, branches=True)


def stats() -> dict[str, str]:
    """Return, for each kernel of this process, "disk" or "compiled"."""
    with _lock:
        return {name: where for name, where in _where.items() if name.startswith("rgk_")}


def _code(
    name: str,
    translated: Callable[[], Translation],
    names: tuple[str, ...],
    branches: bool = False,
) -> tuple[int, ...]:
    key = environment()
    entry = cache.fetch(name, key)
    if entry is not None and _found(entry.facts["symbols"]):
        _where[name] = "disk"
        with span(LOADED):
            loaded = machine.load(entry.code, names)
        return tuple(loaded[x] for x in names)
    with span("translated"):
        translation = translated()
    parts = [part.code for part in translation.scalars.values()]
    start = time.perf_counter()
    with span(COMPILED):
        code, symbols = machine.compile_module(translation.text, parts, branches)
    note("compiled %s in %.0f ms", name, 1000 * (time.perf_counter() - start), level="DEBUG")
    if not _found(symbols):
        raise CompileError(
            f"the kernel {name} needs functions that no library has",
            {"functions": ", ".join(machine.missing(symbols))},
            "Set rg.config.veclib to None, or use target='numpy' for this graph.",
        )
    source = translation.source or translation.text
    cache.keep(name, key, source, cache.Entry({"symbols": symbols}, code))
    _where[name] = "compiled"
    loaded = machine.load(code, names)
    return tuple(loaded[x] for x in names)


def _found(symbols: tuple[str, ...]) -> bool:
    """Return True if the functions that the code calls are loaded, importing numba for its own."""
    if machine.missing(symbols):
        uninterrupted(_with_numba)
        return not machine.missing(symbols)
    return True


def _with_numba() -> None:
    """Import numba and let it register its functions with LLVM."""
    registry = import_module("numba.core.registry")
    registry.cpu_target.target_context.refresh()


def scalar(callee: str, dtypes: tuple[str, ...]) -> Scalar:
    """Return a scalar function compiled for arguments of these dtypes.

    ``callee`` is its name in the source of kernels.
    """
    signature = f"{callee}({', '.join(dtypes)})"
    symbol = f"rgf_{digest(signature)}"
    with _lock:
        compiled = _scalars.get(symbol)
        if compiled is None:
            key = environment()
            entry = cache.fetch(symbol, key)
            if entry is not None:
                compiled = Scalar(symbol, entry.facts["result"], entry.code)
            else:
                from relgraph.backends.numba.scalars import compile_scalar

                compiled = uninterrupted(partial(compile_scalar, callee, dtypes, symbol))
                facts = {"result": compiled.result}
                cache.keep(symbol, key, signature, cache.Entry(facts, compiled.code))
            _scalars[symbol] = compiled
        return compiled


__all__ = [
    "FINISH", "PAST", "SHORT", "arena", "digest", "empty", "entry", "environment", "load",
    "load_function", "main", "routines", "scalar", "stats", "trampoline",
]  # fmt: skip
