"""The modules of relgraph that can be imported here: some need a package that is optional."""

import pkgutil
from importlib.util import find_spec

import relgraph as rg

_CUDA = "relgraph.backends.cuda"
_DASK = "relgraph.backends.dask"
_INTEROP = "relgraph.interop."


def _importable(name):
    if name.startswith(_INTEROP):  # relgraph.interop.pytensor needs pytensor
        return find_spec(name.removeprefix(_INTEROP).split(".")[0]) is not None
    if name.startswith(_DASK):
        return find_spec("dask") is not None
    return not name.startswith(_CUDA)


MODULES = sorted(
    name for _, name, _ in pkgutil.walk_packages(rg.__path__, "relgraph.") if _importable(name)
)
