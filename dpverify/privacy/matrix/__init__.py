"""Matrix mechanisms: the largest change by one example over all steps, and the epsilon that follows.

A matrix mechanism adds ``C^-1 Z`` to the clipped gradients ``G`` of all steps, with independent Gaussian noise ``Z``.
Equivalently it releases ``C G + Z`` and multiplies it by ``C^-1`` afterwards, which costs no privacy. It is a Gaussian
mechanism whose sensitivity depends on the strategy ``C`` and on the steps in which one example can take part. For a
lower triangular ``C`` this also holds if gradients depend on earlier releases (Denisov et al. 2022, theorem 2.1).
"""

from dpverify.privacy.matrix.mechanism import MatrixMechanism
from dpverify.privacy.matrix.participation import (
    Cyclic,
    Epochs,
    Once,
    Participation,
    Separated,
)

__all__ = ["Cyclic", "Epochs", "MatrixMechanism", "Once", "Participation", "Separated"]
