"""What Algorithm 2 is run with."""

from __future__ import annotations

from dataclasses import dataclass

from dpverify.kernels import check
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.algorithms.parameters import CommonParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import Scales, printed_scales
from dpverify.shared_types import Ordering


@dataclass(frozen=True)
class SrParameters(CommonParameters):
    """Parameters of sensitivity-reduced NSGD.

    Attributes
    ----------
    steps, eta, lipschitz
        As in ``Parameters`` of DP-NSGD.
    alpha : float
        Momentum weight, in (0, 1]. Theorem 8 needs ``alpha >= 1/N``; that is not checked here.
    gamma : float
        Cross-batch weight, in [0, 1]. Theorem 9 sets ``gamma = eta N``.
    sigma : float
        Noise multiplier, at least 0; 0 is no noise, and no privacy.
    ordering : {"fresh", "once"}
        A new permutation of the examples in each epoch, as the box prints it, or one for all epochs, as Lemma 17 needs
        it.
    scales : Scales or None
        Sensitivities and counts behind the noise; None: as the box prints them.

    Raises
    ------
    ArgumentError
        If a number is out of range, or the ordering is unknown.
    """

    steps: int
    alpha: float
    gamma: float
    eta: float
    sigma: float
    lipschitz: float
    ordering: Ordering = "fresh"
    scales: Scales | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check.proportion(gamma=self.gamma)

    def deviations(self, examples: int) -> Vector:
        """Give the standard deviations of nodes, shape (4,), for N examples; see :meth:`Scales.deviations`."""
        examples = check.whole(1, examples=examples)
        scales = self.scales
        if scales is None:
            scales = printed_scales(examples, self.steps, eta=self.eta, lipschitz=self.lipschitz)
        return scales.deviations(self.sigma)
