"""What an auditor said of laws whose epsilon is known, as typed records."""

from __future__ import annotations

import builtins

from dpverify.ledger.records import Record

CLAIMED = 0.5  # of the true epsilon: the false claim that an auditor should refute


class LawCoverage(Record, frozen=True, kw_only=True):
    """What an auditor said of one law."""

    law: str
    epsilon: builtins.float | str  # the truth
    wrong: int  # runs in which a true claim was refuted, or the bound was above the truth
    wrong_at_most: float  # upper confidence limit (95%) of the rate of such runs
    is_accused: bool  # whether so many are too many for the stated error rate
    refuted: int | None  # runs in which the claim of half the true epsilon was refuted; None if that is no false claim
    mean_bound: builtins.float | str | None  # None for an auditor that gives no bounds


class AuditorCoverage(Record, frozen=True, kw_only=True):
    """What an auditor said of all laws.

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
    seen_from: float  # smallest error rate on a law that is found with a chance of 90%
    laws: list[LawCoverage]
    schema: int = 1

    @property
    def is_accused(self) -> bool:
        """Whether the auditor is wrong more often than it states, on some law."""
        return any(law.is_accused for law in self.laws)
