"""``dpverify list``: filters, JSON and the check of specs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dpverify.cli import main
from dpverify.ledger.claims import Listing
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]


def test_list_has_one_line_per_claim_with_its_pin(toy: Path, capsys: Capture) -> None:
    assert main(["list", "--specs", str(toy)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["toy:lemma-1", "toy:lemma-2"]
    assert "refuted (constant)" in lines[1]
    assert lines[1].endswith("Lemma 2")


def test_list_of_the_bundled_specs_names_readings(capsys: Capture) -> None:
    assert main(["list", "--paper", "tran2022"]) == 0
    out = capsys.readouterr().out
    assert "tran2022:lemma-12[depth=levels]" in out
    assert "tran2022:proposition-18 " in out


def test_a_terminal_shows_a_claim_once_if_its_readings_have_one_verdict(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "120")
    assert (
        main(
            [
                "list",
                "--paper",
                "tran2022",
                "lemma-12",
                "lemma-17",
                "algorithm-1-floats",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert out.count("tran2022:lemma-12 ") == 1
    assert "all 2 readings" in out
    assert out.count("tran2022:lemma-17 ") == 2, "its readings have two verdicts"
    assert out.splitlines()[-1] == "2 claims and 1 note of ours"


def test_list_filters_by_status_and_kind(toy: Path, capsys: Capture) -> None:
    words = ["list", "--specs", str(toy)]
    for more, found in (
        (["--status", "refuted"], ["toy:lemma-2"]),
        (
            ["--status", "refuted", "--status", "not refuted"],
            ["toy:lemma-1", "toy:lemma-2"],
        ),
        (["--kind", "identity"], ["toy:lemma-1"]),
        (["--kind", "identity", "--status", "refuted"], []),
        (["lemma-2"], ["toy:lemma-2"]),
    ):
        assert main([*words, *more]) == 0
        assert [
            line.split("  ")[0] for line in capsys.readouterr().out.splitlines()
        ] == found


@for_each(("option", "word"), [("--status", "wrong"), ("--kind", "lemma")])
def test_list_refuses_a_word_that_is_no_status_or_kind(
    option: str, word: str, capsys: Capture
) -> None:
    assert main(["list", option, word]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{option} '{word}': must be one of" in err


def test_list_as_json_has_records_and_verdicts(toy: Path, capsys: Capture) -> None:
    assert (
        main(["list", "--specs", str(toy), "--status", "refuted", "--json", "-"]) == 0
    )
    (one,) = msgspec.json.decode(capsys.readouterr().out, type=Listing).claims
    assert (one.claim, one.status, one.record.printed) == (
        "toy:lemma-2",
        "refuted",
        "n**2/2",
    )
    assert one.verdict is not None
    assert [str(line) for line in one.corrected] == [
        "sum(i, i, 1, n) <= n**2",
        "where n integer, n >= 1",
    ]


def test_check_of_sound_specs(toy: Path, capsys: Capture) -> None:
    assert main(["list", "--specs", str(toy), "--check"]) == 0
    out, err = capsys.readouterr()
    assert out == "toy: 2 claims (2 judged); no error\n"
    assert err == ""


def test_check_names_every_fault(toy: Path, capsys: Capture) -> None:
    file = toy / "toy" / "claims.toml"
    file.write_text(
        file.read_text()
        .replace("n**2/2", "n**2/(")
        .replace('uses = ["lemma-1"]', 'uses = ["lemma-7"]')
    )
    assert main(["list", "--specs", str(toy), "--check"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.partition(":")[0] for line in err.splitlines()] == [
        "dpverify",
        "dpverify",
    ]
    assert "lemma-2: printed: 'n**2/('" in err
    assert "lemma-7" in err


def test_a_damaged_spec_is_one_line_for_every_command(
    toy: Path, capsys: Capture
) -> None:
    file = toy / "toy" / "claims.toml"
    file.write_text(file.read_text().replace("n**2/2", "__import__('os')"))
    for command in (["list"], ["verify"], ["explain", "lemma-2"]):
        assert main([*command, "--specs", str(toy)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        for part in ("claims.toml", "lemma-2", "printed", "__import__"):
            assert part in err
