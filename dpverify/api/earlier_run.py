"""A run that was asked for before, by the checks that come with dpverify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpverify.harness.finished.whole_run import WholeRun
from dpverify.harness.recorded_proof import CERTIFICATES
from dpverify.harness.run.discovery import judging_files
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import bundled
from dpverify.ledger.outside import outside_papers
from dpverify.ledger.specs import Specs


def whole_run(specs: Specs, claims: Sequence[ClaimSpec], budget: str, seed: int) -> WholeRun | None:
    """Say what the run of some claims follows from; None where papers that do not come with dpverify may have a part.

    What the recorded run has of these papers counts at each budget, although it is used at the budget smoke only.
    """
    from dpverify import papers

    if outside_papers(Path.cwd()):
        return None
    keys = sorted({claim.paper for claim in claims})
    modules: list[str] = []
    texts = [str(sorted(papers.index().search_seconds.items()))]
    for key in keys:
        names = {claim.record.id for claim in claims if claim.paper == key}
        judging, listed = judging_files(f"{papers.__name__}.{key}", key, papers.index().files, names)
        modules += judging
        texts += [key, *listed]
    files = [specs.directory]
    try:
        report = bundled("reports")
    except SpecError:  # a copy of the package without its reports
        report = None
    if report is not None:
        files += [report / CERTIFICATES, *(report / "data" / f"{key}.json" for key in keys)]
    return WholeRun(
        claims=tuple(claim.key for claim in claims),
        budget=budget,
        seed=seed,
        modules=tuple(modules),
        texts=tuple(texts),
        files=tuple(files),
    )
