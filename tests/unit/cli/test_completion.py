"""What a shell is offered while somebody types."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.cli import main

Capture = pytest.CaptureFixture[str]


def offered(capsys: Capture, *words: str) -> list[str]:
    assert main(["__complete", *words]) == 0
    return [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]


def test_claims_papers_and_words_are_offered(capsys: Capture) -> None:
    assert "proposition-18" in offered(capsys, "explain", "")
    assert {"tran2022", "wang2019"} <= {*offered(capsys, "verify", "--paper", "")}
    assert {"proved given", "refuted"} <= {*offered(capsys, "list", "--status", "")}
    assert {"dp", "sensitivity"} <= {*offered(capsys, "list", "--kind", "")}


def test_the_script_of_a_shell_is_written(tmp_path: Path) -> None:
    script = tmp_path / "dpverify"
    assert (
        main(["--install-completion", "--shell", "fish", "--output", str(script)]) == 0
    )
    assert "explain" in script.read_text()
