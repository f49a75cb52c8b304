from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dpverify.cli import main
from dpverify.ledger.listing import Listing

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


def test_list_filters_by_status_and_kind(toy: Path, capsys: Capture) -> None:
    words = ["list", "--specs", str(toy)]
    for more, found in (
        (["--status", "refuted"], ["toy:lemma-2"]),
        (["--status", "refuted", "--status", "not refuted"], ["toy:lemma-1", "toy:lemma-2"]),
        (["--kind", "identity"], ["toy:lemma-1"]),
        (["--kind", "identity", "--status", "refuted"], []),
        (["lemma-2"], ["toy:lemma-2"]),
    ):
        assert main([*words, *more]) == 0
        assert [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()] == found


@pytest.mark.parametrize(("option", "word"), [("--status", "wrong"), ("--kind", "lemma")])
def test_list_refuses_a_word_that_is_no_status_or_kind(option: str, word: str, capsys: Capture) -> None:
    assert main(["list", option, word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{option} '{word}': must be one of" in err


def test_list_as_json_has_records_and_verdicts(toy: Path, capsys: Capture) -> None:
    assert main(["list", "--specs", str(toy), "--status", "refuted", "--json", "-"]) == 0
    (one,) = msgspec.json.decode(capsys.readouterr().out, type=Listing).claims
    assert (one.claim, one.status, one.record.printed) == ("toy:lemma-2", "refuted", "n**2/2")
    assert one.verdict is not None
    assert [str(line) for line in one.corrected] == ["sum(i, i, 1, n) <= n**2", "where n integer, n >= 1"]


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
    out = " ".join(capsys.readouterr().out.split())
    assert out.index("STALE") < out.index("toy:lemma-2: the claim's record") < out.index("Evidence of a stored run")


def test_explain_shows_the_evidence_that_comes_with_dpverify(tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "lemma-12.svg"
    assert main(["explain", "tran2022:lemma-12", "--figure", str(target)]) == 0
    out = capsys.readouterr().out
    assert "Evidence of a stored run" in out
    assert f"wrote {target}: Variance of the noise" in out
    assert target.read_bytes().startswith(b"<?xml")


def test_explain_says_where_there_is_no_evidence_and_no_figure(toy: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ["explain", "lemma-2", "--specs", str(toy)]
    assert main([*words, "--figure", str(tmp_path / "lemma-2.svg")]) == 2
    out, err = capsys.readouterr()
    assert "No run is stored" in out
    assert "the recorded run has no figure of this claim" in err


def test_explain_refuses_a_figure_that_is_no_svg(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explain", "tran2022:lemma-12", "--figure", str(tmp_path / "lemma-12.png")]) == 2
    assert "must be a file named *.svg" in capsys.readouterr().err


def test_explain_takes_one_claim(toy: Path, capsys: Capture) -> None:
    assert main(["explain", "lemma-*", "--specs", str(toy)]) == 2
    assert "names 2 claims" in capsys.readouterr().err
