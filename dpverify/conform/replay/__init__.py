"""Noise from any source: normal numbers of numpy, PyTorch, JAX and Python, and the generators that a step uses."""
