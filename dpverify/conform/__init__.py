"""Test whether an optimizer keeps the assumptions of its accounting: batches, sensitivity, noise and state."""

from dpverify.conform.promise import Promise, Statistic
from dpverify.conform.records import (
    Conformance,
    ConformanceTest,
    PrivateOptimizer,
    Release,
)
from dpverify.conform.run import conformance

__all__ = [
    "Conformance",
    "ConformanceTest",
    "PrivateOptimizer",
    "Promise",
    "Release",
    "Statistic",
    "conformance",
]
