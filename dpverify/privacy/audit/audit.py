"""Audit a mechanism: a lower confidence bound on epsilon from its outputs on two neighbouring data sets.

Assumptions: given the data set, calls are independent of each other. The two data sets
are neighbours under the definition that the claim uses. With the law "gaussian",
outputs are also Gaussian, with the same covariance on both data sets. The result is a
lower bound. An audit can refute a claim, but it never shows that a mechanism is
private.

"Not refuted" is only informative together with the power of the audit: the smallest fault that an audit of this size
would detect.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpverify.privacy.audit.candidates import UserScore
from dpverify.privacy.audit.counting import largest_bound, nearly_lower_epsilon
from dpverify.privacy.audit.game import play, total_rounds, training_rounds
from dpverify.privacy.audit.gaussian import sample
from dpverify.privacy.audit.records import (
    AuditClaim,
    AuditError,
    AuditEvidence,
    AuditFinding,
    AuditResult,
    Bits,
    Bound,
    Floats,
    Law,
    Power,
    number,
)
from dpverify.privacy.audit.sampling import AuditBackend, Draws, Mechanism, Source
from dpverify.privacy.gaussian import mu_of
from dpverify.privacy.noncentral_f import (
    MAX_NONCENTRALITY,
    MAX_TOTAL,
    noncentrality_of,
    quantile,
)
from dpverify.shared_types import ReportProgress

TARGET_POWER = 0.9  # probability with which the smallest detectable fault is detected

# distance of a learned threshold from the best one, in standard deviations of the noise
THRESHOLD_ERROR = 0.45

# thresholds, measured from the midpoint of the
# means in standard deviations of the noise
THRESHOLD_PLACES = np.linspace(0.0, 8.0, 161)

RATIO_STEP = 1.1  # ratio of consecutive tried ratios of sigmas

# ratios tried at once, and number of times a step is subdivided: to 0.00003
STEP_PARTS = 8
RATIO_REFINEMENTS = 4

# about the largest ratio of the claimed sigma to the real one that is tried
LARGEST_RATIO = 1e3


def power_of_any(epsilon: float, delta: float, trials: int, alpha: float) -> Power:
    """Return the power of the audit without assumptions for a one-dimensional Gaussian mechanism; approximate.

    The learned threshold is assumed to be ``THRESHOLD_ERROR`` away from the best one.
    """
    claimed = mu_of(epsilon, delta)
    short = np.array([claimed / 0.85])
    if trials < 1:
        return Power(chance=TARGET_POWER, shortfall=None, largest_epsilon=0.0)
    return Power(
        chance=TARGET_POWER,
        shortfall=_shortfall(
            lambda mu: _is_refuted(mu, epsilon, delta, trials, alpha), claimed
        ),
        n_for_15_percent=_smallest_n(
            lambda n: bool(_is_refuted(short, epsilon, delta, rounds(n), alpha).all())
        ),
        largest_epsilon=number(largest_bound(trials, delta, alpha)),
    )


def rounds(n: int) -> int:
    """Return how many rounds of a game with about n outputs per data set are judged, that is, not used for training."""
    total = total_rounds(n)
    return total - training_rounds(total, 1)


def _is_refuted(
    mu: Floats, epsilon: float, delta: float, trials: int, alpha: float
) -> Bits:
    """Return, for each mu, whether N(0, 1) against N(mu, 1) is refuted with probability ``TARGET_POWER``."""
    if trials < 1:
        return np.zeros(len(mu), dtype=np.bool_)
    steps = round(THRESHOLD_ERROR / float(THRESHOLD_PLACES[1]))
    right, wrong = (
        trials * special.ndtr(shift[:, None] - THRESHOLD_PLACES)
        for shift in (mu / 2.0, -mu / 2.0)
    )
    error = np.sqrt(1.0 / np.maximum(right, 1e-9) + 1.0 / np.maximum(wrong, 1.0))
    bound = (
        nearly_lower_epsilon(right, wrong, trials, delta, alpha)
        - float(special.ndtri(TARGET_POWER)) * error
    )
    worse = np.minimum(bound[:, : -2 * steps], bound[:, 2 * steps :])
    result: Bits = (worse.max(axis=1) > epsilon) & (mu > 0.0) & (mu < math.inf)
    return result


def _smallest_n(is_enough: Callable[[int], bool]) -> int | None:
    """Return the smallest n with two significant digits that is enough, by bisection."""
    choices = [
        digits * 10 ** (exponent - 1)
        for exponent in range(1, 8)
        for digits in range(10, 100)
    ]
    place = bisect_left(choices, True, key=is_enough)
    return choices[place] if place < len(choices) else None


@lru_cache(maxsize=64)
def power_of_gaussian(
    epsilon: float, delta: float, n: int, rank: int, alpha: float
) -> Power:
    """Return the power of the audit with a Gaussian law in ``rank`` dimensions, from the noncentral F distribution.

    The result is cached because audits of one claim in a loop over seeds or mechanisms have the same power.
    """
    second = 2 * n - 1 - rank
    if second < 1 or rank < 1:
        return Power(chance=TARGET_POWER, shortfall=None, largest_epsilon="inf")
    claimed = mu_of(epsilon, delta)
    null = 0.5 * n * claimed**2
    if null > MAX_TOTAL:
        z = float(special.ndtri(1.0 - alpha) + special.ndtri(TARGET_POWER))
        ratio = 1.0 + z * math.sqrt(2.0 / n + claimed**2 / (2.0 * second)) / claimed
        return Power(
            chance=TARGET_POWER, shortfall=1.0 - 1.0 / ratio, largest_epsilon="inf"
        )
    critical = quantile(rank, second, null, 1.0 - alpha)
    if rank * critical > MAX_NONCENTRALITY:
        return Power(chance=TARGET_POWER, shortfall=None, largest_epsilon="inf")
    detectable = math.sqrt(
        noncentrality_of(critical, rank, second, 1.0 - TARGET_POWER) * 2.0 / n
    )
    shortfall = (
        1.0 - claimed / detectable
        if 0.0 < claimed < detectable <= claimed * LARGEST_RATIO
        else None
    )
    return Power(chance=TARGET_POWER, shortfall=shortfall, largest_epsilon="inf")


def _shortfall(is_detected: Callable[[Floats], Bits], claimed: float) -> float | None:
    """Return the smallest detected relative shortfall of sigma; ``is_detected`` is called with increasing mu."""
    if not 0.0 < claimed < math.inf:
        return None
    steps = RATIO_STEP ** np.arange(STEP_PARTS, dtype=np.float64)
    ratio = 1.0
    while not (detected := is_detected(claimed * ratio * steps)).any():
        ratio *= RATIO_STEP**STEP_PARTS
        if ratio > LARGEST_RATIO:
            return None
    high = float(ratio * steps[detected.argmax()])
    low = max(1.0, high / RATIO_STEP)
    for _ in range(RATIO_REFINEMENTS):
        ratios = np.linspace(low, high, STEP_PARTS + 1)
        first = int(np.append(is_detected(claimed * ratios[1:-1]), True).argmax())
        low, high = ratios[first : first + 2].tolist()
    return 1.0 - 1.0 / high


MOST_SAMPLES = 10**9


def default_datasets() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ten zeros, and the same with a 1 in the first place: replace-one neighbours with examples in [0, 1]."""
    neighbour = np.zeros(10)
    neighbour[0] = 1.0
    return np.zeros(10), neighbour


def audit(
    mechanism: Mechanism,
    datasets: object = None,
    *,
    epsilon: float | None = None,
    delta: float = 1e-5,
    n: int = 100_000,
    confidence: float = 0.95,
    law: Law = "any",
    score: UserScore | None = None,
    seed: int = 0,
    name: str = "",
    remarks: Sequence[str] = (),
    report: ReportProgress | None = None,
    backend: AuditBackend | None = None,
) -> AuditResult:
    """Bound epsilon from below, as ``dpverify.audit`` does; after Ctrl-C, use the outputs drawn so far."""
    check_arguments(epsilon, delta, n, confidence, law, score, seed)
    claim = None if epsilon is None else AuditClaim(epsilon=epsilon, delta=delta)
    source = Source(mechanism, default_datasets() if datasets is None else datasets)
    draws = Draws(source, seed, backend, pairs=law == "gaussian")
    report = report or (lambda done, total, label: None)
    if law == "gaussian":
        finding = sample(draws, n, delta, 1.0 - confidence, report)
    else:
        finding = play(draws, n, delta, 1.0 - confidence, score, report, epsilon)
    return AuditResult(
        mechanism=name
        or str(getattr(mechanism, "__qualname__", type(mechanism).__name__)),
        law=law,
        verdict="no claim"
        if claim is None
        else "refuted"
        if finding.epsilon > claim.epsilon
        else "not refuted",
        claim=claim,
        p_value=None if claim is None else _p_value(claim.epsilon, finding),
        bound=Bound(
            epsilon=number(finding.epsilon),
            delta=delta,
            mu=None if finding.mu is None else number(finding.mu),
        ),
        confidence=confidence,
        evidence=AuditEvidence(
            **{name: getattr(finding, name) for name in AuditEvidence.__struct_fields__}
        ),
        power=None if claim is None else _power(claim, law, finding, 1.0 - confidence),
        n=n,
        seed=seed,
        dimension=source.dimension,
        batched=source.batched,
        notes=[*remarks, *finding.notes],
        interrupted=finding.interrupted,
    )


def _p_value(epsilon: float, finding: AuditFinding) -> float:
    """Return the p-value, the smallest level at which the bound exceeds the claim: in closed form or by bisection."""
    bound = finding.epsilon_at
    if bound is None:
        return 1.0
    level = None if finding.level_at is None else finding.level_at(epsilon)
    if level is not None:
        return min(max(float(f"{level:.2g}"), 1e-12), 1.0)
    low, high = -12.0, 0.0  # exponents of ten
    if bound(10.0**low) > epsilon:
        return 1e-12
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if bound(10.0**middle) > epsilon else (middle, high)
    return 1.0 if high == 0.0 else float(f"{10.0**high:.2g}")


def _power(claim: AuditClaim, law: Law, finding: AuditFinding, alpha: float) -> Power:
    if law == "gaussian":
        return power_of_gaussian(
            claim.epsilon, claim.delta, finding.trials // 2, finding.rank, alpha
        )
    return power_of_any(
        claim.epsilon, claim.delta, finding.trials, alpha * finding.share
    )


def check_arguments(
    epsilon: float | None,
    delta: float,
    n: int,
    confidence: float,
    law: str,
    score: UserScore | None,
    seed: int,
) -> None:
    """Raise an AuditError if an argument of an audit is out of range."""
    rules = (
        (
            "epsilon",
            epsilon,
            "must be finite and at least 0",
            epsilon is None or 0.0 <= epsilon < math.inf,
        ),
        ("delta", delta, "must be at least 0 and below 1", 0.0 <= delta < 1.0),
        ("n", n, f"must be between 1 and {MOST_SAMPLES}", 1 <= n <= MOST_SAMPLES),
        ("confidence", confidence, "must lie between 0 and 1", 0.0 < confidence < 1.0),
        ("law", law, "must be 'any' or 'gaussian'", law in {"any", "gaussian"}),
        ("seed", seed, "must be at least 0", seed >= 0),
    )
    for name, value, rule, is_satisfied in rules:
        if not is_satisfied:
            raise AuditError(f"{name}: {value}: {rule}")
    if law == "gaussian" and score is not None:
        raise AuditError(
            "score: is for the law 'any' only; with the law 'gaussian' the score is known"
        )
