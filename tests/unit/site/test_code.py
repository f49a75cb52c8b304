"""The code behind a claim, of the bundled papers and of those that a package elsewhere judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.papers import index
from dpverify.site.claims import code_of, source_page


def test_a_bundled_claim_has_the_files_that_the_index_names() -> None:
    claim = "theorem-2-1"
    code = code_of(f"zhang2021:{claim}")
    named = {
        name
        for name, file in index().files.items()
        if ".zhang2021." in name and claim in file.claims
    }
    assert named
    assert named <= code["Checks"].keys()


def test_a_paper_of_ones_own_shows_its_code_where_its_checks_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["new-paper", "shown2026", str(tmp_path)]) == 0
    monkeypatch.chdir("/")  # where nothing makes the paper known
    monkeypatch.syspath_prepend(str(tmp_path))
    code = code_of("shown2026:lemma-1", "shown2026")
    (checks,) = code["Checks"]
    assert checks.startswith("shown2026.noise.checks.")
    assert any(module.startswith("shown2026.algorithms.") for module in code["Kernels"])
    assert "PaperChecks" in source_page(checks)
    assert code_of("shown2026:lemma-1") == {}
