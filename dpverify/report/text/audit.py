"""What ``dpverify audit`` tells a person about its result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.privacy.audit.records import AuditResult


def lines(result: AuditResult) -> list[str]:
    """Say what an audit found, for a person."""
    sure = f"{100.0 * result.confidence:.6g}% confidence"
    bound = f"epsilon >= {result.epsilon:.4g} at delta {result.bound.delta:.6g}, {sure}"
    if result.bound.mu is not None:
        bound += f" (mu >= {float(result.bound.mu):.4g})"
    evidence = result.evidence
    if result.law == "gaussian":
        what = f"given that outputs are Gaussian with one covariance; {evidence.trials // 2} outputs per data set"
    else:
        what = (
            f"nothing assumed but independent calls; {evidence.right} guesses right and {evidence.wrong} wrong in "
            f"{evidence.trials} rounds, by: {evidence.rule} ({evidence.training} rounds to learn it)"
        )
    return [
        f"{result.mechanism}: {bound}",
        f"  {what}",
        *(f"  note: {note}" for note in result.notes),
        *_verdict(result),
    ]


def _verdict(result: AuditResult) -> list[str]:
    claim = result.claim
    power = result.power
    if claim is None or power is None:
        return ["  no claim to refute: give one with --epsilon and --delta"]
    words = f"  claim (epsilon {claim.epsilon:.6g}, delta {claim.delta:.6g}): "
    if result.verdict == "refuted":
        chance = (
            ""
            if result.p_value is None
            else f"; if it were true, evidence this strong had probability at most {result.p_value:.2g}"
        )
        return [f"{words}refuted at {100.0 * result.confidence:.6g}% confidence{chance}"]
    chance = f"{100.0 * power.chance:.6g}%"
    if power.shortfall is not None:
        power_text = (
            f"a Gaussian mechanism whose sigma is {100.0 * power.shortfall:.2g}% short is refuted with chance {chance}"
        )
    else:
        power_text = "no Gaussian mechanism, however short its sigma, is refuted"
    largest_epsilon = float(power.largest_epsilon)
    limit = "" if math.isinf(largest_epsilon) else f"; no bound above {largest_epsilon:.3g} is possible with so few"
    advice = ""
    if power.n_for_15_percent is not None and power.n_for_15_percent > result.n:
        advice = f"; for 15% short it takes --n {power.n_for_15_percent}"
        advice += "" if result.law == "gaussian" else " (fewer with --law gaussian, where that law is given)"
    return [f"{words}not refuted at this power", f"  power: {power_text}{limit}{advice}"]
