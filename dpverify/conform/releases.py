"""What a step may release besides a vector: the clip length that it used, and noised statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Statistic:
    """Numbers that each step releases besides its vector, with noise of their own.

    Parameters
    ----------
    sensitivity : float
        Largest change of these numbers by one example, in the Euclidean norm, above 0.
    deviation : float
        Standard deviation of the noise of each of them, above 0.
    size : int
        How many numbers there are, at least 1.
    """

    sensitivity: float
    deviation: float
    size: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for name in ("sensitivity", "deviation"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be finite and above 0, got {name}={getattr(self, name)}.")
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got size={self.size}.")


@dataclass(frozen=True)
class Release:
    """What a step releases, if that is more than a vector.

    Parameters
    ----------
    vector : array
        The released vector.
    clip_length : float, optional
        Clip length that this step used, if ``Promise.adaptive_clip`` is set. It may depend on earlier releases only.
    statistic : array
        The noised numbers that ``Promise.statistic`` describes, such as the noised share of gradients that are not
        clipped.
    """

    vector: Any
    clip_length: float | None = None
    statistic: Any = ()
