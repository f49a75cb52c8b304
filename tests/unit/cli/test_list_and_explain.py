from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.cli import main

Capture = pytest.CaptureFixture[str]


def test_list_has_one_line_per_claim_with_its_pin(toy: Path, capsys: Capture) -> None:
    assert main(["list", "--specs", str(toy)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["toy:lemma-1", "toy:lemma-2"]
    assert "refuted" in lines[1]
    assert lines[1].endswith("Lemma 2")


def test_list_of_the_bundled_specs_names_readings(capsys: Capture) -> None:
    assert main(["list", "--paper", "tran2022"]) == 0
    out = capsys.readouterr().out
    assert "tran2022:lemma-12[depth=levels]" in out
    assert "tran2022:proposition-18 " in out


def test_check_of_sound_specs(toy: Path, capsys: Capture) -> None:
    assert main(["list", "--specs", str(toy), "--check"]) == 0
    out, err = capsys.readouterr()
    assert out == "toy: 2 claims, 2 with their readings, 2 of these judged; no error\n"
    assert err == ""


def test_check_names_every_fault(toy: Path, capsys: Capture) -> None:
    file = toy / "toy" / "claims.toml"
    file.write_text(file.read_text().replace("n**2/2", "n**2/(").replace('uses = ["lemma-1"]', 'uses = ["lemma-7"]'))
    assert main(["list", "--specs", str(toy), "--check"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.partition(":")[0] for line in err.splitlines()] == ["dpverify", "dpverify"]
    assert "lemma-2: printed: 'n**2/('" in err
    assert "lemma-7" in err


def test_a_damaged_spec_is_one_line_for_every_command(toy: Path, capsys: Capture) -> None:
    file = toy / "toy" / "claims.toml"
    file.write_text(file.read_text().replace("n**2/2", "__import__('os')"))
    for command in (["list"], ["verify"], ["explain", "lemma-2"]):
        assert main([*command, "--specs", str(toy)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        for part in ("claims.toml", "lemma-2", "printed", "__import__"):
            assert part in err


def test_explain_shows_the_record_the_verdict_and_the_checks(toy: Path, capsys: Capture) -> None:
    assert main(["explain", "lemma-2", "--specs", str(toy)]) == 0
    out = capsys.readouterr().out
    for part in (
        "toy:lemma-2",
        "The sum is at most",
        "sum(i, i, 1, n) <= n**2/2",
        "number of terms",
        "refuted",
        "n**2",
    ):
        assert part in out
    assert out.rstrip().endswith("Checks\n  count")


def test_explain_says_from_which_budget_on_a_check_runs(capsys: Capture) -> None:
    assert main(["explain", "tran2022:theorem-9-rate"]) == 0
    assert "slopes (runs from the standard budget on)" in " ".join(capsys.readouterr().out.split())


def test_explain_shows_the_evidence_of_a_report(toy: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = str(tmp_path / "out")
    assert main(["verify", "--specs", str(toy), "--jobs", "1", "--report", folder]) == 0
    capsys.readouterr()
    assert main(["explain", "lemma-2", "--specs", str(toy), "--report", folder]) == 0
    assert "Evidence of a stored run" in capsys.readouterr().out
    claims = toy / "toy" / "claims.toml"
    claims.write_text(claims.read_text().replace("n**2/2", "n**2/3"))
    assert main(["explain", "lemma-2", "--specs", str(toy), "--report", folder]) == 0
    assert "No run is stored" in capsys.readouterr().out


def test_explain_takes_one_claim(toy: Path, capsys: Capture) -> None:
    assert main(["explain", "lemma-*", "--specs", str(toy)]) == 2
    assert "names 2 claims" in capsys.readouterr().err
