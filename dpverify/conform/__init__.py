"""Whether an optimizer of yours does what its accounting presumes, of batches, sensitivity, noise and state."""

from dpverify.conform.records import Conformance, ConformanceTest, PrivateOptimizer, Promise
from dpverify.conform.run import conformance

__all__ = ["Conformance", "ConformanceTest", "PrivateOptimizer", "Promise", "conformance"]
