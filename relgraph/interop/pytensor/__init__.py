"""PyTensor: translation of graphs in both directions, and compilation of its functions.

Importing this module registers the mode ``RELGRAPH`` of ``pytensor.function``.
"""

from __future__ import annotations

from relgraph.interop.pytensor.dumping import dump as dump
from relgraph.interop.pytensor.linker import compile as compile
from relgraph.interop.pytensor.linker import mode as mode
from relgraph.interop.pytensor.linker import register as register
from relgraph.interop.pytensor.loading import load as load

register()

__all__ = ["compile", "dump", "load", "mode", "register"]
