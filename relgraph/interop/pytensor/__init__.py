"""PyTensor: its graphs as relgraph's, and functions of PyTensor that relgraph compiles."""

from __future__ import annotations

from relgraph.interop.pytensor.loading import load as load

__all__ = ["load"]
