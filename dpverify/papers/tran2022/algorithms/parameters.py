"""What runs of Algorithms 1 and 2 have in common."""

from __future__ import annotations

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.epochs import check_ordering
from dpverify.shared_types import Ordering


class CommonParameters:
    """T, alpha, eta, sigma, G and the order of the examples, checked once when they are made; to be a dataclass."""

    steps: int
    alpha: float
    eta: float
    sigma: float
    lipschitz: float
    ordering: Ordering

    def __post_init__(self) -> None:
        check.whole(1, MOST_STEPS - 1, steps=self.steps)
        check.weight(alpha=self.alpha)
        check.not_negative(eta=self.eta)
        check.not_negative(sigma=self.sigma)
        check.positive(lipschitz=self.lipschitz)
        check_ordering(self.ordering)
