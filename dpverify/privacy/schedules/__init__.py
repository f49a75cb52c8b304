"""Sampling in practice: fixed batches, shuffled epochs, truncated Poisson samples, balls in bins, allocation."""
