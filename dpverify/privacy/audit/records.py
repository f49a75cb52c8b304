"""Typed records of the results of audits and of tests of auditors, and the AuditError."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.ledger.records import Record
from dpverify.shown import ShownAsTable

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
Law = Literal["any", "gaussian"]
Verdict = Literal["refuted", "not refuted", "no claim"]


class AuditError(ValueError):
    """Raised with a one-line reason for a mechanism, a pair of data sets or a score that cannot be audited.

    Examples
    --------
    >>> import dpverify as dv
    >>> try:
    ...     dv.audit(lambda dataset, rng: float("nan"), n=1000)
    ... except dv.AuditError as error:
    ...     print("cannot be audited")
    cannot be audited
    """


class AuditClaim(Record, frozen=True, kw_only=True):
    """The claimed privacy parameters of the mechanism."""

    epsilon: float
    delta: float


class Bound(Record, frozen=True, kw_only=True):
    """The lower confidence bound; infinite values are strings."""

    epsilon: builtins.float | str
    delta: float
    mu: builtins.float | str | None = None
    """Bound on the distance of the two means in standard deviations; only for the Gaussian law."""


class Power(Record, frozen=True, kw_only=True):
    """The smallest fault that an audit of this size detects."""

    chance: float  # probability with which the fault is detected
    shortfall: float | None
    """Smallest detected relative shortfall of a Gaussian mechanism's sigma; None if no shortfall is detected."""
    n_for_15_percent: int | None = None
    """Outputs per data set with which a sigma that is 15% too small is detected; None if more than 10^8 are needed."""
    # largest epsilon that an audit of this size can show for any mechanism
    largest_epsilon: builtins.float | str


class AuditEvidence(Record, frozen=True, kw_only=True):
    """The evidence from which the bound was computed."""

    rule: str  # description of the guessing rule
    trials: int  # rounds or outputs from which the bound was computed
    training: int  # rounds that trained the rule; they do not count for the bound
    share: float = 1.0
    """Fraction of the false-alarm probability that this rule had. A rule with a worse result had the remainder."""
    right: int | None = None  # right guesses
    wrong: int | None = None  # wrong guesses
    statistic: builtins.float | str | None = None
    """Hotelling's statistic divided by its degrees of freedom; only for the Gaussian law."""


class AuditResult(ShownAsTable, Record, frozen=True, kw_only=True):
    """The result of an audit.

    Examples
    --------
    >>> import dpverify as dv
    >>> def mechanism(dataset, rng, size):
    ...     return dataset.sum() + 2.0 * rng.normal(size=size)
    >>> result = dv.audit(mechanism, epsilon=1.0, n=20_000, law="gaussian")
    >>> result.verdict, result.epsilon > 1.0
    ('refuted', True)
    """

    shown_by: ClassVar[str] = "dpverify.report.result_tables:audit_table"

    mechanism: str
    law: Law
    # ``refuted`` if the bound exceeds the claimed epsilon, else ``not refuted``; an
    # audit never confirms a claim.
    verdict: Verdict
    claim: AuditClaim | None
    # Smallest false-alarm probability at which the claim is refuted. If the claim is
    # true, evidence this strong has at most this probability. Not below 1e-12.
    p_value: float | None
    bound: Bound
    # least probability that the bound does not exceed the true epsilon
    confidence: float
    evidence: AuditEvidence
    power: Power | None
    n: int  # requested outputs per data set
    seed: int
    dimension: int
    batched: bool
    notes: list[str] = []  # properties of the outputs that matter for the assumptions
    # whether Ctrl-C ended the audit early; the bound then uses the outputs drawn so far
    interrupted: bool = False
    schema: int = 1

    @property
    def epsilon(self) -> float:
        """The bound as a number."""
        return float(self.bound.epsilon)


class AuditFinding(NamedTuple):
    """The result of sampling, before it is compared with a claim; fields as in the records above."""

    rule: str
    trials: int
    training: int = 0
    epsilon: float = 0.0
    mu: float | None = None
    share: float = 1.0
    right: int | None = None
    wrong: int | None = None
    statistic: float | str | None = None
    rank: int = 0  # number of directions with noise; only with the Gaussian law
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    # the bound as a function of the probability that it exceeds the truth; None if no
    # output was drawn
    epsilon_at: Callable[[float], float] | None = None
    # its inverse: the probability at which the bound equals a given epsilon, or None if
    # there is no closed form
    level_at: Callable[[float], float | None] | None = None


def number(value: float) -> float | str:
    """Return a float, or the name of an infinity, which JSON cannot represent as a number."""
    return value if abs(value) < float("inf") else str(value)


# fraction of the true epsilon in the false claim that an auditor should refute
CLAIMED = 0.5


class LawCoverage(Record, frozen=True, kw_only=True):
    """The results of an auditor on one pair of distributions."""

    law: str
    epsilon: builtins.float | str  # the true epsilon
    # runs in which a true claim was refuted, or the bound exceeded the true epsilon
    wrong: int
    wrong_at_most: float  # upper confidence limit (95%) of the rate of wrong runs
    is_accused: bool  # whether there are too many wrong runs for the stated error rate
    # runs that refuted the claim of half the true
    # epsilon; None if that claim is not false
    refuted: int | None
    # None for an auditor that returns no bounds
    mean_bound: builtins.float | str | None


class AuditorCoverage(Record, frozen=True, kw_only=True):
    """The results of an auditor on all pairs of distributions.

    Examples
    --------
    >>> import dpverify as dv
    >>> def says_one(first, second, epsilon, delta, confidence, seed):
    ...     return 1.0
    >>> coverage = dv.audit_auditor(says_one, runs=20, n=10)
    >>> [law.law for law in coverage.laws if law.is_accused][:2]
    ['nothing is released', 'the same noise']
    """

    auditor: str
    delta: float
    confidence: float
    n: int  # outputs on each data set
    runs: int
    seed: int
    # smallest error rate on a pair of distributions
    # that is detected with probability 90%
    seen_from: float
    laws: list[LawCoverage]
    schema: int = 1

    @property
    def is_accused(self) -> bool:
        """Whether the auditor is wrong more often than it states, on some pair of distributions."""
        return any(law.is_accused for law in self.laws)
