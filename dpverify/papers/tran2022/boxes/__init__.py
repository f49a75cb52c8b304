"""Indices, ranges and lines of the algorithm boxes."""
