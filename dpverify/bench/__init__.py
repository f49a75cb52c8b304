"""Benchmarks: every figure a ratio to something measured in the same process, in turns, with its interval."""
