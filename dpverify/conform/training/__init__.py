"""Test whether a whole training keeps the assumptions of its accounting: loader, clipping, noise, epoch ends, ranks."""

from dpverify.conform.training.data import TrainingData
from dpverify.conform.training.run import conformance_of_training

__all__ = ["TrainingData", "conformance_of_training"]
