"""Replay noise from any source: normal numbers of numpy, PyTorch, JAX and Python; detect the generators of a step."""
