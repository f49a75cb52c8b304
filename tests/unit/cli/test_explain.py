"""``dpverify explain``: record, verdict, checks, and the evidence of a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.cli import main

Capture = pytest.CaptureFixture[str]


def test_explain_shows_the_record_the_verdict_and_the_checks(
    toy: Path, capsys: Capture
) -> None:
    assert main(["explain", "lemma-2", "--specs", str(toy)]) == 0
    out = capsys.readouterr().out
    for part in (
        "toy:lemma-2",
        "The sum is at most",
        "Σ[i = 1 .. n] i ≤ n²/2",
        "refuted",
        "Instead ",
        "Checks    count",
    ):
        assert part in out
    assert main(["explain", "lemma-2", "--specs", str(toy), "--full"]) == 0
    out = capsys.readouterr().out
    assert "number of terms" in out
    assert out.rstrip().endswith("Checks\n  count")


def test_explain_says_from_which_budget_on_a_check_runs(capsys: Capture) -> None:
    assert main(["explain", "tran2022:theorem-9-rate"]) == 0
    assert "slopes (runs from the standard budget on)" in " ".join(
        capsys.readouterr().out.split()
    )


def test_explain_shows_the_evidence_of_a_report(
    toy: Path, tmp_path: Path, capsys: Capture
) -> None:
    folder = str(tmp_path / "out")
    assert main(["verify", "--specs", str(toy), "--jobs", "1", "--report", folder]) == 0
    capsys.readouterr()
    assert (
        main(["explain", "lemma-2", "--specs", str(toy), "--report", folder, "--full"])
        == 0
    )
    assert "Evidence of a stored run" in capsys.readouterr().out
    claims = toy / "toy" / "claims.toml"
    claims.write_text(claims.read_text().replace("n**2/2", "n**2/3"))
    assert (
        main(["explain", "lemma-2", "--specs", str(toy), "--report", folder, "--full"])
        == 0
    )
    out = " ".join(capsys.readouterr().out.split())
    assert (
        out.index("STALE")
        < out.index("toy:lemma-2: the claim's record")
        < out.index("Evidence of a stored run")
    )


def test_explain_shows_the_evidence_that_comes_with_dpverify(
    tmp_path: Path, capsys: Capture
) -> None:
    target = tmp_path / "lemma-12.svg"
    assert main(["explain", "tran2022:lemma-12", "--figure", str(target)]) == 0
    out = capsys.readouterr().out
    assert "Evidence  recorded run" in out
    assert f"wrote {target}: Variance of the noise" in out
    assert target.read_bytes().startswith(b"<?xml")


def test_explain_says_where_there_is_no_evidence_and_no_figure(
    toy: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = ["explain", "lemma-2", "--specs", str(toy)]
    assert main([*words, "--figure", str(tmp_path / "lemma-2.svg")]) == 2
    out, err = capsys.readouterr()
    assert "No run is recorded" in out
    assert "the recorded run has no figure of this claim" in err


def test_explain_refuses_a_figure_that_is_no_svg(
    tmp_path: Path, capsys: Capture
) -> None:
    assert (
        main(
            ["explain", "tran2022:lemma-12", "--figure", str(tmp_path / "lemma-12.png")]
        )
        == 2
    )
    assert "must be a file named *.svg" in capsys.readouterr().err


def test_explain_takes_one_claim(toy: Path, capsys: Capture) -> None:
    assert main(["explain", "lemma-*", "--specs", str(toy)]) == 2
    assert "names 2 claims" in capsys.readouterr().err


def test_explain_shows_what_verify_stored(
    toy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("DPVERIFY_STORE", str(tmp_path / "store.sqlite"))
    words = ["--specs", str(toy)]
    assert main(["explain", "lemma-2", *words]) == 0
    assert "No run is recorded or stored" in capsys.readouterr().out
    assert not (tmp_path / "store.sqlite").exists()
    assert main(["verify", "lemma-2", *words, "--jobs", "1", "--seed", "7"]) == 0
    capsys.readouterr()
    assert main(["explain", "lemma-2", *words]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "last run of verify (budget smoke, seed 7): 1 check of the statement as printed (1 refuted)"
        in out
    )
    claims = toy / "toy" / "claims.toml"
    claims.write_text(claims.read_text().replace("n**2/2", "n**2/3"))
    assert main(["explain", "lemma-2", *words]) == 0
    assert "No run is recorded or stored" in capsys.readouterr().out, (
        "it was judged before a change of the record"
    )


def test_readings_with_one_outcome_at_a_point_are_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    point = "N=1000, T=100000, alpha=1/1000000, depth=17, sigma=1, z=2"
    assert main(["explain", "tran2022:theorem-4", "--at", point]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == [
        "false",
        "no answer",
        "false",
    ]
    assert (
        "as printed (depth = levels, ordering = fresh and depth = height, ordering = fresh)"
        in lines[0]
    )
    assert "corrected: no answer: outside the domain" in lines[1]
