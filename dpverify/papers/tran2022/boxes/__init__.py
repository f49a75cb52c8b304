"""Indices, ranges and lines of the printed algorithms (boxes)."""
