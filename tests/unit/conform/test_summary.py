"""Summaries for the page of a run, and the action that writes them, run as a forge would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import main
from dpverify.conform import Conformance
from dpverify.conform.records import ConformanceTest, untested_result
from dpverify.conform.report import summary
from tests.unit.conform.test_promise import optimizer, promise_of

yaml: Any = pytest.importorskip("yaml", reason="Dask brings it")

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "my_optimizer.py"


def test_a_summary_shows_each_fault_once_and_no_markup_of_foreign_text() -> None:
    tests = [
        ConformanceTest(
            "scale of noise",
            passed=False,
            found="0.5 | <script>",
            sees="4%",
            alpha=1e-5,
        ),
        ConformanceTest("shape of noise", passed=True, found="normal", sees="5%"),
    ]
    text = summary("file_name.py:make", Conformance(tests))
    assert text.startswith(
        "### ✗ file_name.py:make\n\n1 fault: 1 of 2 tests failed, 1 passed."
    )
    assert "| scale of noise | 0.5 \\| &lt;script> |  |" in text
    assert "shape of noise" not in text
    assert "with probability at most 1e-05." in text
    assert "probability" not in summary("a", Conformance(tests[1:]))
    assert "It detects: 5%." in str(tests[1])
    assert summary("a", Conformance(tests[1:])).startswith("### ✓ a\n\nNo fault found")
    incomplete = summary(
        "a",
        Conformance([tests[1], untested_result("state", "the noise is the system's")]),
    )
    assert incomplete.startswith("### ? a\n\nIncomplete: 1 of 2 tests")
    assert "Not tested: state (the noise is the system's)." in incomplete


def test_the_command_appends_a_summary_of_each_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        EXAMPLE.read_text().replace("SIGMA * clip *", "SIGMA / 2 * clip *")
    )
    file = tmp_path / "summary.md"
    file.write_text("what was there\n")
    assert (
        main(["conform", f"{EXAMPLE}:make", f"{wrong}:make", "--summary", str(file)])
        == 1
    )
    lines = file.read_text().splitlines()
    assert lines[0] == "what was there"
    assert [line[:5] for line in lines if line.startswith("###")] == ["### ✓", "### ✗"]
    capsys.readouterr()
    assert main(["conform", f"{EXAMPLE}:make", "--summary", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_fixture_appends_a_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, assert_conforms: Callable[..., Any]
) -> None:
    file = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    with pytest.raises(pytest.fail.Exception):
        assert_conforms(optimizer(1.5), promise_of(2.0))
    assert "✗ test_the_fixture_appends_a_summary" in file.read_text()
    assert "scale of noise" in file.read_text()


def run_action(tmp_path: Path, targets: str, options: str = "") -> tuple[int, str, str]:
    """Run the last step of the action with the variables that a forge sets; return code, output and summary."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    given = {
        name: definition.get("default", "")
        for name, definition in action["inputs"].items()
    }
    given |= {"targets": targets, "options": options, "python": sys.executable}
    variables = {
        name: given[text.split("inputs.")[1].rstrip(" }")]
        for name, text in step["env"].items()
    }
    file = tmp_path / "summary.md"
    environment = {
        **os.environ,
        **variables,
        "GITHUB_STEP_SUMMARY": str(file),
        "GITHUB_ACTION_PATH": str(ROOT),
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    ended = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return (
        ended.returncode,
        ended.stdout + ended.stderr,
        file.read_text() if file.exists() else "",
    )


def test_the_action_fails_with_a_fault_and_passes_without(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EXAMPLE.read_text())
    (tmp_path / "wrong one.py").write_text(
        EXAMPLE.read_text().replace("SIGMA * clip *", "SIGMA / 2 * clip *")
    )
    code, output, written = run_action(
        tmp_path, "\nmine.py:make\n", "--timeout 300 --verbose"
    )
    assert (code, written[:5]) == (0, "### ✓"), output
    code, output, written = run_action(tmp_path, "mine.py:make\nwrong one.py:make\n")
    assert code == 1
    assert "FAULT  scale of noise" in output
    assert "### ✗ wrong one.py:make" in written


def test_a_target_cannot_run_a_command(tmp_path: Path) -> None:
    code, output, _ = run_action(
        tmp_path, '$(touch stolen)"; touch stolen; "mine.py:make'
    )
    assert code == 2, output
    assert not (tmp_path / "stolen").exists()
