"""What a user asks of a comparison, checked."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from dpverify.kernels import check
from dpverify.problems.rows import RowScaling
from dpverify.train.request import Request

MOST_EPSILON = 1e6  # beyond it nothing is promised that is worth comparing, and the accountants run out of floats


@dataclass(frozen=True)
class CompareRequest:
    """Arguments of a comparison.

    Parameters
    ----------
    epsilon, delta : float
        Privacy of every private method, for replacing one example.
    data, n, steps, epochs, eta, lam, scale, standardise
        As in ``Request``; eta and steps are those of the normalized methods, the others have as many gradients of
        examples; scale is ``unit`` or ``clip``. Epochs are passes over the training part.
    batch : int or None
        Examples a step of dp-sgd; None: the root of N, rounded.
    test_part : float
        Part of the data that is held out, above 0 and below 1.
    seeds, seed : int
        S and the first: the seeds are seed, .., seed + S - 1. Each has its own split, the same for all methods.

    Raises
    ------
    ArgumentError
        If an argument is out of its domain, or two exclude each other.
    """

    epsilon: float
    delta: float
    data: Path | None = None
    n: int | None = None
    steps: int | None = None
    epochs: int | None = None
    batch: int | None = None
    eta: float | None = None
    lam: float = 0.001
    scale: RowScaling = "unit"
    standardise: bool | None = None
    test_part: float = 0.2
    seeds: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scale not in ("unit", "clip"):
            raise check.ArgumentError("scale", self.scale, "must be one of unit, clip: G may not depend on the data")
        if not check.positive(test_part=self.test_part) < 1.0:
            raise check.ArgumentError("test_part", self.test_part, "must be above 0 and below 1")
        if check.positive(epsilon=self.epsilon) > MOST_EPSILON:
            raise check.ArgumentError("epsilon", self.epsilon, f"must be at most {MOST_EPSILON:.0e}")
        check.whole(2, seeds=self.seeds)
        if self.batch is not None:
            check.whole(1, batch=self.batch)
        check.positive(delta=self.delta)
        self.shared()

    def shared(self) -> Request:
        """Give what all methods share, as a request to train; it checks itself."""
        names = {field.name for field in fields(Request)} & {field.name for field in fields(self)}
        return Request(**{name: getattr(self, name) for name in names})
