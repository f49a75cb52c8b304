"""How often an auditor is wrong, and how much it shows, on laws whose epsilon is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import special

from dpverify.foreign import ForeignError, foreign_code
from dpverify.privacy.audit.records import AuditError, Floats, number
from dpverify.privacy.auditors.laws import KnownLaw, known_laws
from dpverify.privacy.auditors.records import CLAIMED, AuditorCoverage, LawCoverage
from dpverify.shared_types import ReportProgress

Auditor: TypeAlias = Callable[[Floats, Floats, float, float, float, int], Any]
"""``auditor(first, second, epsilon, delta, confidence, seed)``: a lower bound of epsilon, or whether it is refuted."""

ERROR = 0.01  # chance that an auditor with the stated error rate is accused, over all laws
SEEN = 0.9  # chance with which the smallest error rate that is stated would be seen
ROUNDING = 1.0 + 1e-9  # of a bound that is compared with the truth


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
    """Run an auditor on laws of known epsilon, and count how often it is wrong and what it shows.

    Parameters
    ----------
    auditor : callable
        ``auditor(first, second, epsilon, delta, confidence, seed)``. ``first`` and ``second`` (n, d) are outputs on two
        neighbouring data sets, independent of each other. It returns a lower bound of epsilon at ``delta`` that is
        above the truth with a chance of at most ``1 - confidence``; or True if it refutes that the mechanism is
        (epsilon, delta)-DP, and False if not.
    n : int
        Outputs on each data set, at least 1.
    delta : float
        In [0, 1).
    confidence : float
        In (0, 1).
    runs : int
        Runs on each law, at least 1. In each of them the auditor is called twice, with the true epsilon and with half
        of it, on the same outputs.
    seed : int
        At least 0; the same seed gives the same outputs.
    name : str
        Name in the result. Default: that of the function.
    report : callable, optional
        Called with the runs done, all runs, and a label.

    Returns
    -------
    AuditorCoverage
        A law accuses the auditor if so many wrong runs have a chance below 1%, over all laws, under the stated error
        rate.

    Raises
    ------
    AuditError
        If an argument is out of range, or the auditor raises or returns neither a truth value nor a number.

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
        results.append(_on_law(auditor, law, place, n, delta, confidence, runs, seed, allowed))
    return AuditorCoverage(
        auditor=name or str(getattr(auditor, "__qualname__", type(auditor).__name__)),
        delta=delta,
        confidence=confidence,
        n=n,
        runs=runs,
        seed=seed,
        seen_from=_seen_from(runs, allowed),
        laws=results,
    )


def most_wrong(runs: int, rate: float, level: float) -> int:
    """Return the largest number of wrong runs that is no evidence, at a level, against a rate of at most ``rate``."""
    return next(count for count in range(runs + 1) if special.bdtrc(count, runs, rate) <= level)


def _seen_from(runs: int, allowed: int) -> float:
    """Return the rate at which more than the allowed number of wrong runs have a chance of 90%; 1 if none has."""
    return 1.0 if allowed >= runs else float(special.betaincinv(allowed + 1, runs - allowed, SEEN))


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
        first, second = (law.draw(which, n, np.random.default_rng([seed, place, run, which])) for which in (0, 1))
        answer = _answer(auditor, law, first, second, truth, delta, confidence, run)
        if isinstance(answer, bool):
            wrong += answer
        else:
            bounds.append(answer)
            wrong += answer > truth * ROUNDING
        if is_finite:
            half = _answer(auditor, law, first, second, CLAIMED * truth, delta, confidence, run)
            refuted += half if isinstance(half, bool) else half > CLAIMED * truth
    limit = 1.0 if wrong == runs else float(special.betaincinv(wrong + 1, runs - wrong, 0.95))
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
    """Ask the auditor; what it does to the outputs does not reach the next question."""
    try:
        with foreign_code("auditor"):
            answer = auditor(first.copy(), second.copy(), epsilon, delta, confidence, seed)
            value = answer if isinstance(answer, bool | np.bool_) else float(answer)
    except ForeignError as error:
        raise AuditError(f"auditor: {error.reason} (run {seed} on {law.name!r})") from error
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if math.isnan(value):
        raise AuditError(f"auditor: returned nan (run {seed} on {law.name!r}): must be a number or a truth value")
    return value
