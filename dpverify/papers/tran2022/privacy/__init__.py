"""Theorems 4 and 8, their families of nodes, and the bounds of an accountant."""
