"""All kernels of the paper: Algorithms 1 to 5 as printed and as streams."""
