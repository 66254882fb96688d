"""The tests in simulated/ need a process in which numba's simulator stands in for a device."""

import os

if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1":
    collect_ignore = ["simulated"]
