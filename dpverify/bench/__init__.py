"""Benchmarks: times are ratios to a reference that is measured alternately in the same process, with intervals."""
