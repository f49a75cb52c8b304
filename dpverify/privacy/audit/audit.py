"""Auditing a mechanism: a lower bound on its epsilon, with confidence, from its outputs on two neighbouring data sets.

What is assumed: calls are independent of each other given the data set, and the two data sets are neighbours under
the definition that the claim is about. With the law "gaussian", outputs are also Gaussian with one covariance. What is
found is a lower bound. An audit refutes a claim, or it does not; it never shows that a mechanism is private.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpverify.privacy.audit.candidates import UserScore
from dpverify.privacy.audit.draws import Draws, Elsewhere
from dpverify.privacy.audit.game import play
from dpverify.privacy.audit.gaussian import sample
from dpverify.privacy.audit.power import power_of_any, power_of_gaussian
from dpverify.privacy.audit.records import (
    AuditClaim,
    AuditError,
    AuditEvidence,
    AuditFinding,
    AuditResult,
    Bound,
    Law,
    Power,
    number,
)
from dpverify.privacy.audit.sampling import Mechanism, Source
from dpverify.shared_types import ReportProgress

MOST_SAMPLES = 10**9


def default_datasets() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ten zeros, and the same with the first replaced by 1: neighbours under replacement of one example in [0, 1]."""
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
    elsewhere: Elsewhere | None = None,
) -> AuditResult:
    """Bound the epsilon of a mechanism from below, as ``dpverify.audit``; after Ctrl-C, from what was drawn so far."""
    check_arguments(epsilon, delta, n, confidence, law, score, seed)
    claim = None if epsilon is None else AuditClaim(epsilon=epsilon, delta=delta)
    source = Source(mechanism, default_datasets() if datasets is None else datasets)
    draws = Draws(source, seed, elsewhere, pairs=law == "gaussian")
    report = report or (lambda done, total, label: None)
    if law == "gaussian":
        finding = sample(draws, n, delta, 1.0 - confidence, report)
    else:
        finding = play(draws, n, delta, 1.0 - confidence, score, report, epsilon)
    return AuditResult(
        mechanism=name or str(getattr(mechanism, "__qualname__", type(mechanism).__name__)),
        law=law,
        verdict="no claim" if claim is None else "refuted" if finding.epsilon > claim.epsilon else "not refuted",
        claim=claim,
        p_value=None if claim is None else _p_value(claim.epsilon, finding),
        bound=Bound(
            epsilon=number(finding.epsilon), delta=delta, mu=None if finding.mu is None else number(finding.mu)
        ),
        confidence=confidence,
        evidence=AuditEvidence(**{name: getattr(finding, name) for name in AuditEvidence.__struct_fields__}),
        power=None if claim is None else _power(claim, law, finding, 1.0 - confidence),
        n=n,
        seed=seed,
        dimension=source.dimension,
        batched=source.batched,
        notes=[*remarks, *finding.notes],
        interrupted=finding.interrupted,
    )


def _p_value(epsilon: float, finding: AuditFinding) -> float:
    """Find the level at which the bound passes the claim: in closed form where there is one, else by bisection."""
    bound = finding.epsilon_at
    if bound is None:
        return 1.0
    level = None if finding.level_at is None else finding.level_at(epsilon)
    if level is not None:
        return min(max(float(f"{level:.2g}"), 1e-12), 1.0)
    low, high = -12.0, 0.0  # powers of ten
    if bound(10.0**low) > epsilon:
        return 1e-12
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if bound(10.0**middle) > epsilon else (middle, high)
    return 1.0 if high == 0.0 else float(f"{10.0**high:.2g}")


def _power(claim: AuditClaim, law: Law, finding: AuditFinding, alpha: float) -> Power:
    if law == "gaussian":
        return power_of_gaussian(claim.epsilon, claim.delta, finding.trials // 2, finding.rank, alpha)
    return power_of_any(claim.epsilon, claim.delta, finding.trials, alpha * finding.share)


def check_arguments(
    epsilon: float | None, delta: float, n: int, confidence: float, law: str, score: UserScore | None, seed: int
) -> None:
    """Refuse arguments of an audit that are out of range."""
    rules = (
        ("epsilon", epsilon, "must be finite and at least 0", epsilon is None or 0.0 <= epsilon < math.inf),
        ("delta", delta, "must be at least 0 and below 1", 0.0 <= delta < 1.0),
        ("n", n, f"must be between 1 and {MOST_SAMPLES}", 1 <= n <= MOST_SAMPLES),
        ("confidence", confidence, "must lie between 0 and 1", 0.0 < confidence < 1.0),
        ("law", law, "must be 'any' or 'gaussian'", law in {"any", "gaussian"}),
        ("seed", seed, "must be at least 0", seed >= 0),
    )
    for name, value, rule, is_kept in rules:
        if not is_kept:
            raise AuditError(f"{name}: {value}: {rule}")
    if law == "gaussian" and score is not None:
        raise AuditError("score: is for the law 'any' only; with the law 'gaussian' the score is known")
