"""Verdicts as a list that can be filtered and displayed as a table, and recorded verdicts, which need no check to run.

Recorded verdicts come from the run that comes with dpverify, or from the result store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar, get_args

import msgspec

from dpverify.ledger import ClaimSpec, Specs
from dpverify.ledger.errors import SpecError, UnknownClaim, shown, suggest
from dpverify.ledger.load import bundled
from dpverify.ledger.records import Kind, Severity, Status
from dpverify.ledger.results import Result, Run, RunInfo
from dpverify.shown import ShownAsTable

if TYPE_CHECKING:
    from dpverify.harness.run.store import Store


Word = TypeVar("Word", bound=str)


class Verdicts(ShownAsTable, list[Result]):
    """A list of results, one for each claim and choice of its readings.

    ``repr`` gives the totals, ``print`` and notebooks show a table, and ``to_frame()``
    returns a pandas data frame.

    Parameters
    ----------
    results : iterable of Result
        The results, in the order in which they are shown.
    run : RunInfo, optional
        Budget, seed, versions and commit of the run that produced them.

    Examples
    --------
    >>> import dpverify as dv
    >>> verdicts = dv.recorded("tran2022").filter(claim="lemma-12")
    >>> verdicts.claims
    ['tran2022:lemma-12']
    >>> print(verdicts[0].status, verdicts[0].severity)
    refuted boundary
    """

    shown_by: ClassVar[str] = "dpverify.report.result_tables:verdicts_table"

    def __init__(
        self, results: Iterable[Result] = (), run: RunInfo | None = None
    ) -> None:
        super().__init__(results)
        self.run = run

    @property
    def claims(self) -> list[str]:
        """The full ids of the claims, without duplicates."""
        return [*dict.fromkeys(result.claim for result in self)]

    @property
    def severities(self) -> dict[Severity, list[str]]:
        """Refuted claims, grouped by the worst severity of their readings, without our own notes."""
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
            Id of a claim, with or without its paper, or a pattern such as
            ``"theorem-*"``.
        status : str or collection of str, optional
            Status words, such as "refuted" or "proved".
        severity : str or collection of str, optional
            Severities of refuted claims, such as "privacy".
        kind : str or collection of str, optional
            Kinds of claims, such as "dp" or "utility-rate".

        Returns
        -------
        Verdicts
            The results in the same order, possibly none.

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
    """Return whether a pattern matches a claim's full id, or the id without the paper."""
    return any(fnmatchcase(name, pattern) for name in (claim, claim.partition(":")[2]))


def _wanted(
    name: str, words: Word | Collection[Word] | None, offered: Collection[str]
) -> set[str] | None:
    """Return a set of one or more words. A ValueError names a word that does not exist."""
    if words is None:
        return None
    chosen: set[str] = {words} if isinstance(words, str) else {*words}
    for word in sorted(chosen):
        if word not in offered:
            raise ValueError(
                f"{name} must be one of {', '.join(offered)}, got {name}={word!r}."
            )
    return chosen


def recorded(paper: str, *, report: Path | str | None = None) -> Verdicts:
    """Read the recorded verdicts on a paper.

    Parameters
    ----------
    paper : str
        Key of the paper, such as "tran2022"; "tools" for the claims about our own
        tools.
    report : pathlib.Path or str, optional
        Folder that ``dpverify verify --report`` wrote; by default the report that comes
        with dpverify.

    Returns
    -------
    Verdicts
        One result for each claim and choice of its readings, in the order of the paper.

    Raises
    ------
    UnknownClaim
        If the report has no verdicts on this paper.
    dpverify.report.collect.ReportError
        If the recorded data are damaged.

    Examples
    --------
    >>> import dpverify as dv
    >>> verdicts = dv.recorded("tran2022")
    >>> "tran2022:theorem-4-dp" in verdicts.filter(severity="privacy").claims
    True
    """
    folder = bundled("reports") if report is None else Path(report)
    run = recorded_run(paper, folder)
    if run is None:
        from dpverify.report.pages.write import read_runs

        keys = [*read_runs(folder)]
        rule = f"the report has no verdicts on this paper{suggest(paper, keys)}; it has {', '.join(keys)}"
        raise UnknownClaim(str(folder), "", "paper", shown(paper), rule)
    return Verdicts(run.results, run.run)


def recorded_run_of_claim(
    spec: ClaimSpec, report: Path | str | None = None
) -> Run | None:
    """Read the part of a recorded run that judged a claim; None if there is none.

    By default, ``report`` is the report that comes with dpverify. A copy of the package may have none.
    """
    try:
        folder = bundled("reports") if report is None else Path(report)
    except SpecError:
        return None
    run = recorded_run(spec.paper, folder)
    if run is None:
        return None
    results = [result for result in run.results if result.claim == spec.key]
    return msgspec.structs.replace(run, results=results) if results else None


def recorded_run(paper: str, folder: Path) -> Run | None:
    """Read the recorded run of a paper from a report; None if the report has none."""
    from dpverify.report.folder import finish
    from dpverify.report.pages.layout import OTHER_PAGES
    from dpverify.report.pages.write import decode_run

    finish(folder)
    files = {
        path.stem: path
        for path in (folder / "data").glob("*.json")
        if path.stem not in OTHER_PAGES
    }
    if paper not in files:
        return None
    return decode_run(f"data/{files[paper].name}", files[paper].read_bytes())


def stored_run_of_claim(
    specs: Specs, spec: ClaimSpec, store: Store, source: str | None = None
) -> Run | None:
    """Judge a claim from stored blocks with today's evidence, at the largest budget with all blocks; else None."""
    from dpverify.harness.checks import BUDGETS

    budgets = list(BUDGETS)
    requests = [
        request for request in store.requests(f"{spec.key}[") if request[0] in budgets
    ]
    ordered = sorted(
        requests, key=lambda request: (-budgets.index(request[0]), request[1])
    )
    runs = (_run(specs, spec, store, source, budget, seed) for budget, seed in ordered)
    return next((run for run in runs if run is not None), None)


def _run(
    specs: Specs,
    spec: ClaimSpec,
    store: Store,
    source: str | None,
    budget: str,
    seed: int,
) -> Run | None:
    from dpverify.harness.recorded_proof import RecordedRun
    from dpverify.harness.run.engine import stored_results
    from dpverify.harness.run.manifest import commit, machine, versions
    from dpverify.harness.run.runner import false_alarm
    from dpverify.harness.run.sources import PAPERS
    from dpverify.harness.run.store import BlockCache
    from dpverify.harness.run.suite import Suite, judged, results_by_case

    # as in verify, because the key of a block includes the reused results
    proofs = RecordedRun() if budget == "smoke" else None
    cases = Suite(specs, budget, seed, source or PAPERS, proofs).cases(spec)
    hashes = [case.evidence_hash for case in cases]
    work = [job for case in cases for job in case.jobs]
    evidence = [
        digest for case, digest in zip(cases, hashes, strict=True) for _ in case.jobs
    ]
    blocks = BlockCache(store, work, evidence)
    checks = stored_results(work, blocks)
    if not checks:
        return None
    results = judged(specs, cases, results_by_case(cases, checks), hashes)
    info = RunInfo(
        versions=versions(),
        seed=seed,
        budget=budget,
        commit=commit(),
        machine=machine(),
        false_alarm=false_alarm(results),
        from_store=blocks.reused,
    )
    return Run(
        run=info, papers={spec.paper: specs.papers[spec.paper].info}, results=results
    )
