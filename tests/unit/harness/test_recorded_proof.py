"""A result is taken from the recorded run only where nothing has changed and what shows it is accepted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from dpverify.harness.certificates import certify_claims, write
from dpverify.harness.recorded_proof import CERTIFICATES, RecordedProofs, digest_of
from dpverify.harness.run.runner import verify
from dpverify.ledger import load_specs
from dpverify.ledger.records import encode
from dpverify.ledger.results import CheckResult, Run, decode
from dpverify.ledger.statements import Variant

CLAIMS = ("wang2019:theorem-4-1-total", "wang2019:theorem-4-1-amplified-0")
REFUTED = "wang2019:theorem-4-4-smooth"
SPECS = load_specs()


def judged(report: Path) -> Run:
    """The first claim as it is judged with a recorded run."""
    return verify(SPECS, [SPECS.claim(CLAIMS[0])], "smoke", proofs=RecordedProofs(report))


def derivation(run: Run) -> CheckResult:
    """What the derivation of the first claim found."""
    (found,) = [check for check in run.results[0].all_checks if check.method == "derivation"]
    return found


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report with two claims and their certificates."""
    claims = [SPECS.claim(name) for name in (*CLAIMS, REFUTED)]
    (tmp_path / "data").mkdir()
    (tmp_path / CERTIFICATES).mkdir()
    (tmp_path / "data" / "wang2019.json").write_bytes(encode(verify(SPECS, claims, "smoke")))
    for certified in certify_claims(SPECS, claims[:2]):
        assert write(certified, tmp_path / CERTIFICATES)
    return tmp_path


def test_an_unchanged_derivation_is_checked_by_its_certificate(report: Path) -> None:
    """What is found is the same, but for the time it takes."""
    taken, derived = judged(report), verify(SPECS, [SPECS.claim(CLAIMS[0])], "smoke")
    assert derivation(taken).by_certificate
    assert not derivation(derived).by_certificate
    assert msgspec.structs.replace(derivation(taken), by_certificate=False, seconds=0.0) == msgspec.structs.replace(
        derivation(derived), seconds=0.0
    )
    assert taken.results[0].status == derived.results[0].status == "proved"


def test_a_changed_certificate_is_derived_again(report: Path) -> None:
    """One that is not accepted, that is of another record, or that cannot be read counts nothing."""
    mine, other = (next((report / CERTIFICATES).glob(f"*{name.partition(':')[2]}-*")) for name in CLAIMS)
    right = mine.read_text()
    data = json.loads(right)
    data["statement"]["relation"] = ">" if data["statement"]["relation"] != ">" else "<"
    for wrong in (json.dumps(data), other.read_text(), "{}", "no JSON"):
        mine.write_text(wrong)
        assert not derivation(judged(report)).by_certificate
        assert derivation(judged(report)).status == "proved"
    mine.write_text(right)
    assert derivation(judged(report)).by_certificate


def test_other_evidence_is_derived_again(report: Path) -> None:
    """Where a record or any code has changed, the recorded run says nothing; nor does one that cannot be read."""
    file = report / "data" / "wang2019.json"
    run = decode(file.read_bytes())
    moved = [msgspec.structs.replace(result, evidence_hash="0" * 16) for result in run.results]
    for content in (encode(msgspec.structs.replace(run, results=moved)), b"no JSON"):
        file.write_bytes(content)
        assert not derivation(judged(report)).by_certificate
    file.unlink()
    assert not derivation(judged(report)).by_certificate


def test_a_certificate_of_another_check_counts_nothing(report: Path) -> None:
    """What is taken is what the check of the same name found, and only where it found the claim proved."""
    file = report / "data" / "wang2019.json"
    run = decode(file.read_bytes())
    name = derivation(run).name
    for changed in ({"name": f"{name} of another"}, {"status": "inconclusive"}):
        checks = [
            msgspec.structs.replace(check, **changed) if check.name == name else check
            for check in run.results[0].checks
        ]
        results = [msgspec.structs.replace(run.results[0], checks=checks), *run.results[1:]]
        file.write_bytes(encode(msgspec.structs.replace(run, results=results)))
        assert not derivation(judged(report)).by_certificate
    file.write_bytes(encode(run))
    assert derivation(judged(report)).by_certificate


def test_the_digest_of_a_certificate_is_that_of_all_which_its_statement_says() -> None:
    claim = SPECS.claim("tran2022:lemma-7-var-5-plugged")
    (verdict,) = claim.verdicts
    assert verdict.amendment is not None
    assert verdict.holds is not None
    narrower = msgspec.structs.replace(verdict.holds, requires=[*verdict.holds.requires, "T >= 2"])
    weaker = msgspec.structs.replace(verdict.amendment, assumes=["full-batch"])
    edited = replace(claim, verdicts=(msgspec.structs.replace(verdict, holds=narrower, amendment=weaker),))
    changed = {v: digest_of(claim, {}, v) != digest_of(edited, {}, v) for v in get_args(Variant)}
    assert changed == {"printed": False, "amended": True, "held": True}


def test_a_refutation_is_taken_with_its_counterexamples_and_a_changed_one_is_searched_anew(report: Path) -> None:
    """A statement that a certificate proves is not searched either; other evidence is of no use to both."""

    def searched(name: str, proofs: RecordedProofs | None) -> list[CheckResult]:
        (result,) = verify(SPECS, [SPECS.claim(name)], "smoke", proofs=proofs).results
        return [check for check in result.all_checks if check.method == "search"]

    (anew, *_), (taken, *_) = searched(REFUTED, None), searched(REFUTED, RecordedProofs(report))
    assert (anew.status, taken.status) == ("refuted", "refuted")
    assert (anew.by_certificate, taken.by_certificate) == (False, True)
    assert taken.counterexamples == anew.counterexamples
    assert all(check.by_certificate for check in searched(CLAIMS[0], RecordedProofs(report)))
    file = report / "data" / "wang2019.json"
    run = decode(file.read_bytes())
    moved = [msgspec.structs.replace(result, evidence_hash="0" * 16) for result in run.results]
    file.write_bytes(encode(msgspec.structs.replace(run, results=moved)))
    assert not any(
        check.by_certificate for name in (REFUTED, CLAIMS[0]) for check in searched(name, RecordedProofs(report))
    )
