"""A result is taken from the recorded run only where nothing has changed and what shows it is accepted."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.harness.certificates import certify_claims, write, write_evidence
from dpverify.harness.recorded_proof import (
    CERTIFICATES,
    EVIDENCE,
    RecordedRun,
    StoredCertificates,
)
from dpverify.harness.run.runner import verify
from dpverify.harness.run.suite import Suite
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.records import encode
from dpverify.ledger.results import Run, decode
from dpverify.ledger.statements import Statement
from dpverify.symbolic.automatic import proofs
from dpverify.symbolic.certify.checker import k, rules
from dpverify.symbolic.derive.steps import Derivation

CLAIMS = ("wang2019:theorem-4-1-total", "wang2019:theorem-4-1-amplified-0")
REFUTED = "wang2019:theorem-4-4-smooth"
SPECS = load_specs()


def judged(report: Path) -> Run:
    """The first claim as it is judged with a recorded run."""
    return verify(SPECS, [SPECS.claim(CLAIMS[0])], "smoke", proofs=RecordedRun(report))


def derivation(run: Run) -> CheckResult:
    """What the derivation of the first claim found."""
    (found,) = [
        check for check in run.results[0].all_checks if check.method == "derivation"
    ]
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with two claims and their certificates."""
    claims, folder = (
        [SPECS.claim(name) for name in (*CLAIMS, REFUTED)],
        tmp_path_factory.mktemp("report"),
    )
    (folder / "data").mkdir()
    (folder / CERTIFICATES).mkdir()
    (folder / "data" / "wang2019.json").write_bytes(
        encode(verify(SPECS, claims, "smoke"))
    )
    for certified in certify_claims(SPECS, claims[:2]):
        assert write(certified, folder / CERTIFICATES)
    return folder


@pytest.fixture
def report(made: Path, tmp_path: Path) -> Path:
    """A copy, which a test may damage."""
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


def test_an_unchanged_derivation_is_checked_by_its_certificate(report: Path) -> None:
    """What is found is the same, but for the time it takes."""
    taken, derived = judged(report), verify(SPECS, [SPECS.claim(CLAIMS[0])], "smoke")
    assert derivation(taken).by_certificate
    assert not derivation(derived).by_certificate
    assert msgspec.structs.replace(
        derivation(taken), by_certificate=False, seconds=0.0
    ) == msgspec.structs.replace(derivation(derived), seconds=0.0)
    assert taken.results[0].status == derived.results[0].status == "proved"


def test_a_changed_certificate_is_derived_again(report: Path) -> None:
    """One that is not accepted, that is of another record, or that cannot be read counts nothing."""
    mine, other = (
        next((report / CERTIFICATES).glob(f"*{name.partition(':')[2]}-*"))
        for name in CLAIMS
    )
    right = mine.read_text()
    data = json.loads(right)
    data["statement"]["relation"] = ">" if data["statement"]["relation"] != ">" else "<"
    for wrong in (json.dumps(data), other.read_text(), "{}", "no JSON"):
        mine.write_text(wrong)
        assert not derivation(judged(report)).by_certificate
        assert derivation(judged(report)).status == "proved"
    mine.write_text(right)
    assert derivation(judged(report)).by_certificate


def test_a_check_takes_only_a_certificate_of_today_that_is_accepted_and_of_its_statement(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it writes another one: where the file is edited or of another claim, and where any code has changed."""
    folder, claim = report / CERTIFICATES, SPECS.claim(CLAIMS[0])
    write_evidence(list(certify_claims(SPECS, [claim])), folder)
    mine, other = (next(folder.glob(f"*{name.partition(':')[2]}-*")) for name in CLAIMS)
    right, evidence = mine.read_text(), (folder / EVIDENCE).read_text()
    edited = json.loads(right)
    edited["statement"]["relation"] = (
        ">" if edited["statement"]["relation"] != ">" else "<"
    )
    named = json.loads(other.read_text())
    named["statement"] |= {
        key: json.loads(right)["statement"][key]
        for key in ("name", "claim", "variant", "reading")
    }
    written = []
    certified = proofs.certified

    def counted(statement: Statement, derivation: Derivation) -> Any:
        written.append(statement)
        return certified(statement, derivation)

    monkeypatch.setattr(proofs, "certified", counted)

    def writes(text: str, digests: str = evidence) -> bool:
        mine.write_text(text)
        (folder / EVIDENCE).write_text(digests)
        written.clear()
        suite = Suite(SPECS, "smoke", 0, certificates=StoredCertificates.read(folder))
        (job,) = [
            job
            for job in suite.cases(claim)[0].jobs
            if job.find().method == "derivation"
        ]
        assert job.run(0).status == "proved"
        return bool(written)

    assert not writes(right)
    assert all(
        writes(wrong)
        for wrong in (
            sealed(edited),
            json.dumps(edited),
            sealed(named),
            other.read_text(),
            "{}",
        )
    )
    assert writes(right, evidence.replace(mine.name, other.name))
    assert writes(right, f"{'0' * 16}{evidence[16:]}")


def test_other_evidence_is_derived_again(report: Path) -> None:
    """Where a record or any code has changed, the recorded run says nothing; nor does one that cannot be read."""
    file = report / "data" / "wang2019.json"
    run = decode(file.read_bytes())
    moved = [
        msgspec.structs.replace(result, evidence_hash="0" * 16)
        for result in run.results
    ]
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
        results = [
            msgspec.structs.replace(run.results[0], checks=checks),
            *run.results[1:],
        ]
        file.write_bytes(encode(msgspec.structs.replace(run, results=results)))
        assert not derivation(judged(report)).by_certificate
    file.write_bytes(encode(run))
    assert derivation(judged(report)).by_certificate


def sealed(data: Any) -> str:
    """The certificate as text, with seals that fit what it says."""
    for proof in (*data["lemmas"], data["statement"]):
        for part in (proof, *proof["premises"].values()):
            part["seal"] = k.seal(part, data["table"])
    return json.dumps(data)


def test_a_certificate_of_another_statement_counts_nothing_whatever_it_bears(
    report: Path,
) -> None:
    """Of another claim under this one's name, and of identical sides."""
    mine, other = (
        next((report / CERTIFICATES).glob(f"*{name.partition(':')[2]}-*"))
        for name in CLAIMS
    )
    right = json.loads(mine.read_text())["statement"]
    named = json.loads(other.read_text())
    named["statement"] |= {
        name: right[name] for name in ("name", "claim", "variant", "reading")
    }
    trivial = {
        "table": [],
        "lemmas": [],
        "schema": 3,
        "statement": copy.deepcopy(right),
    }
    trivial["statement"] |= {
        "letters": {"x": "real"},
        "conditions": [],
        "lhs": "x",
        "relation": "<=",
        "rhs": "x",
    }
    trivial["statement"] |= {"body": [], "premises": {}, "definitions": []}
    for wrong in (named, trivial):
        mine.write_text(sealed(wrong))
        k.run(json.loads(mine.read_text()), rules())
        assert not derivation(judged(report)).by_certificate


def test_the_word_and_the_premises_are_those_of_the_certificate(report: Path) -> None:
    """Whatever the recorded run says: here the words of what is given, and of what is proved."""
    file = report / "data" / "wang2019.json"
    run = decode(file.read_bytes())
    found = derivation(run)
    worse = msgspec.structs.replace(
        found, status="proved given", given=["an axiom"], definitions=["another"]
    )
    checks = [
        worse if check.name == found.name else check for check in run.results[0].checks
    ]
    results = [msgspec.structs.replace(run.results[0], checks=checks), *run.results[1:]]
    file.write_bytes(encode(msgspec.structs.replace(run, results=results)))
    assert derivation(judged(report)).by_certificate
    assert (derivation(judged(report)).status, derivation(judged(report)).given) == (
        "proved",
        [],
    )


def test_a_file_that_is_nested_too_deeply_counts_nothing(report: Path) -> None:
    mine = next((report / CERTIFICATES).glob(f"*{CLAIMS[0].partition(':')[2]}-*"))
    mine.write_text("[" * 100_000)
    assert not derivation(judged(report)).by_certificate


def judged_again(name: str, report: Path) -> list[CheckResult]:
    """What the checks of a claim find with a recorded run, those of what is printed first."""
    (result,) = verify(
        SPECS, [SPECS.claim(name)], "smoke", proofs=RecordedRun(report)
    ).results
    return result.all_checks


def edit(report: Path, **changes: object) -> None:
    """Change all results, or all checks' statuses, of the recorded run."""
    file = report / "data" / "wang2019.json"
    run = decode(file.read_bytes())
    status = changes.pop("status", None)
    results = [
        msgspec.structs.replace(
            one,
            checks=[
                msgspec.structs.replace(c, status=status) if status else c
                for c in one.checks
            ],
            **changes,
        )
        for one in run.results
    ]
    file.write_bytes(encode(msgspec.structs.replace(run, results=results)))


def test_a_refutation_is_taken_with_its_counterexamples_where_nothing_has_changed(
    report: Path,
) -> None:
    anew = verify(SPECS, [SPECS.claim(REFUTED)], "smoke").results[0].checks[0]
    taken = judged_again(REFUTED, report)[0]
    assert (anew.status, taken.status) == ("refuted", "refuted")
    assert (anew.by_certificate, taken.by_certificate) == (False, True)
    assert taken.counterexamples == anew.counterexamples
    edit(report, evidence_hash="0" * 16)
    assert not any(check.by_certificate for check in judged_again(REFUTED, report))


def test_a_recorded_point_that_is_no_point_is_searched_again(report: Path) -> None:
    """Whatever its numbers are: the whole check runs, and finds what it finds without a recorded run."""
    file = report / "data" / "wang2019.json"
    text = file.read_text()
    for wrong in ("1/0", "nan", "9" * 5000, "1e9999999", "1_0", "\u0663", "", None):
        data = json.loads(text)
        for result in data["results"]:
            for check in result["checks"]:
                for example in check.get("counterexamples", []):
                    example["parameters"] |= {
                        name: {"exact": wrong, "float": 0.5}
                        for name in example["parameters"]
                    }
        file.write_text(json.dumps(data))
        found = judged_again(REFUTED, report)[0]
        assert (found.status, found.by_certificate, found.error) == (
            "refuted",
            False,
            "",
        )


def test_what_the_recorded_run_did_not_refute_is_searched(report: Path) -> None:
    edit(report, status="not refuted")
    assert not any(check.by_certificate for check in judged_again(REFUTED, report))


def test_a_derivation_that_should_have_a_certificate_is_whole_whatever_is_recorded(
    report: Path,
) -> None:
    """What the recorded run says of a derivation without a certificate counts nothing."""
    name = "wang2019:lemma-3-7-binomial"
    run = verify(SPECS, [SPECS.claim(name)], "smoke")
    assert any(check.method == "derivation" for check in run.results[0].checks)
    (report / "data" / "wang2019.json").write_bytes(encode(run))
    edit(report, status="inconclusive")
    found = [
        check for check in judged_again(name, report) if check.method == "derivation"
    ]
    assert [(check.status, check.by_certificate) for check in found] == [
        ("proved", False)
    ]


def test_what_is_kept_is_not_found_again_under_another_recorded_run(
    report: Path,
) -> None:
    """The terms of a job are those of what it is given of the recorded run."""

    def terms() -> set[tuple[str, ...]]:
        suite = Suite(SPECS, "smoke", 0, proofs=RecordedRun(report))
        return {
            job.terms
            for name in (*CLAIMS, REFUTED)
            for case in suite.cases(SPECS.claim(name))
            for job in case.jobs
        }

    before = terms()
    assert terms() == before
    file = report / "data" / "wang2019.json"
    file.write_bytes(file.read_bytes().replace(b'"n": ', b'"n": 9'))
    assert len(terms() - before) >= 2
    before = terms()
    next((report / CERTIFICATES).iterdir()).write_text("{}")
    assert len(terms() - before) == 1
