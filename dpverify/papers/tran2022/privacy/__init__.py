"""Theorems 4 and 8 and their families, and what an accountant says instead."""
