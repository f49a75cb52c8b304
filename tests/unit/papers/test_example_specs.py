"""The example claims of other papers are judged from their records alone, as a reader would."""

from __future__ import annotations

from pathlib import Path

import dpverify as dv
from tests.unit.papers.test_guide import ROOT

EXAMPLES = ROOT / "docs" / "examples" / "specs"
STATUSES = {
    "classical2014:theorem-a-1": "not refuted",
    "classical2014:beyond-1": "refuted",
    "tree2010:variance": "proved",
    "zcdp2016:proposition-1-3": "not refuted",
}
"""Of the examples that are short. `test_field` and the tests of automatic proofs judge the two collections."""
COLLECTIONS = {"field", "lemmas2026"}
MOST_LINES = 40


def test_examples_are_judged_as_they_are_pinned() -> None:
    results = dv.verify(*STATUSES, specs=EXAMPLES, budget="smoke", jobs=1)
    assert {result.claim: result.status for result in results} == STATUSES
    assert all(result.status == result.pinned for result in results)


def test_an_example_is_short() -> None:
    papers = {name.partition(":")[0] for name in STATUSES}
    assert {path.name for path in EXAMPLES.iterdir()} == papers | COLLECTIONS
    for paper in papers:
        lines = (
            (EXAMPLES / paper / "claims.toml").read_text(encoding="utf-8").splitlines()
        )
        assert len(lines) <= MOST_LINES, paper


def test_an_amendment_may_change_conditions_alone(tmp_path: Path) -> None:
    folder = tmp_path / "classical2014"
    folder.mkdir()
    records = (EXAMPLES / "tree2010" / "claims.toml").read_text(encoding="utf-8")
    records = records.replace("tree2010", "classical2014").replace(
        "(log2(t) + 1)", "log2(t)"
    )
    (folder / "claims.toml").write_text(records)
    (folder / "verdicts.toml").write_text(
        '[[verdict]]\nclaim = "variance"\nstatus = "refuted"\nseverity = "boundary"\nreason = "At t = 3."\n'
        '[verdict.amendment]\nformula = "sigma**2*log2(t)"\nrequires = ["t >= 4", "t <= 6"]\n'
        'status = "not refuted"\nwhy = "There."\n'
    )
    (result,) = dv.verify(specs=tmp_path, budget="smoke", jobs=1)
    assert result.status == "refuted"
    assert result.amendment is not None
    assert (result.amendment.status, result.amendment.holds_for) == (
        "not refuted",
        ["t >= 4", "t <= 6"],
    )
