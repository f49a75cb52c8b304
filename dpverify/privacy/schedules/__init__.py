"""Sampling as run: fixed batches, shuffled epochs, truncated Poisson samples, balls in bins, random allocation."""
