"""Targets: the names of backends, each imported on first use."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import TYPE_CHECKING

from relgraph.backends.base import Backend
from relgraph.errors import ArgumentError, DomainError, MissingPackageError
from relgraph.ir import forks

if TYPE_CHECKING:
    from relgraph.backends.dask.compiler import DaskBackend

TARGETS = ("cpu", "numpy", "cuda", "dask")
_MEANT = {"gpu": "cuda", "nvidia": "cuda", "numba": "cpu", "np": "numpy"}


def check_target(target: str | Backend) -> None:
    """Raise an error for an unknown target.

    Raises
    ------
    ArgumentError, DomainError
        The message names the targets.
    """
    if not isinstance(target, str):
        compiles = callable(getattr(target, "compile", None)) and hasattr(target, "name")
        if isinstance(target, type) or not compiles:
            raise ArgumentError(
                f"the target is neither a name nor a backend: {target!r:.60}",
                {"targets": ", ".join(TARGETS)},
                "Use one of these targets, or an object with name and compile(graph).",
            )
    elif target not in TARGETS:
        meant = _MEANT.get(target.lower())
        near = [meant] if meant else get_close_matches(target.lower(), TARGETS, 1)
        raise DomainError(
            f"there is no target {target!r}",
            {"targets": ", ".join(TARGETS)},
            f"Did you mean {near[0]!r}?" if near else "Use one of these targets.",
        )


def backend_of(target: str | Backend, choices: Collection[str] | None = None) -> Backend:
    """Return the backend of a target, with the lowering choices to make; None for all.

    Raises
    ------
    ArgumentError, DomainError
        For a target that does not exist.
    GPUNotAvailableError
        For "cuda" if no GPU can be used.
    MissingPackageError
        For "dask" if Dask is not installed.
    """
    check_target(target)
    if not isinstance(target, str):
        return target
    with forks.importing:
        if target == "cpu":
            from relgraph.backends.numba.compiler import NumbaBackend

            return NumbaBackend.with_choices(choices)
        if target == "numpy":
            from relgraph.backends.numpy.interpreter import NumpyBackend

            return NumpyBackend()
        if target == "dask":
            return dask_backend(choices)
        from relgraph.backends.cuda.compiler import CudaBackend

        return CudaBackend.with_choices(choices)


def dask_backend(choices: Collection[str] | None = None) -> DaskBackend:
    """Return the backend of the target "dask".

    Raises
    ------
    MissingPackageError
        If Dask is not installed.
    """
    try:
        from relgraph.backends.dask.compiler import DaskBackend
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dask", "distributed"):
            raise
        raise MissingPackageError(
            "the target 'dask' needs the package dask",
            fix="Install it with: pip install 'relgraph[dask]'",
        ) from error
    return DaskBackend.with_choices(choices)


__all__ = ["TARGETS", "backend_of", "check_target", "dask_backend"]
