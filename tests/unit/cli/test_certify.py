"""``dpverify certify``: files, a summary, what must not be missing, and one line for bad input."""

import json
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from dpverify.cli.app import main
from dpverify.harness.certificates import Certified, faults
from dpverify.harness.recorded_proof import EVIDENCE
from tests.for_each import for_each

COUNT = "tran2022-lemma-12-count-amended.json"


def test_it_writes_a_file_per_verdict_and_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["certify", "tran2022:lemma-12-count", "--out", str(out)]) == 0
    file = out / COUNT
    assert (
        json.loads(file.read_text())["statement"]["name"] == "tran2022:lemma-12-count"
    )
    lines = capsys.readouterr().out.splitlines()
    assert f"tran2022:lemma-12-count (amended): {COUNT}" in lines
    assert "verdicts pinned as proved" in lines[-1]
    assert f"1 with a certificate ({len(file.read_text()) / 1000:.0f} kB)" in lines[-1]
    assert (
        main(["certify", "tran2022:lemma-12-count", "--out", str(out), "--jobs", "1"])
        == 0
    )


def example(status: str, *, quantity: str = "", text: bool = True) -> Certified:
    said = {
        "seal": "1",
        "premises": {},
        "local": {"letters": {}, "conditions": []},
        "quantity": quantity,
        "lhs": "x",
    }
    data = json.dumps({"table": [], "lemmas": [], "statement": said}) if text else None
    return Certified("p:c", {}, "printed", data, status=status)


def test_a_missing_certificate_or_another_word_is_a_fault() -> None:
    assert faults([example("proved")]) == []
    assert faults([example("proved", text=False)]) == ["p:c (printed): no certificate"]
    assert faults([replace(example("proved", text=False), has_derivation=False)]) == []
    assert "is given ['noise is x']" in faults([example("proved", quantity="noise")])[0]
    assert faults([example("proved given", quantity="noise")]) == []
    assert "is given nothing" in faults([example("proved given")])[0]


@for_each(("claims", "code"), [([], 1), (["tran2022:lemma-12-count"], 0)])
def test_a_fault_in_a_run_over_all_claims_gives_1(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    claims: list[str],
    code: int,
) -> None:
    found = [example("proved", text=False)]
    monkeypatch.setattr(
        "dpverify.harness.certificates.certify_claims", lambda *given: found
    )
    assert main(["certify", *claims, "--out", str(tmp_path)]) == code
    said = capsys.readouterr().out
    assert "p:c (printed): no certificate: there is no derivation" in said
    assert ("fault: " in said) == bool(code)


def test_a_tenth_is_written_with_what_has_changed_and_what_is_missing_and_the_rest_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "dpverify.harness.recorded_proof.bundled", lambda name: tmp_path
    )
    stored, again, other = (
        tmp_path / "certificates",
        tmp_path / "again",
        "tran2022-proposition-13-printed.json",
    )
    words = ["certify", "lemma-12-count", "proposition-13", "--jobs", "1", "--out"]
    assert main([*words, str(stored)]) == 0
    right = {file.name: file.read_text() for file in stored.iterdir()}
    assert set(right) == {COUNT, other, EVIDENCE}

    def differing(tenth: int) -> set[str]:
        assert main([*words, str(again), "--tenth", str(tenth)]) == 0
        return {
            name for name, text in right.items() if (again / name).read_text() != text
        }

    for name in (COUNT, other):
        (stored / name).write_text(right[name] + " ")
    assert differing(0) == {other}  # only the first was written anew
    assert "2 with a certificate" in (said := capsys.readouterr().out)
    assert "1 copied from earlier certificates" in said
    assert differing(1) == {COUNT}
    assert differing(9) == {COUNT, other}
    (stored / other).unlink()  # what is missing is written
    assert differing(0) == set()
    (stored / other).write_text(right[other] + " ")
    # of another version of sympy
    (stored / EVIDENCE).write_text(right[EVIDENCE].replace(version("sympy"), "1.0"))
    assert differing(9) == set()
    # other code
    monkeypatch.setattr(
        "dpverify.harness.run.suite.WRITER", "dpverify.harness.certificates"
    )
    (stored / EVIDENCE).write_text(right[EVIDENCE])
    assert differing(9) == {EVIDENCE}


def test_bad_input_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    wrong = (
        ["nonsense"],
        ["lemma-12", "--jobs", "0"],
        ["lemma-12", "--tenth", "10"],
        ["lemma-12", "--tenth", "-1"],
    )
    places = [[*words, "--out", str(tmp_path)] for words in wrong]
    for words in (*places, ["lemma-12", "--out", str(tmp_path / "file")], ["lemma-12"]):
        assert main(["certify", *words]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
