"""The example of a paper that an author outside dpverify adds: the claims that take about a second each are judged."""

from __future__ import annotations

import dpverify as dv
from tests.unit.papers.test_guide import ROOT

SPECS = ROOT / "docs" / "examples" / "abadi2016" / "abadi2016" / "specs"
SLOW = {
    "section-3-2-asymptotic",
    "section-3-1-example-value",
    "lemma-3",
    "theorem-1",
    "theorem-1-proof-moment",
    "theorem-2-composability",
    "theorem-2-tail",
    "lemma-c-1",
    "lemma-c-1-mean",
    "note-strong-composition",
}
"""These are about compositions, integrals or long sums at many points."""


def test_the_claims_are_judged_as_they_are_pinned() -> None:
    claims = [claim.key for claim in dv.load_specs(SPECS).claims()]
    quick = [claim for claim in claims if claim.partition(":")[2] not in SLOW]
    assert len(quick) == len(claims) - len(SLOW)
    results = dv.verify(*quick, specs=SPECS, budget="smoke", jobs=1)
    assert {result.claim: result.status for result in results} == {result.claim: result.pinned for result in results}
    assert {result.status for result in results} == {"proved", "refuted"}
