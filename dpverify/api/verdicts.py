"""Several verdicts: a list that can be filtered, and shows itself as a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import ClassVar, TypeVar, get_args

from dpverify.ledger.records import Kind, Severity, Status
from dpverify.ledger.results import Result, RunInfo
from dpverify.shown import ShownAsTable

Word = TypeVar("Word", bound=str)


class Verdicts(ShownAsTable, list[Result]):
    """A list of results, one for each claim and choice of its readings.

    ``repr`` gives the totals, ``print`` and notebooks show a table, and ``to_frame()`` makes a pandas data frame.

    Parameters
    ----------
    results : iterable of Result
        The results, in the order in which they are shown.
    run : RunInfo, optional
        Budget, seed, versions and commit of the run that they are from.

    Examples
    --------
    >>> import dpverify as dv
    >>> verdicts = dv.recorded("tran2022").filter(claim="lemma-12")
    >>> verdicts.claims
    ['tran2022:lemma-12']
    >>> print(verdicts[0].status, verdicts[0].severity)
    refuted boundary
    """

    shown_by: ClassVar[str] = "dpverify.report.notebook.results:verdicts_table"

    def __init__(self, results: Iterable[Result] = (), run: RunInfo | None = None) -> None:
        super().__init__(results)
        self.run = run

    @property
    def claims(self) -> list[str]:
        """Full id of every claim, once."""
        return [*dict.fromkeys(result.claim for result in self)]

    @property
    def severities(self) -> dict[Severity, list[str]]:
        """Refuted claims by the worst severity of their readings; our own notes are not among them."""
        from dpverify.report.words import by_severity

        return by_severity(result for result in self if not result.is_note)

    def filter(
        self,
        *,
        claim: str | None = None,
        status: Status | Collection[Status] | None = None,
        severity: Severity | Collection[Severity] | None = None,
        kind: Kind | Collection[Kind] | None = None,
    ) -> Verdicts:
        """Keep the results that meet every condition.

        Parameters
        ----------
        claim : str, optional
            Id of a claim, with or without its paper, or a pattern such as ``"theorem-*"``.
        status : str or collection of str, optional
            Status words, such as "refuted" or "proved".
        severity : str or collection of str, optional
            Severities of refuted claims, such as "privacy".
        kind : str or collection of str, optional
            Kinds of claims, such as "dp" or "utility-rate".

        Returns
        -------
        Verdicts
            In the same order; it may be empty.

        Raises
        ------
        ValueError
            If a status, severity or kind does not exist.
        """
        statuses = _wanted("status", status, get_args(Status))
        severities = _wanted("severity", severity, get_args(Severity))
        kinds = _wanted("kind", kind, get_args(Kind))
        selected = (
            result
            for result in self
            if (claim is None or _is_named(result.claim, claim))
            and (statuses is None or result.status in statuses)
            and (severities is None or result.severity in severities)
            and (kinds is None or result.kind in kinds)
        )
        return Verdicts(selected, self.run)


def _is_named(claim: str, pattern: str) -> bool:
    """Whether a pattern fits a claim's full id, or the id without the paper."""
    return any(fnmatchcase(name, pattern) for name in (claim, claim.partition(":")[2]))


def _wanted(name: str, words: Word | Collection[Word] | None, offered: Collection[str]) -> set[str] | None:
    """Make a set of one word or several; a ValueError names a word that does not exist."""
    if words is None:
        return None
    chosen: set[str] = {words} if isinstance(words, str) else {*words}
    for word in sorted(chosen):
        if word not in offered:
            raise ValueError(f"{name} must be one of {', '.join(offered)}, got {name}={word!r}.")
    return chosen
