"""Benchmarks as records, pages and figures."""
