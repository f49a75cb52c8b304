"""What a user asks of a training run, checked; and the settings that follow once N is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from dpverify.kernels import check
from dpverify.privacy.participation import Ordering
from dpverify.problems.rows import RowScaling
from dpverify.train.result import Settings

DEFAULT_EPOCHS = 10
DEFAULT_SIGMA = 1.0
MOST_STEPS = 1 << 53  # a float counts this far, and no run gets there


@dataclass(frozen=True)
class Request:
    """Arguments of a training run; nothing but ``data`` is read until it starts.

    Parameters
    ----------
    algorithm : str
        ``dp-nsgd``: Algorithm 1 of tran2022. ``sr-nsgd``: its Algorithm 2.
    data, n : Path or None, int or None
        LIBSVM or CSV file, or scikit-learn's ``breast_cancer``; so many of its examples, drawn with the seed, or all.
    steps, epochs : int or None
        T, or T in units of N; one of the two. None: 10 epochs.
    sigma, epsilon, delta : float or None
        Noise multiplier, at least 0 (None: 1); or the privacy asked for, and sigma is the smallest that is certified.
        delta with sigma: the epsilon that it buys.
    alpha, gamma, eta : float or None
        Momentum weight, at least 1/N where there is noise (None: 1/N); cross-batch weight in [0, 1], of sr-nsgd only
        (None: eta N, at most 1); length of every step (None: 1/sqrt(N T)). Defaults are those of Theorems 6 and 9,
        where the printed alpha is (T/N) / T for its T.
    lam : float
        Weight of the nonconvex regularizer.
    ordering, scale : str
        ``fresh``: a new permutation in each epoch; ``once``: one for all. Rows get norm 1 (``unit``), are shortened to
        norm 1 (``clip``), or are left as they are (``none``).
    standardise : bool or None
        Columns get mean 0 and deviation 1; None: in the bundled data only.
    seed : int
        The same seed gives the same run.

    Raises
    ------
    ArgumentError
        If an argument is out of its domain, or two exclude each other.
    """

    algorithm: str = "dp-nsgd"
    data: Path | None = None
    n: int | None = None
    steps: int | None = None
    epochs: int | None = None
    sigma: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    alpha: float | None = None
    gamma: float | None = None
    eta: float | None = None
    lam: float = 0.001
    ordering: Ordering = "fresh"
    scale: RowScaling = "unit"
    standardise: bool | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of(("dp-nsgd", "sr-nsgd"), algorithm=self.algorithm)
        _one_of(("fresh", "once"), ordering=self.ordering)
        _one_of(("unit", "clip", "none"), scale=self.scale)
        _check_privacy(self.epsilon, self.delta, self.sigma)
        if self.steps is not None and self.epochs is not None:
            both = f"steps={self.steps} and epochs={self.epochs}"
            raise check.ArgumentError("steps or epochs", both, "must be given, not both")
        for name, value in (("n", self.n), ("steps", self.steps), ("epochs", self.epochs)):
            if value is not None:
                check.whole(1, MOST_STEPS, **{name: value})
        check.whole(0, seed=self.seed)
        check.not_negative(lam=self.lam)
        if self.sigma is not None:
            check.not_negative(sigma=self.sigma)
        if self.alpha is not None:
            check.weight(alpha=self.alpha)
        if self.gamma is not None:
            check.proportion(gamma=self.gamma)
            if self.algorithm != "sr-nsgd":
                raise check.ArgumentError("gamma", self.gamma, f"must be left out, {self.algorithm} has none")
        if self.eta is not None:
            check.positive(eta=self.eta)

    def settle(self, n_examples: int) -> Settings:
        """Fill in what depends on the number of examples; refuse too many steps, and alpha below 1/N under noise."""
        steps = self.steps if self.steps is not None else (self.epochs or DEFAULT_EPOCHS) * n_examples
        check.whole(1, MOST_STEPS, steps=steps)
        sigma = DEFAULT_SIGMA if self.sigma is None else float(self.sigma)  # with epsilon: until it is calibrated
        alpha = 1 / n_examples if self.alpha is None else float(self.alpha)
        if sigma > 0 and alpha < 1 / n_examples:
            rule = f"must be at least 1/N = {1 / n_examples:.6g}, on which the noise 4*alpha*G*sigma*sqrt(V) rests"
            raise check.ArgumentError("alpha", alpha, rule)
        eta = 1 / math.sqrt(n_examples * steps) if self.eta is None else float(self.eta)
        gamma = min(1.0, eta * n_examples) if self.gamma is None else float(self.gamma)
        return Settings(
            steps=steps,
            sigma=sigma,
            alpha=alpha,
            gamma=gamma if self.algorithm == "sr-nsgd" else 1.0,
            eta=eta,
            lam=float(self.lam),
            ordering=self.ordering,
            scale=self.scale,
            depth=steps.bit_length(),
            seed=self.seed,
        )


def _check_privacy(epsilon: float | None, delta: float | None, sigma: float | None) -> None:
    """Refuse epsilon without delta, and with sigma."""
    if epsilon is not None:
        check.positive(epsilon=epsilon)
        if delta is None:
            raise check.ArgumentError("delta", delta, "must be given with epsilon")
        if sigma is not None:
            raise check.ArgumentError("sigma", sigma, f"must be left out where epsilon={epsilon} is asked for")
    if delta is not None and not check.positive(delta=delta) < 1.0:
        raise check.ArgumentError("delta", delta, "must be above 0 and below 1")


def _one_of(choices: tuple[str, ...], **named: str) -> None:
    """Take one of a few words; the keyword is the variable's name."""
    ((variable, value),) = named.items()
    if value not in choices:
        raise check.ArgumentError(variable, value, f"must be one of {', '.join(choices)}")
