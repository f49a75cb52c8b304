"""What Algorithm 1 is run with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpverify.kernels import check
from dpverify.papers.tran2022.algorithms.parameters import CommonParameters
from dpverify.papers.tran2022.algorithms.tree_noise.literal import check_depth
from dpverify.papers.tran2022.algorithms.tree_noise.scale import levels, node_deviation, printed_v
from dpverify.shared_types import Ordering


@dataclass(frozen=True)
class Parameters(CommonParameters):
    """Parameters of DP-NSGD.

    Attributes
    ----------
    steps : int
        T, at least 1.
    alpha : float
        Momentum weight, in (0, 1]. Theorem 4 needs ``alpha >= 1/N``; that is not checked here.
    eta : float
        Length of every step, at least 0.
    sigma : float
        Noise multiplier, at least 0; 0 is normalized SGD with momentum, without privacy.
    lipschitz : float
        G, above 0: at least the norm of every example's gradient. It is believed: nothing is clipped.
    ordering : {"fresh", "once"}
        A new permutation of the examples in each epoch, as the box prints it, or one for all epochs.
    depth : int or None
        The tree depth R, which V depends on; None: floor(log2 T) + 1, the smallest at which Algorithm 1's loops draw
        every node that it uses.
    v : float, Fraction or None
        V; None: as printed, from N, T and R.

    Raises
    ------
    ArgumentError
        If a number is out of range, or the ordering is unknown.
    UndrawnNodeError
        If at this depth a step uses a node that Algorithm 1's loops do not draw.
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
        """Give the standard deviation of a node's noise, ``4 alpha G sigma sqrt(V)``, in units of the gradient."""
        depth = levels(self.steps) if self.depth is None else self.depth
        v = printed_v(examples, self.steps, depth) if self.v is None else self.v
        return node_deviation(self.alpha, self.lipschitz, self.sigma, v)
