"""The Dask backend, which divides a graph into tasks on blocks of arrays."""
