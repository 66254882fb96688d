"""The CUDA backend: kernels for NVIDIA GPUs, and a program that launches them in order.

Every use of ``numba.cuda`` is in :mod:`.adapter`.  Importing this package imports no compiler and
probes no device.
"""
