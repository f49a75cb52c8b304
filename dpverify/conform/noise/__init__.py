"""Test the noise against the promised law, in whole runs and at nonzero gradients."""

from dpverify.conform.noise.runs import noise_tests, scale_test

__all__ = ["noise_tests", "scale_test"]
