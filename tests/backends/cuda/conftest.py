"""The tests in simulated/ need a process in which numba's simulator stands in for a device.

``benchmarks/cuda.py`` runs those of them that a device can run on a device.
"""

import os

ON_DEVICE = os.environ.get("RELGRAPH_CUDA_DEVICE_TESTS") == "1"

if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1" and not ON_DEVICE:
    collect_ignore = ["simulated"]
