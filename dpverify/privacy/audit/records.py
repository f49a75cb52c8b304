"""What an audit found, as typed records, and the one error it raises."""

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
    """A mechanism, a pair of data sets or a score that cannot be audited: one line, what and why.

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
    """What is claimed of the mechanism."""

    epsilon: float
    delta: float


class Bound(Record, frozen=True, kw_only=True):
    """The lower confidence bound; infinities are strings."""

    epsilon: builtins.float | str
    delta: float
    mu: builtins.float | str | None = None
    """Bound on the distance of the two means in standard deviations; with the Gaussian law only."""


class Power(Record, frozen=True, kw_only=True):
    """The smallest fault that an audit of this size sees."""

    chance: float  # with which probability it is seen
    shortfall: float | None
    """Share by which the sigma of a Gaussian mechanism falls short of the claim; None where no shortfall is seen."""
    n_for_15_percent: int | None = None
    """Outputs per data set with which a sigma that is 15% short is seen; None where that is beyond 10^8."""
    largest_epsilon: builtins.float | str  # most that an audit of this size can show of any mechanism


class AuditEvidence(Record, frozen=True, kw_only=True):
    """What the bound was computed from."""

    rule: str  # the rule that guessed, in words
    trials: int  # Rounds, or samples, that the bound rests on
    training: int  # rounds that the rule was made on; none of them counts for the bound
    share: float = 1.0
    """Share of the chance of a false alarm that the rule had; the rest went to another rule, which did worse."""
    right: int | None = None  # right guesses
    wrong: int | None = None  # wrong guesses
    statistic: builtins.float | str | None = None
    """Hotelling's statistic over its degrees of freedom; with the Gaussian law only."""


class AuditResult(ShownAsTable, Record, frozen=True, kw_only=True):
    """One audit.

    Examples
    --------
    >>> import dpverify as dv
    >>> def mechanism(dataset, rng, size):
    ...     return dataset.sum() + 2.0 * rng.normal(size=size)
    >>> result = dv.audit(mechanism, epsilon=1.0, n=20_000, law="gaussian")
    >>> result.verdict, result.epsilon > 1.0
    ('refuted', True)
    """

    shown_by: ClassVar[str] = "dpverify.report.notebook.results:audit_table"

    mechanism: str
    law: Law
    # ``refuted`` where the bound is above the claimed epsilon, ``not refuted`` where it is not; never more than that.
    verdict: Verdict
    claim: AuditClaim | None
    # Smallest chance of a false alarm at which the claim is refuted: if it is true, evidence as strong as this has at
    # most this chance. Not below 1e-12.
    p_value: float | None
    bound: Bound
    confidence: float  # chance that the bound is not above the truth, at least
    evidence: AuditEvidence
    power: Power | None
    n: int  # samples per data set that were asked for
    seed: int
    dimension: int
    batched: bool
    notes: list[str] = []  # what the samples look like, where that matters for the assumptions
    interrupted: bool = False  # whether Ctrl-C ended it early; the bound then rests on what was drawn
    schema: int = 1

    @property
    def epsilon(self) -> float:
        """The bound as a number."""
        return float(self.bound.epsilon)


class AuditFinding(NamedTuple):
    """What sampling found, before it is held against a claim. Fields as in the records above."""

    rule: str
    trials: int
    training: int = 0
    epsilon: float = 0.0
    mu: float | None = None
    share: float = 1.0
    right: int | None = None
    wrong: int | None = None
    statistic: float | str | None = None
    rank: int = 0  # directions with noise; with the Gaussian law only
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    # the bound at another chance of being above the truth; None where nothing was drawn
    epsilon_at: Callable[[float], float] | None = None
    # the other way round: the chance at which the bound is a given epsilon, or None where it has no closed form
    level_at: Callable[[float], float | None] | None = None


def number(value: float) -> float | str:
    """Return a float, or the name of an infinity, which JSON has no number for."""
    return value if abs(value) < float("inf") else str(value)
