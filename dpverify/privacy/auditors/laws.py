"""Pairs of output laws whose epsilon is known at every delta, on which an auditor is tested."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln, ndtr

from dpverify.privacy.audit.counting import largest_refuted
from dpverify.privacy.audit.records import Floats
from dpverify.privacy.gaussian import epsilon_of

Draw: TypeAlias = Callable[[int, int, Generator], Floats]
"""``draw(which, n, rng) -> (n, d)``: outputs on the first data set (0) or the second one (1)."""

COUNTS = np.arange(200)  # of a Poisson law; the chance of a larger one is below 1e-100
LARGEST = 64.0  # epsilon of a bisection
TOLERANCE = 1e-10


@dataclass(frozen=True)
class KnownLaw:
    """Outputs on two neighbouring data sets, and the smallest epsilon at each delta."""

    name: str
    draw: Draw
    epsilon: Callable[[float], float]


def _gaussian(mu: float, dimension: int = 1) -> Draw:
    """The second mean is mu away, in the direction in which all coordinates are equal."""
    step = mu / math.sqrt(dimension)
    return lambda which, n, rng: which * step + rng.normal(size=(n, dimension))


def _laplace(which: int, n: int, rng: Generator) -> Floats:
    return which + rng.laplace(size=(n, 1))


def _cauchy(which: int, n: int, rng: Generator) -> Floats:
    return which + rng.standard_cauchy(size=(n, 1))


def _geometric(which: int, n: int, rng: Generator) -> Floats:
    stop = 1.0 - math.exp(-1.0)
    result: Floats = which + (rng.geometric(stop, (n, 1)) - rng.geometric(stop, (n, 1))).astype(np.float64)
    return result


def _flipped(which: int, n: int, rng: Generator) -> Floats:
    keep = math.e / (1.0 + math.e)
    kept = rng.random((n, 1)) < keep
    return np.where(kept, float(which), 1.0 - which)


def _in_clear(chance: float) -> Draw:
    """With a small chance the data set is released, else nothing."""

    def draw(which: int, n: int, rng: Generator) -> Floats:
        return np.where(rng.random((n, 1)) < chance, 2.0 * which - 1.0, 0.0)

    return draw


def _poisson(which: int, n: int, rng: Generator) -> Floats:
    return rng.poisson(11.0 if which else 8.0, (n, 1)).astype(np.float64)


def _wider(which: int, n: int, rng: Generator) -> Floats:
    return (1.5 if which else 1.0) * rng.normal(size=(n, 1))


def _heavy(draw: Draw, change: Callable[[Floats], Floats]) -> Draw:
    """Outputs that are changed one to one, which leaves epsilon as it is."""
    return lambda which, n, rng: change(draw(which, n, rng))


def _smallest(delta_of: Callable[[float], float], delta: float) -> float:
    """Return the epsilon at which a falling delta reaches a value; infinite beyond 64."""
    if delta_of(LARGEST) > delta:
        return math.inf
    return largest_refuted(lambda epsilon: delta_of(epsilon) > delta, LARGEST, TOLERANCE)


def _delta_of_laplace(epsilon: float) -> float:
    return max(0.0, 1.0 - math.exp(0.5 * (epsilon - 1.0)))


def _delta_of_flipped(epsilon: float) -> float:
    """Of randomized response and of the geometric law: the loss is 1 or -1."""
    return max(0.0, (math.e - math.exp(epsilon)) / (1.0 + math.e))


def _delta_of_cauchy(epsilon: float) -> float:
    """The loss is above epsilon between the roots of ``1 + x^2 = exp(epsilon) (1 + (x - 1)^2)``."""
    factor = math.exp(epsilon)
    if epsilon == 0.0:
        return 2.0 * math.atan(0.5) / math.pi  # beyond 1/2
    square = factor**2 - (factor - 1.0) * (2.0 * factor - 1.0)
    if square <= 0.0:
        return 0.0
    roots = [(factor + sign * math.sqrt(square)) / (factor - 1.0) for sign in (-1.0, 1.0)]
    first = (math.atan(roots[1]) - math.atan(roots[0])) / math.pi
    second = (math.atan(roots[1] - 1.0) - math.atan(roots[0] - 1.0)) / math.pi
    return max(0.0, second - factor * first)


def _delta_of_poisson(epsilon: float) -> float:
    chances = [np.exp(COUNTS * math.log(mean) - mean - gammaln(COUNTS + 1.0)) for mean in (8.0, 11.0)]
    sides = (chances, chances[::-1])
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum()) for one, other in sides)


def _delta_of_wider(epsilon: float) -> float:
    """N(0, 1) against N(0, 1.5^2): the loss is monotone in the size of the output."""
    slope = 0.5 * (1.0 - 1.5**-2)
    far = math.sqrt((epsilon + math.log(1.5)) / slope)
    wide = 2.0 * float(ndtr(-far / 1.5)) - math.exp(epsilon) * 2.0 * float(ndtr(-far))
    if epsilon >= math.log(1.5):
        return max(0.0, wide)
    near = math.sqrt((math.log(1.5) - epsilon) / slope)
    narrow = 1.0 - 2.0 * float(ndtr(-near)) - math.exp(epsilon) * (1.0 - 2.0 * float(ndtr(-near / 1.5)))
    return max(0.0, wide, narrow)


def known_laws(delta: float) -> list[KnownLaw]:
    """Return the laws for audits at a delta in [0, 1): without any leak, continuous, discrete and with heavy tails."""

    def by(delta_of: Callable[[float], float]) -> Callable[[float], float]:
        return lambda at: _smallest(delta_of, at)

    def nothing(at: float) -> float:
        return 0.0

    def of_gaussian(mu: float) -> Callable[[float], float]:
        return lambda at: epsilon_of(mu, at)

    return [
        KnownLaw("nothing is released", lambda which, n, rng: np.zeros((n, 1)), nothing),
        KnownLaw("the same noise", _gaussian(0.0), nothing),
        KnownLaw("the same noise, 20 numbers", _gaussian(0.0, 20), nothing),
        KnownLaw("the data set with probability delta", _in_clear(delta), nothing),
        KnownLaw("Gaussian, mu = 1", _gaussian(1.0), of_gaussian(1.0)),
        KnownLaw("Gaussian, mu = 3", _gaussian(3.0), of_gaussian(3.0)),
        KnownLaw("Gaussian, mu = 1, 20 numbers", _gaussian(1.0, 20), of_gaussian(1.0)),
        KnownLaw("Laplace, scale 1", _laplace, by(_delta_of_laplace)),
        KnownLaw("two scales, 1 and 1.5", _wider, by(_delta_of_wider)),
        KnownLaw("randomized response, epsilon 1", _flipped, by(_delta_of_flipped)),
        KnownLaw("geometric, epsilon 1", _geometric, by(_delta_of_flipped)),
        KnownLaw("Poisson counts, 8 and 11", _poisson, by(_delta_of_poisson)),
        KnownLaw("Cauchy, scale 1", _cauchy, by(_delta_of_cauchy)),
        KnownLaw("fifth power of Laplace", _heavy(_laplace, lambda x: x**5), by(_delta_of_laplace)),
        KnownLaw("exponential of Gaussian, mu = 3", _heavy(_gaussian(3.0), np.exp), of_gaussian(3.0)),
    ]
