"""Whether an optimizer of yours does what its accounting presumes, of batches, sensitivity, noise and state."""

from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.releases import Release, Statistic
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
