"""What a program calls: judge claims, get records back."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from dpverify import harness
from dpverify.harness.engine import Report
from dpverify.ledger import Specs, load_specs
from dpverify.ledger.results import Result, Run

Budget: TypeAlias = Literal["smoke", "standard", "full"]


def verify(
    *claims: str,
    paper: str | None = None,
    specs: Path | str | Specs | None = None,
    budget: Budget = "smoke",
    seed: int = 0,
    jobs: int = 1,
) -> list[Result]:
    """Judge claims and return one result per claim and choice of its readings.

    Parameters
    ----------
    *claims : str
        Full ids (``tran2022:lemma-12``), ids without the paper where only one paper has them, or globs; none at all for
        every claim.
    paper : str, optional
        Only claims of this paper.
    specs : pathlib.Path, str or Specs, optional
        Folder of specs, or specs already loaded; the bundled ones by default.
    budget : {"smoke", "standard", "full"}
        How hard to look.
    seed : int
        At least 0; the same seed gives the same results.
    jobs : int
        Worker processes, which results do not depend on. More than 1 asks for the ``if __name__ == "__main__":`` guard
        of :mod:`multiprocessing` in the calling script.

    Returns
    -------
    list of Result
        In the order of the papers and their claims.

    Raises
    ------
    SpecError
        When a specs file breaks a rule; ``UnknownClaim`` when a claim or paper is not there.
    ValueError
        When ``budget``, ``seed`` or ``jobs`` is outside its range.
    KeyboardInterrupt
        On Ctrl-C; :func:`verify_run` keeps what was decided so far.

    Examples
    --------
    >>> import dpverify as dv
    >>> [result.status for result in dv.verify("tran2022:proposition-18")]  # doctest: +SKIP
    """
    run = verify_run(*claims, paper=paper, specs=specs, budget=budget, seed=seed, jobs=jobs)
    if run.run.interrupted:
        raise KeyboardInterrupt
    return run.results


def verify_run(
    *claims: str,
    paper: str | None = None,
    specs: Path | str | Specs | None = None,
    budget: Budget = "smoke",
    seed: int = 0,
    jobs: int = 1,
    progress: Report | None = None,
) -> Run:
    """Judge claims and return the whole run: the results with the manifest that a report needs.

    Parameters
    ----------
    *claims, paper, specs, budget, seed, jobs
        As for :func:`verify`.
    progress : callable, optional
        Called after each block of work with a :class:`~dpverify.harness.Progress`.

    Returns
    -------
    Run
        After Ctrl-C, with ``run.interrupted`` and what was decided so far.

    Raises
    ------
    SpecError
        When a specs file breaks a rule; ``UnknownClaim`` when a claim or paper is not there.
    ValueError
        When ``budget``, ``seed`` or ``jobs`` is outside its range.
    """
    loaded = specs if isinstance(specs, Specs) else load_specs(specs)
    return harness.verify(loaded, loaded.select(claims, paper), budget, seed, jobs, progress)
