"""Checks of the implementation against the boxes of Algorithms 1 and 2."""
