"""``run_compare`` and the words of its command: exit codes, one line of bad input, files, Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.cli import main
from dpverify.compare import CompareResult, compare, run_compare
from dpverify.compare import command as compare_command
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]
SMALL: dict[str, Any] = {
    "epsilon": 2.0,
    "delta": 1e-5,
    "n": 60,
    "epochs": 1,
    "seeds": 2,
}


def test_it_prints_writes_and_returns_zero(tmp_path: Path, capsys: Capture) -> None:
    file, figure = tmp_path / "c.json", tmp_path / "c.svg"
    assert run_compare(**SMALL, json=str(file), figure=figure) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in (
        "breast_cancer: N = 48 to train on, 12 to test on",
        "mean over 2 seeds with 95% interval",
        "dp-sgd",
    ):
        assert words in out
    uncertified = "not certified: epsilon = 2, delta = 1e-05 would hold had the columns not been standardised"
    assert uncertified in " ".join(out.split())
    assert f"wrote {figure}" in out
    first = figure.read_bytes()
    assert b"<svg" in first
    assert msgspec.json.decode(file.read_bytes(), type=CompareResult).done == 2
    assert run_compare(**SMALL, figure=figure) == 0
    assert figure.read_bytes() == first


def test_json_to_stdout_moves_the_text_to_stderr(capsys: Capture) -> None:
    words = "compare --epsilon 2 --delta 1e-5 --n 60 --epochs 1 --seeds 2 --no-standardise --no-figure --json -"
    assert main(words.split()) == 0
    out, err = capsys.readouterr()
    result = msgspec.json.decode(out, type=CompareResult)
    assert result.methods[1].epsilon == 2.0
    assert "95% interval" in err


BAD: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": -1.0}, "epsilon must be finite and above 0"),
    ({"seeds": 1}, "seeds must be an integer, at least 2"),
    ({"scale": "none"}, "scale must be one of unit, clip"),
    ({"n": 600}, "n must lie in [1, 569]"),
    ({"data": Path("no\nwhere")}, "no such file"),
    ({"json": "."}, "json must be a file, not a folder"),
    ({"figure": Path("c.png")}, "figure must be a file named *.svg"),
]


@for_each(("change", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_two(
    change: dict[str, Any], message: str, capsys: Capture
) -> None:
    assert run_compare(**{**SMALL, **change}) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dpverify: ")
    assert err.count("\n") == 1
    assert message in err


def test_the_command_line_wants_a_budget(capsys: Capture) -> None:
    assert main(["compare"]) == 2
    assert "--epsilon" in capsys.readouterr().err


@for_each(
    ("after", "said"),
    [(7, "interrupted: 1 of 2 seeds were finished"), (3, "interrupted")],
)
def test_ctrl_c_gives_what_was_done(
    after: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    def stopped(request: Any, report: Any, backend: Any) -> CompareResult:
        def stop(done: int, total: int, label: str) -> None:
            if done == after:
                raise KeyboardInterrupt
            report(done, total, label)

        return compare(request, stop, backend)

    monkeypatch.setattr(compare_command, "compare", stopped)
    file = tmp_path / "c.json"
    assert run_compare(**SMALL, json=str(file)) == 130
    out, err = capsys.readouterr()
    assert said in out + err
    assert file.exists() == (after == 7)
    if after == 7:
        assert "[no interval]" in out
        assert msgspec.json.decode(file.read_bytes(), type=CompareResult).interrupted
