"""What stands written down so that one claim does not wait for the code of all."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import dpverify.papers
from dpverify.harness.run import registry
from dpverify.harness.run.registry import IndexedFile, check_files, claims_in
from dpverify.harness.run.suite import Suite
from dpverify.ledger import Specs, load_specs
from dpverify.papers import SEARCH_SECONDS, index, load
from tests.for_each import for_each

CLOSE = 1.25
"""Factor within which the seconds of a search must be what the checks leave for it."""


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@for_each("paper", ["tools", "tran2022", "wang2019", "zhang2021"])
def test_all_checks_of_a_paper_are_found_by_their_claims(
    specs: Specs, paper: str
) -> None:
    checks = load(paper)
    assert checks is not None
    # imports every file, and holds its claims against those it is announced with
    whole = checks.entries()
    assert checks.claims() == {entry.check.claim for entry in whole}
    assert checks.claims() <= specs.papers[paper].claims.keys()
    by_claim = [
        entry
        for claim in dict.fromkeys(e.check.claim for e in whole)
        for entry in checks.entries(claim)
    ]
    assert sorted(map(id, by_claim)) == sorted(map(id, whole))
    assert all(
        checks.find(entry.check.claim, entry.check.name) is entry.check
        for entry in whole
    )


@for_each("paper", ["tools", "tran2022", "wang2019", "zhang2021"])
def test_the_index_says_what_each_file_judges(paper: str) -> None:
    package, known = f"dpverify.papers.{paper}", index().files
    files = dict(check_files(package))
    assert {name for name in known if name.startswith(f"{package}.")} == files.keys(), (
        "run .ci/generated.py --write"
    )
    for module, source in files.items():
        assert known[module] == IndexedFile(source, claims_in(module)), (
            f"{module}: run .ci/generated.py --write"
        )


def test_every_file_that_registers_checks_is_found() -> None:
    """A registration that the formatter breaks over lines would be ignored."""
    folder = Path(dpverify.papers.__path__[0])
    registering = {
        ".".join(["dpverify.papers", *path.relative_to(folder).with_suffix("").parts])
        for path in folder.rglob("*.py")
        if "CHECKS = PaperChecks(" in path.read_text(encoding="utf-8")
    }
    assert registering == dict(check_files("dpverify.papers")).keys()


def test_a_file_that_the_index_does_not_know_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def asks(module: str) -> list[str]:
        asked.append(module)
        return ["lemma-3-7"]

    monkeypatch.setattr(registry, "claims_in", asks)
    known = dict(index().files)
    stale = "dpverify.papers.wang2019.privacy.checks.theorems"
    known[stale] = IndexedFile("0" * 12, ["theorem-4-1-variance"])
    checks = registry.load_paper("wang2019", "dpverify.papers.wang2019", known)
    assert checks is not None
    assert asked == [stale]
    assert "theorem-4-1-variance" not in checks.claims()


@for_each("budget", sorted(SEARCH_SECONDS))
def test_the_seconds_of_a_search_are_what_all_checks_leave_for_it(
    specs: Specs, budget: str
) -> None:
    suite = Suite(specs, budget, 0)
    shares = suite.computed_shares()
    assert shares.whole == math.inf, (
        "not all checks fit: declare less, or raise the budget"
    )
    recorded = SEARCH_SECONDS[budget]
    assert shares.divisible / CLOSE <= recorded <= shares.divisible * CLOSE, (
        f"run .ci/generated.py --write: {shares.divisible!r}"
    )
