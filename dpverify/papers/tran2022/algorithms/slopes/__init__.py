"""Whole runs of Algorithms 1 and 2 on losses whose runs can be summed up."""
