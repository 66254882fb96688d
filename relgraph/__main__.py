"""``python -m relgraph``: the command line, which is also installed as ``relgraph``."""

from __future__ import annotations

import sys

from relgraph.cli import main

if __name__ == "__main__":
    sys.exit(main())
