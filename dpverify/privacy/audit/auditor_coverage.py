"""The error rate and the power of an auditor on pairs of output distributions.

The epsilon of these pairs is known at every delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import special
from scipy.special import gammaln, ndtr

from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.audit.counting import largest_refuted
from dpverify.privacy.audit.records import (
    CLAIMED,
    AuditError,
    AuditorCoverage,
    Floats,
    LawCoverage,
    number,
)
from dpverify.privacy.gaussian import epsilon_of
from dpverify.shared_types import ReportProgress

Draw: TypeAlias = Callable[[int, int, Generator], Floats]
"""``draw(which, n, rng) -> (n, d)``: outputs on the first data set (0) or the second one (1)."""

# values of a Poisson number; larger ones have a probability below 1e-100
COUNTS = np.arange(200)
MAX_EPSILON = 64.0  # largest epsilon of a bisection
TOLERANCE = 1e-10


@dataclass(frozen=True)
class KnownLaw:
    """Output distributions on two neighbouring data sets, and the smallest epsilon at each delta."""

    name: str
    draw: Draw
    epsilon: Callable[[float], float]


def _gaussian(mu: float, dimension: int = 1) -> Draw:
    """Return Gaussian outputs whose second mean is mu away, in the direction in which all coordinates are equal."""
    step = mu / math.sqrt(dimension)
    return lambda which, n, rng: which * step + rng.normal(size=(n, dimension))


def _laplace(which: int, n: int, rng: Generator) -> Floats:
    return which + rng.laplace(size=(n, 1))


def _cauchy(which: int, n: int, rng: Generator) -> Floats:
    return which + rng.standard_cauchy(size=(n, 1))


def _geometric(which: int, n: int, rng: Generator) -> Floats:
    stop = 1.0 - math.exp(-1.0)
    result: Floats = which + (
        rng.geometric(stop, (n, 1)) - rng.geometric(stop, (n, 1))
    ).astype(np.float64)
    return result


def _flipped(which: int, n: int, rng: Generator) -> Floats:
    keep_chance = math.e / (1.0 + math.e)
    kept = rng.random((n, 1)) < keep_chance
    return np.where(kept, float(which), 1.0 - which)


def _in_clear(chance: float) -> Draw:
    """Return outputs that reveal the data set with a small probability, and nothing otherwise."""

    def draw(which: int, n: int, rng: Generator) -> Floats:
        return np.where(rng.random((n, 1)) < chance, 2.0 * which - 1.0, 0.0)

    return draw


def _poisson(which: int, n: int, rng: Generator) -> Floats:
    return rng.poisson(11.0 if which else 8.0, (n, 1)).astype(np.float64)


def _wider(which: int, n: int, rng: Generator) -> Floats:
    return (1.5 if which else 1.0) * rng.normal(size=(n, 1))


def _heavy(draw: Draw, change: Callable[[Floats], Floats]) -> Draw:
    """Return outputs after a one-to-one change, which does not affect epsilon."""
    return lambda which, n, rng: change(draw(which, n, rng))


def _smallest(delta_of: Callable[[float], float], delta: float) -> float:
    """Return the epsilon at which a decreasing delta reaches a value; infinite beyond 64."""
    if delta_of(MAX_EPSILON) > delta:
        return math.inf
    return largest_refuted(
        lambda epsilon: delta_of(epsilon) > delta, MAX_EPSILON, TOLERANCE
    )


def _delta_of_laplace(epsilon: float) -> float:
    return max(0.0, 1.0 - math.exp(0.5 * (epsilon - 1.0)))


def _delta_of_flipped(epsilon: float) -> float:
    """Return delta for randomized response and for the geometric noise, whose privacy loss is 1 or -1."""
    return max(0.0, (math.e - math.exp(epsilon)) / (1.0 + math.e))


def _delta_of_cauchy(epsilon: float) -> float:
    """Return delta for Cauchy noise.

    The loss exceeds epsilon between the roots of ``1 + x^2 = exp(epsilon) (1 + (x - 1)^2)``.
    """
    factor = math.exp(epsilon)
    if epsilon == 0.0:
        return 2.0 * math.atan(0.5) / math.pi  # delta of the outputs above 1/2
    square = factor**2 - (factor - 1.0) * (2.0 * factor - 1.0)
    if square <= 0.0:
        return 0.0
    roots = [
        (factor + sign * math.sqrt(square)) / (factor - 1.0) for sign in (-1.0, 1.0)
    ]
    first = (math.atan(roots[1]) - math.atan(roots[0])) / math.pi
    second = (math.atan(roots[1] - 1.0) - math.atan(roots[0] - 1.0)) / math.pi
    return max(0.0, second - factor * first)


def _delta_of_poisson(epsilon: float) -> float:
    chances = [
        np.exp(COUNTS * math.log(mean) - mean - gammaln(COUNTS + 1.0))
        for mean in (8.0, 11.0)
    ]
    sides = (chances, chances[::-1])
    return max(
        float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
        for one, other in sides
    )


def _delta_of_wider(epsilon: float) -> float:
    """Return delta for N(0, 1) against N(0, 1.5^2), whose loss is monotone in the absolute value of the output."""
    slope = 0.5 * (1.0 - 1.5**-2)
    far = math.sqrt((epsilon + math.log(1.5)) / slope)
    wide = 2.0 * float(ndtr(-far / 1.5)) - math.exp(epsilon) * 2.0 * float(ndtr(-far))
    if epsilon >= math.log(1.5):
        return max(0.0, wide)
    near = math.sqrt((math.log(1.5) - epsilon) / slope)
    narrow = (
        1.0
        - 2.0 * float(ndtr(-near))
        - math.exp(epsilon) * (1.0 - 2.0 * float(ndtr(-near / 1.5)))
    )
    return max(0.0, wide, narrow)


def known_laws(delta: float) -> list[KnownLaw]:
    """Return pairs of distributions: without any leak, continuous, discrete, and heavy-tailed; delta is in [0, 1)."""

    def by(delta_of: Callable[[float], float]) -> Callable[[float], float]:
        return lambda at: _smallest(delta_of, at)

    def nothing(at: float) -> float:
        return 0.0

    def of_gaussian(mu: float) -> Callable[[float], float]:
        return lambda at: epsilon_of(mu, at)

    return [
        KnownLaw(
            "nothing is released", lambda which, n, rng: np.zeros((n, 1)), nothing
        ),
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
        KnownLaw(
            "fifth power of Laplace",
            _heavy(_laplace, lambda x: x**5),
            by(_delta_of_laplace),
        ),
        KnownLaw(
            "exponential of Gaussian, mu = 3",
            _heavy(_gaussian(3.0), np.exp),
            of_gaussian(3.0),
        ),
    ]


Auditor: TypeAlias = Callable[[Floats, Floats, float, float, float, int], Any]
"""``auditor(first, second, epsilon, delta, confidence, seed)``: a lower bound on epsilon, or whether DP is refuted."""

# probability that an auditor with the stated error
# rate is accused, over all pairs of distributions
ERROR = 0.01
# probability with which the smallest error rate that is reported would be detected
TARGET_POWER = 0.9
# factor for the comparison of a bound with the true epsilon
ROUNDING_FACTOR = 1.0 + 1e-9


def audit_auditor(
    auditor: Auditor,
    *,
    n: int = 1000,
    delta: float = 0.01,
    confidence: float = 0.95,
    runs: int = 200,
    seed: int = 0,
    name: str = "",
    report: ReportProgress | None = None,
) -> AuditorCoverage:
    """Run an auditor on distributions of known epsilon; return how often it is wrong and which bounds it gives.

    Parameters
    ----------
    auditor : callable
        ``auditor(first, second, epsilon, delta, confidence, seed)``. ``first`` and
        ``second`` (n, d) are independent outputs on two neighbouring data sets. It
        returns either a lower bound on epsilon at ``delta`` that exceeds the true
        epsilon with probability at most ``1 - confidence``, or a truth value: True if
        it refutes that the mechanism is (epsilon, delta)-DP, and False otherwise.
    n : int
        Number of outputs on each data set, at least 1.
    delta : float
        Privacy parameter in [0, 1).
    confidence : float
        Stated confidence of the auditor, in (0, 1).
    runs : int
        Number of runs on each pair of distributions, at least 1. Each run calls the
        auditor twice on the same outputs, with the true epsilon and with half of it.
    seed : int
        At least 0; the same seed gives the same outputs.
    name : str
        Name in the result. Default: that of the function.
    report : callable, optional
        Called with the number of finished runs, the number of all runs, and a label.

    Returns
    -------
    AuditorCoverage
        A pair of distributions accuses the auditor if its number of wrong runs is
        improbable at the stated error rate. An auditor with that rate is accused by any
        of the pairs with probability at most 1%.

    Raises
    ------
    AuditError
        If an argument is out of range, or the auditor raises or returns neither a truth
        value nor a number.

    Examples
    --------
    >>> import dpverify as dv
    >>> def no_auditor(first, second, epsilon, delta, confidence, seed):
    ...     return False
    >>> dv.audit_auditor(no_auditor, runs=20).is_accused
    False
    """
    rules = (
        ("n", n, "must be at least 1", n >= 1),
        ("delta", delta, "must be at least 0 and below 1", 0.0 <= delta < 1.0),
        ("confidence", confidence, "must lie between 0 and 1", 0.0 < confidence < 1.0),
        ("runs", runs, "must be at least 1", runs >= 1),
        ("seed", seed, "must be at least 0", seed >= 0),
    )
    for variable, value, rule, is_kept in rules:
        if not is_kept:
            raise AuditError(f"{variable}: {value}: {rule}")
    laws = known_laws(delta)
    allowed = most_wrong(runs, 1.0 - confidence, ERROR / len(laws))
    results: list[LawCoverage] = []
    for place, law in enumerate(laws):
        if report is not None:
            report(place * runs, len(laws) * runs, law.name)
        results.append(
            _on_law(auditor, law, place, n, delta, confidence, runs, seed, allowed)
        )
    return AuditorCoverage(
        auditor=name or str(getattr(auditor, "__qualname__", type(auditor).__name__)),
        delta=delta,
        confidence=confidence,
        n=n,
        runs=runs,
        seed=seed,
        seen_from=_detectable_count(runs, allowed),
        laws=results,
    )


def most_wrong(runs: int, rate: float, level: float) -> int:
    """Return the largest number of wrong runs that does not reject an error rate of ``rate`` at a level."""
    return next(
        count for count in range(runs + 1) if special.bdtrc(count, runs, rate) <= level
    )


def _detectable_count(runs: int, allowed: int) -> float:
    """Return the error rate that exceeds ``allowed`` wrong runs with probability 90%; 1 if there is none."""
    return (
        1.0
        if allowed >= runs
        else float(special.betaincinv(allowed + 1, runs - allowed, TARGET_POWER))
    )


def _on_law(
    auditor: Auditor,
    law: KnownLaw,
    place: int,
    n: int,
    delta: float,
    confidence: float,
    runs: int,
    seed: int,
    allowed: int,
) -> LawCoverage:
    truth = law.epsilon(delta)
    is_finite = 0.0 < truth < math.inf
    wrong = 0
    refuted = 0
    bounds: list[float] = []
    for run in range(runs):
        first, second = (
            law.draw(which, n, np.random.default_rng([seed, place, run, which]))
            for which in (0, 1)
        )
        answer = _answer(auditor, law, first, second, truth, delta, confidence, run)
        if isinstance(answer, bool):
            wrong += answer
        else:
            bounds.append(answer)
            wrong += answer > truth * ROUNDING_FACTOR
        if is_finite:
            half = _answer(
                auditor, law, first, second, CLAIMED * truth, delta, confidence, run
            )
            refuted += half if isinstance(half, bool) else half > CLAIMED * truth
    limit = (
        1.0
        if wrong == runs
        else float(special.betaincinv(wrong + 1, runs - wrong, 0.95))
    )
    return LawCoverage(
        law=law.name,
        epsilon=number(truth),
        wrong=wrong,
        wrong_at_most=limit,
        is_accused=wrong > allowed,
        refuted=refuted if is_finite else None,
        mean_bound=number(math.fsum(bounds) / len(bounds)) if bounds else None,
    )


def _answer(
    auditor: Auditor,
    law: KnownLaw,
    first: Floats,
    second: Floats,
    epsilon: float,
    delta: float,
    confidence: float,
    seed: int,
) -> bool | float:
    """Return the auditor's answer; the auditor gets copies, so that it cannot change the outputs of the next call."""
    try:
        with foreign_code("auditor"):
            answer = auditor(
                first.copy(), second.copy(), epsilon, delta, confidence, seed
            )
            value = answer if isinstance(answer, bool | np.bool_) else float(answer)
    except ForeignError as error:
        raise AuditError(
            f"auditor: {error.reason} (run {seed} on {law.name!r})"
        ) from error
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if math.isnan(value):
        raise AuditError(
            f"auditor: returned nan (run {seed} on {law.name!r}): must be a number or a truth value"
        )
    return value
