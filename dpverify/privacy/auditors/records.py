"""Typed records of the results of an auditor on distributions whose epsilon is known."""

from __future__ import annotations

import builtins

from dpverify.ledger.records import Record

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
    # runs that refuted the claim of half the true epsilon; None if that claim is not
    # false
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
    # smallest error rate on a pair of distributions that is detected with probability
    # 90%
    seen_from: float
    laws: list[LawCoverage]
    schema: int = 1

    @property
    def is_accused(self) -> bool:
        """Whether the auditor is wrong more often than it states, on some pair of distributions."""
        return any(law.is_accused for law in self.laws)
