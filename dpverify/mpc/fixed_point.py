"""Real vectors as integers for a secure sum: limits, units, rounding and what they change.

A party's vector is rounded to whole units of ``unit``, to the nearest, each coordinate by at most half a unit; sums of
integers are exact, so the opened sum of m parties is within m/2 units of the true one in each coordinate. Replacing one
example moves one party's vector by at most D in norm, hence its integers by at most D/unit + sqrt(d): each coordinate's
two roundings move it by at most one unit together. Noise is set for that.

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
Inside: TypeAlias = Literal["bits", "ratio"]  # noise that is made in the computation

MODULUS: Final = (1 << 61) - 1  # prime
RANGE: Final = 1 << 58  # sums and noise are below it in size
LEAST_PARTIES: Final = 3  # two of two could not be a majority that is honest
MOST_PARTIES: Final = 16  # keys of MPyC's shared randomness grow as binomial(m, t)
LONGEST_TIMEOUT: Final = 60.0
MOST_NUMBERS: Final = 1 << 22  # of one opening
MOST_INSIDE: Final = 1 << 16  # numbers in a message of noise that is made inside: 256 bits of 256 coordinates


class PartyError(ArgumentError):
    """A run that cannot go on: another party died, hung, left, differs or gave up; or this one has a bad value."""

    def __init__(self, message: str) -> None:
        super().__init__("parties", None, "must go on")
        self.args = (" ".join(message.split()),)


DEVIATIONS: Final[dict[Inside, float]] = {"bits": binomial_noise.DEVIATION, "ratio": ratio_noise.DEVIATION}
LEAST_DEVIATION = 8.0  # units; with less, rounding would show through the noise


@dataclass(frozen=True)
class Scale:
    """How one kind of sum is opened: the value of a unit, and its noise.

    Attributes
    ----------
    unit : float
        What one unit is worth.
    share : float
        Deviation in units of the Gaussian that each party adds; 0: none does.
    inside : str or None
        How noise is made inside, if it is: from shared random ``bits``, or by the ``ratio`` of uniforms.
    deviation : float
        Of a coordinate's noise as it is opened, in the values' own units.
    """

    unit: float
    share: float = 0.0
    inside: Inside | None = None
    deviation: float = 0.0


def largest_sigma(noise: Inside, dimension: int) -> float:
    """Largest sigma for noise made inside: with more, rounding could move the integers as much as the data do."""
    return DEVIATIONS[noise] / (2.0 * math.sqrt(dimension)) * (1.0 - 1e-12)


def choose_scale(
    noise: Noise, sensitivity: float, sigma: float, parties: int, dimension: int, fraction_bits: int
) -> Scale:
    """Set noise of ``sigma`` times the integers' sensitivity.

    ``shares``: with t = floor((m-1)/2) colluders, who know their own, the m - t others alone give that much; each adds
    a Gaussian of variance 1/(m - t) of it. A unit is 2^-fraction_bits. ``bits``, ``ratio``: noise has a fixed deviation
    in units, from which the unit follows. An ArgumentError where the noise is below the resolution, or beyond the
    range.
    """
    unit = 2.0**-fraction_bits
    root = math.sqrt(dimension)
    if sigma == 0.0:
        return Scale(unit)
    if noise != "shares":
        deviation = DEVIATIONS[noise]
        if deviation / sigma < 2.0 * root:  # rounding could move the integers as much as the data do
            raise check.ArgumentError("sigma", sigma, f"must be at most {deviation / (2.0 * root):g} for noise={noise}")
        unit = sensitivity / (deviation / sigma - root)
        return Scale(unit, 0.0, noise, deviation * unit)
    honest = parties - (parties - 1) // 2
    share = sigma * (sensitivity / unit + root) / math.sqrt(honest)
    if share < LEAST_DEVIATION:
        rule = f"must be larger: noise of {share:g} units is below the resolution of {fraction_bits} fraction bits"
        raise check.ArgumentError("sigma", sigma, rule)
    if 64.0 * share > RANGE // (2 * parties):
        raise check.ArgumentError(
            "fraction_bits", fraction_bits, "must be smaller: noise is beyond the fixed-point range"
        )
    return Scale(unit, share, None, share * math.sqrt(parties) * unit)


def encode(values: Vector, unit: float, parties: int) -> Indices:
    """Round to whole units; an ArgumentError where a value is NaN or beyond the range."""
    if not np.isfinite(values).all():
        raise check.ArgumentError("gradient", float(values[~np.isfinite(values)][0]), "must be finite")
    scaled = np.rint(values / unit)
    limit = RANGE // (2 * parties)
    if (size := float(np.abs(scaled).max(initial=0.0))) > limit:
        raise check.ArgumentError("gradient", size * unit, f"must be within the fixed-point range, {limit * unit:g}")
    units: Indices = scaled.astype(np.int64)
    return units


def to_residues(values: Indices) -> list[int]:
    """Turn integers into elements of the field in which they are added."""
    return [int(v) % MODULUS for v in values]


def from_residues(residues: Iterable[int]) -> list[int]:
    """Turn elements of the field back into integers; those in its upper half are negative."""
    return [v - MODULUS if v > MODULUS // 2 else v for v in residues]
