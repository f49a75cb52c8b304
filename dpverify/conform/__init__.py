"""Test whether an optimizer keeps the assumptions of its accounting: batches, sensitivity, noise and state."""

from dpverify.conform.records import PrivateOptimizer, Promise, Release, Statistic
from dpverify.conform.results import Conformance, ConformanceTest
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
