"""Fixtures of the tests of back ends."""

import pytest

from relgraph.backends.numba import kernels, main_call


@pytest.fixture(autouse=True)
def hot(monkeypatch):
    """Run main functions as machine code from the first call on."""
    monkeypatch.setattr(main_call, "HOT", 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Use an empty cache folder, and forget the kernels that the process has loaded."""
    path = tmp_path / "cache"
    monkeypatch.setenv("RELGRAPH_CACHE_DIR", str(path))
    monkeypatch.setattr(kernels, "_addresses", {})
    monkeypatch.setattr(kernels, "_scalars", {})
    return path
