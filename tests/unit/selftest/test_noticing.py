"""What the copies say: of each check its own size, and of the code what is code."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dpverify.ledger.check_results import CheckResult, ControlResult
from dpverify.ledger.results import Result
from dpverify.selftest.detection import _detection, _sightings_of
from dpverify.selftest.run import code_digest
from tests.for_each import for_each


def test_the_size_is_that_of_the_check_which_missed_its_fault() -> None:
    missed = ControlResult(
        name="scale", fault="times 1.02", at_declared_size=True, refuted=False
    )
    blind = CheckResult(
        name="law",
        method="monte-carlo",
        status="inconclusive",
        detects="2%",
        controls=[missed],
    )
    sharp = CheckResult(
        name="mean", method="monte-carlo", status="inconclusive", detects="5%"
    )
    plain: dict[str, Any] = dict.fromkeys(
        [
            "reason",
            "record_hash",
            "evidence_hash",
            "where",
            "quote",
            "printed",
            "latex",
        ],
        "",
    )
    result = Result(
        claim="p:c", reading={}, status="proved", pinned="proved", contradicts=False, sources_disagree=False,
        kind="count", checks=[sharp, blind], **plain,
    )  # fmt: skip
    (seen,) = _sightings_of(result)
    assert (seen.saw, seen.by, seen.detects) == ("control missed", ["law"], ["2%"])


def test_what_is_compiled_or_hidden_is_no_code(tmp_path: Path) -> None:
    package = tmp_path / "dpverify"
    (package / "__pycache__").mkdir(parents=True)
    (package / "a.py").write_text("x = 1\n")
    before = code_digest(tmp_path)
    (package / "__pycache__" / "a.pyc").write_text("compiled")
    (package / ".hidden").write_text("by an editor")
    assert code_digest(tmp_path) == before
    (package / "b.py").write_text("")
    assert code_digest(tmp_path) != before


def failure(message: str) -> str:
    return f'<failure message="{message}"/>'


@for_each(
    ("inside", "saw"),
    [
        ("", "nothing"),
        ("<skipped/>", "did not run"),
        (failure("ValueError: x"), "exception raised"),
        (failure("ImportError: x"), "did not run"),
        (
            failure("ImportError: x") + failure("contains 1 failed subtest"),
            "did not run",
        ),
        (
            failure("ImportError: x")
            + failure("assert 1 == 2")
            + failure("contains 2 failed subtests"),
            "assertion failed",
        ),
        (
            "<skipped/>"
            + failure("assert 1 == 2")
            + failure("contains 1 failed subtest"),
            "assertion failed",
        ),
    ],
)
def test_of_a_test_over_rows_the_clearest_failure_counts(inside: str, saw: str) -> None:
    assert _detection(ElementTree.fromstring(f"<testcase>{inside}</testcase>")) == saw
