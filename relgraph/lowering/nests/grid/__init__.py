"""Nests of a GPU: the levels of their loops say which threads of a grid run the iterations.

The statements are those of the nests of a CPU.  Arrays are contiguous and have one axis, because an
element's number is found once for all arrays that span the whole nest.
"""
