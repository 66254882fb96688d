"""GPU features: arrays that stay on the device, streams, and PTX."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from relgraph.api.function import Container, _opened
from relgraph.api.rewrite import query_of
from relgraph.db.default import default_database
from relgraph.ir.graph import FunctionGraph


def to_host(values: Any) -> Any:
    """Copy results from the device to NumPy.

    Parameters
    ----------
    values : device array, or a list, tuple or dict of them
        Results of a function with ``target="cuda"``; other values are returned unchanged.

    Returns
    -------
    array, or a list, tuple or dict of array
        A result without dimensions is a NumPy scalar.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> rg.cuda.to_host({"a": np.arange(3)})
    {'a': array([0, 1, 2])}
    """
    if isinstance(values, dict):
        return {key: to_host(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return type(values)(map(to_host, values))
    copy = getattr(values, "to_host", None)
    if copy is None:
        return values
    array: np.ndarray[Any, Any] = copy()
    return array[()] if array.ndim == 0 else array


def stream(stream: Any = None) -> AbstractContextManager[Any]:
    """Run the calls of a block, in this thread, on a stream.

    Arguments may come from other streams: the device waits for them.

    Parameters
    ----------
    stream : object, optional
        A stream of numba, CuPy, torch or any library with ``__cuda_stream__``, or its handle as an
        int; without it, a new one.

    Returns
    -------
    context manager
        Its value is the stream, as numba has it.

    Raises
    ------
    GPUNotAvailableError
        If no GPU can be used.
    ArgumentError
        For an object that is not a stream.

    Examples
    --------
    >>> import relgraph as rg
    >>> with rg.cuda.stream():  # doctest: +SKIP
    ...     y = f(a)
    """
    from relgraph.backends.cuda.streams import chosen_stream

    return chosen_stream(stream)


def report() -> dict[str, str]:
    """Return the installed and the missing parts of the GPU software.

    Returns
    -------
    dict of str
        For each package its version or "missing", and the device.

    Examples
    --------
    >>> import relgraph as rg
    >>> "device" in rg.cuda.report()
    True
    """
    from relgraph.backends.cuda import adapter

    return adapter.report()


def ptx(
    inputs: Any, outputs: Container, cc: tuple[int, int] = (9, 0), mode: Any = "fast_run"
) -> dict[str, str]:
    """Compile the kernels of a graph to PTX, without a GPU.

    Parameters
    ----------
    inputs, outputs, mode
        As for :func:`relgraph.function`.
    cc : tuple of two int
        The compute capability to compile for.

    Returns
    -------
    dict of str
        For each kernel its name and its PTX.

    Raises
    ------
    GPUNotAvailableError
        If NVIDIA's compiler is not installed; ``relgraph[cuda]`` installs it.

    Examples
    --------
    This example needs that compiler, so the tests skip it:

    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> texts = rg.cuda.ptx([x], rg.exp(x), cc=(9, 0))  # doctest: +SKIP
    >>> all(".target sm_90" in text for text in texts.values())  # doctest: +SKIP
    True
    """
    from relgraph.backends.cuda.compiler import kernels_of

    nodes, _ = _opened(outputs)
    graph = FunctionGraph([inputs] if hasattr(inputs, "op") else inputs, nodes)
    if mode is not None:
        graph = default_database().query(query_of(name=mode)).rewrite(graph)
    return kernels_of(graph, cc)


__all__ = ["ptx", "report", "stream", "to_host"]
