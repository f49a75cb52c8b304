"""Bounds on a mean over whole runs of an algorithm: exact limits from few runs, checks, and a search for violations."""
