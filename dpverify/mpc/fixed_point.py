"""Real vectors as integers for a secure sum: limits, units, and the effect of rounding.

Each coordinate of a party's vector is rounded to the nearest multiple of ``unit``, by
at most half a unit. Sums of integers are exact, so the opened sum of m parties is
within m/2 units of the true sum in each coordinate. Replacing one example moves one
party's vector by at most D in norm. Its integers then move by at most D/unit + sqrt(d),
because the two roundings of a coordinate together add at most one unit. The noise is
calibrated to this sensitivity.

The limits on parties, messages and timeouts, and the error that ends a secure sum, are defined here as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.typing import Indices, Vector
from dpverify.privacy import binomial_noise, ratio_noise

Noise: TypeAlias = Literal["shares", "bits", "ratio"]
# noise that is made inside the computation
Inside: TypeAlias = Literal["bits", "ratio"]

MODULUS: Final = (1 << 61) - 1  # prime
RANGE: Final = 1 << 58  # the absolute values of sums and noise are below it
LEAST_PARTIES: Final = 3  # an honest majority of two parties would be both of them
MOST_PARTIES: Final = 16  # keys of MPyC's shared randomness grow as binomial(m, t)
LONGEST_TIMEOUT: Final = 60.0
MOST_NUMBERS: Final = 1 << 22  # numbers in one opening
# numbers in a message of noise made inside: 256 bits for 256 coordinates
MOST_INSIDE: Final = 1 << 16


class PartyError(ArgumentError):
    """The run cannot continue: another party died, hung, left, differs or gave up, or this party has a bad value."""

    def __init__(self, message: str) -> None:
        super().__init__("parties", None, "must go on")
        self.args = (" ".join(message.split()),)


DEVIATIONS: Final[dict[Inside, float]] = {
    "bits": binomial_noise.DEVIATION,
    "ratio": ratio_noise.DEVIATION,
}
LEAST_DEVIATION = 8.0  # in units; smaller noise would not hide the rounding


@dataclass(frozen=True)
class Scale:
    """The fixed-point unit and the noise of one kind of sum.

    Attributes
    ----------
    unit : float
        Value of one unit.
    share : float
        Standard deviation, in units, of the Gaussian that each party adds; 0 if parties
        add no noise.
    inside : str or None
        Method for noise made inside the computation: from shared random ``bits``, or by
        the ``ratio`` of uniforms. None if no noise is made inside.
    deviation : float
        Standard deviation of the noise of a coordinate of the opened sum, in the scale
        of the values.
    """

    unit: float
    share: float = 0.0
    inside: Inside | None = None
    deviation: float = 0.0


def largest_sigma(noise: Inside, dimension: int) -> float:
    """Return the largest sigma for noise made inside; with more, rounding could move integers as much as the data."""
    return DEVIATIONS[noise] / (2.0 * math.sqrt(dimension)) * (1.0 - 1e-12)


def choose_scale(
    noise: Noise,
    sensitivity: float,
    sigma: float,
    parties: int,
    dimension: int,
    fraction_bits: int,
) -> Scale:
    """Return the scale for noise of ``sigma`` times the sensitivity of the integers.

    ``shares``: up to t = floor((m-1)/2) colluding parties know their own noise, so the m - t other parties alone must
    add the required noise. Each party adds a Gaussian with 1/(m - t) of the required variance. A unit is
    2^-fraction_bits. ``bits``, ``ratio``: the noise has a fixed deviation in units, which determines the unit. Raises
    an ArgumentError if the noise is below the resolution or beyond the range.
    """
    unit = 2.0**-fraction_bits
    root = math.sqrt(dimension)
    if sigma == 0.0:
        return Scale(unit)
    if noise != "shares":
        deviation = DEVIATIONS[noise]
        # rounding could move the integers as much as the data
        if deviation / sigma < 2.0 * root:
            raise check.ArgumentError(
                "sigma",
                sigma,
                f"must be at most {deviation / (2.0 * root):g} for noise={noise}",
            )
        unit = sensitivity / (deviation / sigma - root)
        return Scale(unit, 0.0, noise, deviation * unit)
    honest = parties - (parties - 1) // 2
    share = sigma * (sensitivity / unit + root) / math.sqrt(honest)
    if share < LEAST_DEVIATION:
        rule = f"must be larger: noise of {share:g} units is below the resolution of {fraction_bits} fraction bits"
        raise check.ArgumentError("sigma", sigma, rule)
    if 64.0 * share > RANGE // (2 * parties):
        raise check.ArgumentError(
            "fraction_bits",
            fraction_bits,
            "must be smaller: noise is beyond the fixed-point range",
        )
    return Scale(unit, share, None, share * math.sqrt(parties) * unit)


def encode(values: Vector, unit: float, parties: int) -> Indices:
    """Return the values rounded to whole units; raise an ArgumentError if one is not finite or beyond the range."""
    if not np.isfinite(values).all():
        raise check.ArgumentError(
            "gradient", float(values[~np.isfinite(values)][0]), "must be finite"
        )
    scaled = np.rint(values / unit)
    limit = RANGE // (2 * parties)
    if (size := float(np.abs(scaled).max(initial=0.0))) > limit:
        raise check.ArgumentError(
            "gradient",
            size * unit,
            f"must be within the fixed-point range, {limit * unit:g}",
        )
    units: Indices = scaled.astype(np.int64)
    return units


def to_residues(values: Indices) -> list[int]:
    """Return integers as elements of the field in which they are added."""
    return [int(v) % MODULUS for v in values]


def from_residues(residues: Iterable[int]) -> list[int]:
    """Return elements of the field as integers; elements in the upper half of the field are negative."""
    return [v - MODULUS if v > MODULUS // 2 else v for v in residues]
