"""What stands written down so that one claim does not wait for the code of all."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path

import pytest

from dpverify.harness.suite import Suite
from dpverify.ledger import Specs, load_specs
from dpverify.papers import SEARCH_SECONDS, load, tran2022

CLOSE = 1.25
"""Factor within which the seconds of a search must be what the checks leave for it."""


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.mark.parametrize("paper", ["tran2022", "wang2019", "zhang2021"])
def test_all_checks_of_a_paper_are_found_by_their_claims(specs: Specs, paper: str) -> None:
    checks = load(paper)
    assert checks is not None
    whole = checks.entries()  # imports every file, and holds its claims against those it is announced with
    assert checks.claims() == {entry.check.claim for entry in whole}
    assert checks.claims() <= specs.papers[paper].claims.keys()
    by_claim = [entry for claim in dict.fromkeys(e.check.claim for e in whole) for entry in checks.entries(claim)]
    assert sorted(map(id, by_claim)) == sorted(map(id, whole))
    assert all(checks.find(entry.check.claim, entry.check.name) is entry.check for entry in whole)


def test_no_file_of_checks_is_left_out() -> None:
    """Every file with checks of its own gives them to the paper."""
    checks = load("tran2022")
    assert checks is not None
    found = {id(entry.check) for entry in checks.entries()}
    for file in sorted((Path(str(tran2022.__file__)).parent / "checks").glob("[a-z]*.py")):
        module = import_module(f"dpverify.papers.tran2022.checks.{file.stem}")
        if hasattr(module, "CHECKS"):
            assert {id(entry.check) for entry in module.CHECKS.entries()} <= found, file.name


@pytest.mark.parametrize("budget", sorted(SEARCH_SECONDS))
def test_the_seconds_of_a_search_are_what_all_checks_leave_for_it(specs: Specs, budget: str) -> None:
    suite = Suite(specs, budget, 0)
    shares = suite.computed_shares()
    assert shares.whole == math.inf, "not all checks fit: declare less, or raise the budget"
    recorded = SEARCH_SECONDS[budget]
    assert shares.divisible / CLOSE <= recorded <= shares.divisible * CLOSE, (
        f"write SEARCH_SECONDS[{budget!r}] = {shares.divisible!r}"
    )
