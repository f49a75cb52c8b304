"""``dpverify prove``: steps with what they rest on, exit codes, and one line for bad input."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.ledger.load import bundled_specs

Capture = pytest.CaptureFixture[str]


def test_each_step_is_printed_with_its_rule_and_conditions(capsys: Capture) -> None:
    assert main(["prove", "tran2022:lemma-12-count"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "tran2022:lemma-12-count (amended)",
        "claim: compose_count_prefix <= log2(T + 1)",
        "for: t <= T",
        "     popcount(t)",
        "  <= log2(t + 1) by popcount-log2",
        "        popcount(t) <= log2(t + 1)",
        "  <= log2(T + 1) by log2-monotone",
        "        log2(t + 1) <= log2(T + 1)",
        "        needs t + 1 <= T + 1",
        "derived: log2(T + 1) (the claim says the same)",
        "proved, given compose_count_prefix is popcount(t): the stand-alone checker accepts the certificate",
    ]


def test_the_same_statement_of_two_readings_is_proved_once(capsys: Capture) -> None:
    assert main(["prove", "lemma-12-var"]) == 0
    out = capsys.readouterr().out
    assert out.count("proved, given nothing") == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "log2(T + 1)      by log2-monotone",
            "log2(T)      by log2-monotone",
            "not proven: t + 1 <= T; false at T =",
        ),
        ("by log2-monotone", "by log2-montone", "similar names: log2-monotone"),
    ],
)
def test_a_false_proof_fails(
    tmp_path: Path, capsys: Capture, old: str, new: str, said: str
) -> None:
    shutil.copytree(bundled_specs() / "tran2022", tmp_path / "tran2022")
    file = tmp_path / "tran2022" / "proofs.toml"
    file.write_text(
        file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8"
    )
    assert main(["prove", "lemma-12-count", "--specs", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "not proved: " in out
    assert said in out
    assert "accepts" not in out


def test_next_lines_are_suggested(capsys: Capture) -> None:
    assert main(["prove", "tran2022:lemma-12", "--suggest"]) == 0
    assert "possible next line: <= " in capsys.readouterr().out


@pytest.mark.parametrize(
    "claim", ["lemma-*", "lemma-99", "section-6-1-order-objective"]
)
def test_what_has_no_proof_is_bad_input(claim: str, capsys: Capture) -> None:
    assert main(["prove", claim]) == 2
    err = capsys.readouterr().err
    assert err.startswith("dpverify: ")
    assert len(err.splitlines()) == 1
