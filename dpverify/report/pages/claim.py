"""The section of one claim: the paper's words, then, for each reading, the verdict and everything behind it."""

from __future__ import annotations

from collections.abc import Container, Sequence

from dpverify.ledger.results import Result
from dpverify.report.pages.templates import render


def claim_section(results: Sequence[Result], figures: str = "figures", shown: Container[str] = ()) -> str:
    """The section of a claim from its results, one per reading.

    ``figures``: their folder, seen from the page; ``shown``: the files of those that the page has shown already.
    """
    shared = len({(result.printed, result.latex) for result in results}) == 1
    return render("claim", results=results, shared=shared, figures=figures, shown=shown)
