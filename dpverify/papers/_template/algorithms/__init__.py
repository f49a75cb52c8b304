"""The algorithms of the paper, as kernels."""
