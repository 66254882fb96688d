"""What relgraph finds on a machine: versions, threads, libraries, the cache, and the GPU."""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib.metadata import PackageNotFoundError, version

import relgraph as rg

PACKAGES = (
    "numpy", "scipy", "numba", "llvmlite", "miniKanren", "logical-unification", "etuples", "cons",
)  # fmt: skip
EXTRAS = ("pytensor", "pymc", "jax", "sympy", "torch", "numba-cuda", "cupy-cuda13x", "matplotlib")


def report() -> dict[str, str]:
    """Return facts of this machine and installation, each by its name."""
    from relgraph.backends.numba.machine import processor

    info = rg.cache.info()
    facts = {
        "relgraph": rg.__version__,
        "Python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
        "processor": f"{processor()[0]}, {os.cpu_count()} threads",
        "threads": str(rg.config.threads),
        "vector library": str(rg.config.veclib or "relgraph's polynomials"),
        "mode": str(rg.config.mode),
        "cache": f"{info.directory}, {info.size:,} of {info.limit:,} bytes",
    }
    facts |= {name: _version(name) for name in PACKAGES}
    facts |= {name: found for name in EXTRAS if (found := _version(name)) != "missing"}
    return facts | {"GPU": _gpu()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _gpu() -> str:
    """Return the device, or what is missing to use one."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is missing: pip install 'relgraph[cuda]'"
    from numba import cuda

    try:
        devices = [device.name for device in cuda.gpus]
    except Exception as error:  # the driver's own kinds of errors
        return f"no device: {str(error).splitlines()[0]}"
    return ", ".join(map(str, devices)) or "no device"
