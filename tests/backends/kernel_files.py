"""What the tests of the disk cache share: kernels that a process loaded, and their files."""

from relgraph.backends.numba import kernels


def forget():
    """Forget the kernels that the process has loaded, so that it reads their files again."""
    kernels._addresses.clear()
    kernels._scalars.clear()


def kernel_file(folder):
    """Return the only file of a kernel in a folder."""
    (path,) = folder.glob("rgk_*.rgc")
    return path
