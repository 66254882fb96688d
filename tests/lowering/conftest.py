"""Kernels that tests compile are cached in a folder of the session."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("kernels")
    patch.setenv("RELGRAPH_CACHE_DIR", str(folder))
    yield folder
    patch.undo()
