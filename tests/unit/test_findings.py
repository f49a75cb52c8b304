"""Scripts about other libraries: short, without dpverify; each shows its finding if the library is installed."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.for_each import for_each

FINDINGS = Path(__file__).parents[2] / "docs" / "examples" / "findings"
SCRIPTS = sorted(FINDINGS.glob("*.py"))
LINES = 40
SECTIONS = [
    "What is documented",
    "What happens",
    "When it matters",
    "Proposed fix",
    "Versions",
    "Reports",
]
SECONDS = 300.0
LIBRARIES = {
    "diffprivlib",
    "flwr",
    "jax",
    "numpy",
    "opacus",
    "optax",
    "pyvacy",
    "tensorflow",
    "tensorflow_privacy",
    "torch",
}


def packages(script: Path) -> set[str]:
    """What a script imports that Python does not bring."""
    nodes = list(ast.walk(ast.parse(script.read_text("utf-8"))))
    names = {
        alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def printed_in_report(script: Path) -> str:
    """The output that the draft of the report shows."""
    return (
        script.with_suffix(".md")
        .read_text("utf-8")
        .split("```text\n")[1]
        .split("```")[0]
    )


def test_there_are_findings() -> None:
    assert len(SCRIPTS) >= 8


@for_each("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_needs_no_dpverify(script: Path) -> None:
    assert len(script.read_text("utf-8").splitlines()) <= LINES
    assert packages(script) <= LIBRARIES


@for_each("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_the_draft_of_a_report(script: Path) -> None:
    report = script.with_suffix(".md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", report, re.MULTILINE) == SECTIONS
    assert f"[{script.name}]({script.name})" in report
    assert f"({script.stem}.md)" in (FINDINGS / "README.md").read_text("utf-8")
    library, version, *_ = printed_in_report(script).split()
    assert f"{library} {version}" in report.split("\n## Versions\n")[1]


@pytest.mark.slow
@for_each("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_shows_its_finding(script: Path) -> None:
    missing = sorted(
        name for name in packages(script) if importlib.util.find_spec(name) is None
    )
    if missing:
        pytest.skip(
            f"THE FINDING {script.stem} WAS NOT SHOWN, {', '.join(missing)} not installed"
        )
    command = [sys.executable, str(script)]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ended.returncode == 0, ended.stderr
    printed, expected = (
        ended.stdout.splitlines(),
        printed_in_report(script).splitlines(),
    )
    assert len(printed) == len(expected)
    if printed[0] == expected[0]:  # the same versions
        assert [re.sub(r"[\d.]+", "", line) for line in printed] == [
            re.sub(r"[\d.]+", "", line) for line in expected
        ]
