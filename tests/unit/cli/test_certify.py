"""``dpverify certify``: files, a summary, and one line for bad input."""

import json
from pathlib import Path

import pytest

from dpverify.cli.app import main


def test_it_writes_a_file_per_verdict_and_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    assert main(["certify", "tran2022:lemma-12-count", "tran2022:theorem-4-sufficient", "--out", str(out)]) == 0
    (file,) = out.iterdir()
    assert json.loads(file.read_text())["statement"]["name"] == "tran2022:lemma-12-count"
    lines = capsys.readouterr().out.splitlines()
    assert "tran2022:lemma-12-count amended: tran2022-lemma-12-count-amended.json" in lines
    assert any("no certificate: step" in line for line in lines)
    assert "proved verdicts, 1 with a certificate" in lines[-1]


def test_bad_input_gets_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for words in (["nonsense", "--out", str(tmp_path)], ["lemma-12", "--out", str(tmp_path / "file")], ["lemma-12"]):
        assert main(["certify", *words]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
