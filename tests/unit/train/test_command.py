"""``run_train``: exit codes, the one line of bad input, files, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.train import run_train
from dpverify.train.command import read_peers
from tests.for_each import for_each


def decode(data: bytes | str) -> Any:
    found = msgspec.json.decode(data)
    assert found["schema"] == 2
    return found


def test_a_run_prints_writes_and_returns_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, figure = tmp_path / "run.json", tmp_path / "run.svg"
    assert run_train(steps=50, json=str(file), figure=figure) == 0
    out, err = capsys.readouterr()
    assert "dp-nsgd on breast_cancer" in out
    assert "privacy: not certified" in out
    assert f"wrote {file}" in out
    assert f"wrote {figure}" in out
    assert err == ""
    assert decode(file.read_bytes())["path"][-1]["step"] == 50
    first = figure.read_bytes()
    assert b"<svg" in first
    assert run_train(steps=50, figure=figure) == 0
    assert figure.read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", "run.svg"]


def test_json_to_stdout_moves_the_text_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_train(steps=5, json="-") == 0
    out, err = capsys.readouterr()
    result = decode(out)
    assert result["settings"]["steps"] == 5
    assert "gamma" not in result["settings"]
    assert result["privacy"].startswith("not certified")
    assert "privacy: not certified" in err


BAD: list[tuple[dict[str, Any], str]] = [
    ({"algorithm": "adam"}, "algorithm must be one of dp-nsgd"),
    ({"epsilon": 1.0}, "delta must be given with epsilon"),
    ({"delta": 0.0}, "delta must be"),
    ({"sigma": -1.0}, "sigma must be finite and at least 0"),
    ({"steps": 1, "epochs": 1}, "must be given, not both"),
    ({"n": 600}, "n must lie in [1, 569]"),
    ({"data": Path("no\nwhere")}, "no such file"),
    ({"data": Path()}, "is a directory"),
    ({"json": "."}, "json must be a file, not a folder"),
    ({"json": "nowhere/run.json"}, "json must be in a folder that can be written to"),
    ({"json": ""}, "json must be a file"),
    ({"figure": Path("run.png")}, "figure must be a file named *.svg"),
    (
        {"figure": Path("nowhere/run.svg")},
        "figure must be in a folder that can be written to",
    ),
]


@for_each(("change", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_two(
    change: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_train(**change) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dpverify: ")
    assert err.count("\n") == 1
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_a_file_to_write_to() -> None:
    assert run_train(steps=1, json=os.devnull) == 0


@pytest.mark.slow
def test_ctrl_c_stops_a_long_run_and_writes_what_was_done(tmp_path: Path) -> None:
    file, figure = tmp_path / "run.json", tmp_path / "run.svg"
    code = (
        "import sys; from pathlib import Path; from dpverify.train import run_train;"
        "run_train(steps=2);"  # imports and compilation
        "print('ready', flush=True);"
        f"sys.exit(run_train(steps=10**10, json={str(file)!r}, figure=Path({str(figure)!r})))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert b"ready\n" in iter(process.stdout.readline, b"")
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    result = decode(file.read_bytes())
    assert result["interrupted"]
    assert result["path"][-1]["step"] < 10**10
    assert figure.read_bytes().startswith(b"<?xml")
    assert b"stopped after" in out


@for_each(
    ("peers", "word"),
    [
        ("", "must be host:port"),
        ("a:1,,b:2", "must be host:port"),
        ("a:\u00b2,b:2,c:3", "must be host:port"),
        ("a:" + "9" * 5000, "must be host:port"),
        ("a:65536", "must be host:port"),
        ("a\0b:1,c:2", "must be host:port"),
        ("a" * 256 + ":1", "must be host:port"),
        ("a:1, b:2,a:01", "must be another address for each party"),
    ],
)
def test_addresses_that_are_of_no_use_are_refused(peers: str, word: str) -> None:
    assert read_peers("a:1, [::1]:2") == [("a", 1), ("[::1]", 2)]
    with pytest.raises(ArgumentError, match=word):
        read_peers(peers)
