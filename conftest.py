"""What every test shares: a kernel cache of its own, so that no run reads another one's kernels."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory):
    """Compile into a directory of this test session; workers of one session share it."""
    root = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        root = root.parent
    directory = root / "kernels"
    before = os.environ.get("RELGRAPH_CACHE_DIR")
    os.environ["RELGRAPH_CACHE_DIR"] = str(directory)
    yield directory
    if before is None:
        os.environ.pop("RELGRAPH_CACHE_DIR", None)
    else:
        os.environ["RELGRAPH_CACHE_DIR"] = before
