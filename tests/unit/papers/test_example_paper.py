"""The examples of papers that authors outside dpverify add: claims that take about a second each are judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import dpverify as dv
from dpverify.ledger import check_specs
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
QUICK = {
    "footnote-4-condition": "refuted",
    "note-wang2019-later": "proved",
    "section-1-3-tran-complexity": "refuted",
    "theorem-3-1-sensitivity": "proved",
    "theorem-3-2-gradients": "refuted",
    "theorem-b-3-count": "refuted",
}
"""Claims of arora2023, some of which rest on claims of the papers that come with dpverify."""


def test_the_claims_are_judged_as_they_are_pinned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    claims = [claim.key for claim in dv.load_specs(SPECS).claims()]
    quick = [claim for claim in claims if claim.partition(":")[2] not in SLOW]
    assert len(quick) == len(claims) - len(SLOW)
    results = dv.verify(*quick, specs=SPECS, budget="smoke", jobs=1)
    assert {result.claim: result.status for result in results} == {result.claim: result.pinned for result in results}
    assert {result.status for result in results} == {"proved", "refuted"}
    monkeypatch.chdir(ROOT / "docs" / "examples" / "arora2023")
    results = dv.verify(*(f"arora2023:{name}" for name in QUICK), budget="smoke", jobs=1)
    assert {result.claim: result.status for result in results} == {f"arora2023:{k}": v for k, v in QUICK.items()}
    assert all(result.status == result.pinned for result in results)
    folder = shutil.copytree(Path.cwd(), tmp_path / "arora2023")
    monkeypatch.chdir(folder)
    assert check_specs() == []
    file = folder / "arora2023" / "specs" / "arora2023" / "claims.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("tran2022:theorem-9-rate", "tran2022:theorem-9-rates"), encoding="utf-8")
    (finding,) = check_specs()
    assert "section-1-3-tran-rate: quotes[0].claim: 'tran2022:theorem-9-rates'" in str(finding)
