"""Distributions of privacy losses and of their sums."""
