"""The template paper is judged as any other, and is not among the bundled ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpverify as dv
from dpverify.cli import main
from dpverify.ledger import load_specs

TEMPLATE = Path(__file__).parents[3] / "dpverify" / "papers" / "_template"
SPECS = TEMPLATE / "specs"
LONGEST = 250
"""Lines that a newcomer is asked to read, Python and TOML together."""


def test_each_claim_gets_its_verdict() -> None:
    results = {
        result.claim: result
        for result in dv.verify(specs=SPECS, budget="smoke", jobs=1)
    }
    statuses = {claim: result.status for claim, result in results.items()}
    assert statuses == {
        "_template:theorem-1": "refuted",
        "_template:algorithm-1": "not refuted",
        "_template:lemma-1": "proved",
    }
    assert not any(
        result.contradicts or result.sources_disagree for result in results.values()
    )
    amendment = results["_template:theorem-1"].amendment
    assert amendment is not None
    assert amendment.status == "not refuted"
    (noise_law,) = results["_template:algorithm-1"].checks
    assert {control.name for control in noise_law.controls if control.refuted} >= {
        "control node missing"
    }


def test_its_proof_as_text_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "_template:lemma-1", "--specs", str(SPECS)]) == 0
    assert (
        "proved, given nothing: the stand-alone checker accepts the certificate"
        in capsys.readouterr().out
    )


def test_it_is_small() -> None:
    files = [path for path in TEMPLATE.rglob("*") if path.suffix in {".py", ".toml"}]
    assert (
        sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
        <= LONGEST
    )


def test_it_is_not_bundled() -> None:
    assert "_template" not in load_specs().papers
