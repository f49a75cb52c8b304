"""Benchmark cases: each module that is listed in ``case.GROUPS`` defines a group."""
