"""Certified accountants of Algorithms 1 and 2."""
