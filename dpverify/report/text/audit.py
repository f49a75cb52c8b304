"""The text that ``dpverify audit`` prints about its result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpverify.privacy.audit.records import AuditResult
    from dpverify.privacy.auditors.records import AuditorCoverage


def lines(result: AuditResult) -> list[str]:
    """Return the lines that describe the result of an audit."""
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
        return [
            f"{words}refuted at {100.0 * result.confidence:.6g}% confidence{chance}"
        ]
    chance = f"{100.0 * power.chance:.6g}%"
    if power.shortfall is not None:
        power_text = (
            f"a Gaussian mechanism whose sigma is {100.0 * power.shortfall:.2g}% short "
            f"is refuted with chance {chance}"
        )
    else:
        power_text = "no Gaussian mechanism, however short its sigma, is refuted"
    largest_epsilon = float(power.largest_epsilon)
    limit = (
        ""
        if math.isinf(largest_epsilon)
        else f"; no bound above {largest_epsilon:.3g} is possible with so few"
    )
    advice = ""
    if power.n_for_15_percent is not None and power.n_for_15_percent > result.n:
        advice = f"; for 15% short it takes --n {power.n_for_15_percent}"
        advice += (
            ""
            if result.law == "gaussian"
            else " (fewer with --law gaussian, where that law is given)"
        )
    return [
        f"{words}not refuted at this power",
        f"  power: {power_text}{limit}{advice}",
    ]


def coverage_lines(coverage: AuditorCoverage) -> list[str]:
    """Return the error counts and the bounds of an auditor, one line for each law, and a conclusion."""
    width = max(len(law.law) for law in coverage.laws)
    rows = [f"{'law':{width}}  epsilon  bound  wrong  refuted at half"]
    for law in coverage.laws:
        bound = "" if law.mean_bound is None else f"{float(law.mean_bound):.3f}"
        refuted = "" if law.refuted is None else str(law.refuted)
        mark = "  wrong too often" if law.is_accused else ""
        rows.append(
            f"{law.law:{width}}  {float(law.epsilon):7.3f}  {bound:>5}  {law.wrong:5}  {refuted:>15}{mark}"
        )
    accusing = sum(law.is_accused for law in coverage.laws)
    if accusing:
        allowed = 100.0 * (1.0 - coverage.confidence)
        verdict = f"wrong in more than {allowed:.3g}% of runs on {accusing} of {len(coverage.laws)} laws"
    else:
        verdict = f"not accused; an error rate from {100.0 * coverage.seen_from:.3g}% on would have been found"
    numbers = f"{coverage.runs} runs on each law, {coverage.n} outputs on each data set, delta {coverage.delta:g}"
    return [*rows, f"{coverage.auditor}: {verdict} ({numbers})"]
