"""What the copies say: of each check its own size, and of the code what is code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpverify.ledger.results import CheckResult, ControlResult, Result
from dpverify.selftest.noticing import _red
from dpverify.selftest.run import code_digest


def test_the_size_is_that_of_the_check_which_missed_its_fault() -> None:
    missed = ControlResult(name="scale", fault="times 1.02", at_declared_size=True, refuted=False)
    blind = CheckResult(name="law", method="monte-carlo", status="inconclusive", detects="2%", controls=[missed])
    sharp = CheckResult(name="mean", method="monte-carlo", status="inconclusive", detects="5%")
    plain: dict[str, Any] = dict.fromkeys(
        ["reason", "record_hash", "evidence_hash", "where", "quote", "printed", "latex"], ""
    )
    result = Result(
        claim="p:c", reading={}, status="proved", pinned="proved", contradicts=False, sources_disagree=False,
        kind="count", checks=[sharp, blind], **plain,
    )  # fmt: skip
    (seen,) = _red(result)
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
