"""Test whether a whole training keeps the assumptions of its accounting: loader, clipping, noise, epoch ends, ranks."""

from dpverify.conform.training.run import conformance_of_training
from dpverify.conform.training.runs import TrainingData

__all__ = ["TrainingData", "conformance_of_training"]
