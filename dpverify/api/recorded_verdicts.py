"""The verdicts of the recorded run that comes with dpverify, without running anything."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dpverify.api.verdicts import Verdicts
from dpverify.ledger import ClaimSpec
from dpverify.ledger.errors import SpecError, UnknownClaim, shown, suggest
from dpverify.ledger.load import bundled
from dpverify.ledger.results import Run


def recorded(paper: str, *, report: Path | str | None = None) -> Verdicts:
    """Read the recorded verdicts on a paper.

    Parameters
    ----------
    paper : str
        Key of the paper, such as "tran2022"; "tools" for the claims about our own tools.
    report : pathlib.Path or str, optional
        Folder that ``dpverify verify --report`` wrote; by default the report that comes with dpverify.

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


def recorded_run_of_claim(spec: ClaimSpec, report: Path | str | None = None) -> Run | None:
    """Read the part of a recorded run that judged a claim; None where there is none.

    Without ``report``, it is the report that comes with dpverify; a copy of the package may have none.
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
    """Read the recorded run of a paper from a report; None where the report has none."""
    from dpverify.report.pages.folder import finish
    from dpverify.report.pages.layout import OTHERS
    from dpverify.report.pages.write import decode_run

    finish(folder)
    files = {path.stem: path for path in (folder / "data").glob("*.json") if path.stem not in OTHERS}
    if paper not in files:
        return None
    return decode_run(f"data/{files[paper].name}", files[paper].read_bytes())
