"""LLVM for this processor: optimise modules, emit object code and load it.

LLVM alone loads object code.  A process that finds all its kernels on disk therefore never imports
numba, which would take longer than everything else.
"""

from __future__ import annotations

import ctypes
import logging  # noqa: F401 - see the locks
import os
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from relgraph.backends.numba import lapack_addresses
from relgraph.ir import forks

# A fork also acquires logging's lock, and must do so after these locks, because numba logs while it
# holds them.  Hence they are created after logging was imported.
lock = forks.WaitedLock()  # guards LLVM's context and symbol table, one per process

# Held while code is looked up, compiled and loaded.  Another thread may hold LLVM's lock meanwhile
# to do a part of the work.
compiling = forks.WaitedLock()


@lru_cache(maxsize=1)
def processor() -> tuple[str, str]:
    """Return the name and the features of the processor, as LLVM spells them.

    As in numba, ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` override what LLVM detects.
    """
    name: str = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None and name == "generic":
        features = ""
    if features is None:
        try:
            features = llvm.get_host_cpu_features().flatten()
        except RuntimeError:  # LLVM does not detect features on some systems
            features = ""
    if name.startswith("znver"):  # on Zen a gather takes twice as long as separate loads
        features = f"{features},+prefer-no-gather".lstrip(",")
    return name, features


@lru_cache(maxsize=1)
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple()


def _machine() -> Any:
    name, features = processor()
    return _target().create_target_machine(cpu=name, features=features, opt=3, jit=True)


_FEW_PASSES = (
    "always_inliner", "sroa", "simplify_cfg", "instruction_combine", "loop_simplify", "lcssa",
    "loop_rotate", "new_gvn", "simplify_cfg",
)  # fmt: skip


class _Machine:
    """The target machine and the JIT engine of the process."""

    def __init__(self) -> None:
        self.target = _machine()
        self.layout = str(self.target.target_data)
        self.triple = _target().triple
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


@lru_cache(maxsize=1)
def _process() -> _Machine:
    return _Machine()


def compile_module(
    text: str, parts: Iterable[bytes] = (), branches: bool = False
) -> tuple[bytes, tuple[str, ...]]:
    """Compile LLVM IR to an object file; return it and the external functions that it needs.

    ``parts`` are bitcode modules to link; their functions are inlined into its loops.  Code that
    mainly ``branches`` gets few passes (see :func:`_run_few_passes`).
    """
    with lock:
        module = optimised(text, parts, branches)
        symbols = tuple(
            f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")
        )
        return _process().target.emit_object(module), symbols


def optimised(text: str, parts: Iterable[bytes] = (), branches: bool = False) -> Any:
    """Return a module, linked with ``parts`` and optimised as in :func:`compile_module`."""
    with lock:
        process = _process()
        module = llvm.parse_assembly(text)
        for part in parts:
            module.link_in(llvm.parse_bitcode(part))
        module.triple = process.triple
        module.data_layout = process.layout
        module.verify()
        if branches:
            _run_few_passes(module, process.target)
            return module
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        options.loop_interleaving = True
        options.loop_unrolling = True
        options.slp_vectorization = False  # loop vectorisation uses the vector units
        builder = llvm.create_pass_builder(process.target, options)
        builder.getModulePassManager().run(module, builder)
        return module


def _run_few_passes(module: Any, target: Any) -> None:
    """Optimise a module without loops over elements, in a tenth of the time of all passes.

    Its private functions are inlined, unless it forbids that.  Calls then take as long as with all
    passes of LLVM.
    """
    for function in module.functions:
        private = function.linkage == llvm.Linkage.internal
        if private and not any(b"noinline" in x for x in function.attributes):
            function.add_function_attribute("alwaysinline")
    passes = llvm.create_new_module_pass_manager()
    for name in _FEW_PASSES:
        getattr(passes, f"add_{name}_pass")()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    passes.run(module, llvm.create_pass_builder(target, options))


def definition(module: Any, name: str, symbol: str) -> bytes:
    """Return the bitcode of a module with its function ``name`` renamed and made inlinable."""
    with lock:
        copy = llvm.parse_bitcode(module.as_bitcode())
        for function in copy.functions:
            if not function.is_declaration:
                function.linkage = "internal" if function.name != name else "linkonce_odr"
        function = copy.get_function(name)
        function.name = symbol
        code: bytes = copy.as_bitcode()
        return code


def load(code: bytes, names: Iterable[str]) -> dict[str, int]:
    """Load object code and return the addresses of the functions ``names``.

    The code stays loaded for the life of the process, because another thread may be running it.
    """
    with lock:
        engine = _process().engine
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return {name: engine.get_function_address(name) for name in names}


def missing(symbols: Iterable[str]) -> list[str]:
    """Return the symbols that no loaded library defines; LLVM would abort the process for them."""
    with lock:
        _target()
        absent = []
        for symbol in symbols:
            if llvm.address_of_symbol(symbol) is None and not _from_library(symbol):
                absent.append(symbol)
        return absent


@lru_cache(maxsize=1)
def _mathematics() -> Any:
    """Return the C math library, with which Python itself may not be linked."""
    names = ["libm.so.6", "libm.dylib"] if os.name == "posix" else []
    for name in names:
        try:
            llvm.load_library_permanently(name)
            return ctypes.CDLL(name)
        except (OSError, RuntimeError):
            continue
    return None


def _from_library(symbol: str) -> bool:
    address = lapack_addresses.address(symbol)
    if address is not None:
        llvm.add_symbol(symbol, address)
        return True
    library = _mathematics()
    if library is not None and hasattr(library, symbol):
        return True
    from relgraph.backends.numba import vector_libraries

    return vector_libraries.has(symbol)


def versions() -> str:
    """Return the versions and processor features that machine code depends on."""
    name, features = processor()
    system = f"{sys.implementation.cache_tag} {llvm.get_process_triple()}"
    return f"llvmlite {llvmlite.__version__}, {system}, cpu {name} {features}"


__all__ = [
    "compile_module", "compiling", "definition", "load", "lock", "missing", "optimised",
    "processor", "versions",
]  # fmt: skip
