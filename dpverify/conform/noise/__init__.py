"""The noise against the promised law, in whole runs and at gradients that are not 0."""

from dpverify.conform.noise.runs import noise_tests, scale_test

__all__ = ["noise_tests", "scale_test"]
