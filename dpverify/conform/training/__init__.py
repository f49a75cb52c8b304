"""Whether a whole training does what its accounting assumes: loader, clipping, noise, ends of epochs, ranks."""

from dpverify.conform.training.data import TrainingData
from dpverify.conform.training.run import conformance_of_training

__all__ = ["TrainingData", "conformance_of_training"]
