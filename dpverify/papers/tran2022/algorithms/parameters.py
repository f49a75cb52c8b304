"""Parameters of runs of Algorithm 1 (``Parameters``) and of Algorithm 2 (``SrParameters``)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpverify.kernels import check
from dpverify.kernels.check import MOST_STEPS
from dpverify.kernels.epochs import check_ordering
from dpverify.kernels.typing import Vector
from dpverify.papers.tran2022.algorithms.scales import (
    Scales,
    levels,
    node_deviation,
    printed_scales,
    printed_v,
)
from dpverify.papers.tran2022.algorithms.tree_noise.literal import check_depth
from dpverify.shared_types import Ordering


class CommonParameters:
    """Base class of the parameter dataclasses: T, alpha, eta, sigma, G and the ordering, checked on creation."""

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


@dataclass(frozen=True)
class Parameters(CommonParameters):
    """Parameters of DP-NSGD.

    Attributes
    ----------
    steps : int
        T, at least 1.
    alpha : float
        Momentum weight, in (0, 1]. Theorem 4 needs ``alpha >= 1/N``, which is not
        checked.
    eta : float
        Length of every step, at least 0.
    sigma : float
        Noise multiplier, at least 0; with 0 the algorithm is normalized SGD with
        momentum and has no privacy.
    lipschitz : float
        G, above 0: an upper bound on the norm of every example's gradient. It is not
        enforced: gradients are not clipped.
    ordering : {"fresh", "once"}
        A new permutation of the examples in each epoch, as the paper prints it, or one
        permutation for all epochs.
    depth : int or None
        The tree depth R, on which V depends. None: floor(log2 T) + 1, the smallest
        depth at which Algorithm 1's loops draw every node that it uses.
    v : float, Fraction or None
        V. None: the printed formula in N, T and R.

    Raises
    ------
    ArgumentError
        If a number is out of range, or the ordering is unknown.
    UndrawnNodeError
        If some step uses a node that Algorithm 1's loops do not draw at this depth.
    """

    steps: int
    alpha: float
    eta: float
    sigma: float
    lipschitz: float
    ordering: Ordering = "fresh"
    depth: int | None = None
    v: float | Fraction | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.depth is not None:
            check_depth(self.steps, check.whole(0, 62, depth=self.depth))
        if self.v is not None:
            check.positive(v=self.v)

    def node_deviation(self, examples: int) -> float:
        """Return the standard deviation of a node's noise, ``4 alpha G sigma sqrt(V)``, in units of the gradient."""
        depth = levels(self.steps) if self.depth is None else self.depth
        v = printed_v(examples, self.steps, depth) if self.v is None else self.v
        return node_deviation(self.alpha, self.lipschitz, self.sigma, v)


@dataclass(frozen=True)
class SrParameters(CommonParameters):
    """Parameters of sensitivity-reduced NSGD.

    Attributes
    ----------
    steps, eta, lipschitz
        As in ``Parameters`` of DP-NSGD.
    alpha : float
        Momentum weight, in (0, 1]. Theorem 8 needs ``alpha >= 1/N``, which is not
        checked.
    gamma : float
        Cross-batch weight, in [0, 1]. Theorem 9 sets ``gamma = eta N``.
    sigma : float
        Noise multiplier, at least 0; with 0 there is no noise and no privacy.
    ordering : {"fresh", "once"}
        A new permutation of the examples in each epoch, as the paper prints it, or one
        permutation for all epochs, as Lemma 17 needs it.
    scales : Scales or None
        Sensitivities and node counts that scale the noise. None: the printed values.

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
        """Return the standard deviations of nodes, shape (4,), for N examples; see :meth:`Scales.deviations`."""
        examples = check.whole(1, examples=examples)
        scales = self.scales
        if scales is None:
            scales = printed_scales(
                examples, self.steps, eta=self.eta, lipschitz=self.lipschitz
            )
        return scales.deviations(self.sigma)
