"""PyTensor: load its graphs, compile them by relgraph, run its functions in the mode ``RELGRAPH``."""

from __future__ import annotations

from relgraph.interop.pytensor.loading import load as load

__all__ = ["load"]
