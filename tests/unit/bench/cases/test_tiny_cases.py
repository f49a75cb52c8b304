"""Cases at a tiny size: each form runs, and those that answer one question answer it alike."""

from __future__ import annotations

import numpy as np
import pytest

from dpverify.bench.case import GROUPS, BenchCase, load
from tests.for_each import for_each
from tests.unit.bench.cases.tiny import TINY, case_of, told

TOLD = (
    "accounting/",
    "audit/",
    "monte-carlo/",
    "networks/",
    "parties/",
    "reconstruction/",
    "scaling/",
    "start-up/",
)
"""Groups whose forms return what they found: tests of their own hold it against each other, or against the truth."""

WHOLE_RUNS = {("verification", "_budget"), ("verification", "_at_once")}
"""Commands that take minutes; ``test_whole_runs.py`` runs them with a stand-in."""


def way(group: str, case: BenchCase) -> tuple[str, str]:
    """How forms are prepared."""
    return group, getattr(case.prepare, "func", case.prepare).__name__


def test_every_way_of_preparing_forms_has_a_tiny_case() -> None:
    ways = {way(group, case) for group in GROUPS for case in load(group).cases}
    assert {
        way(name.partition("/")[0], case_of(name)) for name in TINY
    } == ways - WHOLE_RUNS


@pytest.mark.slow
@for_each("name", [name for name in TINY if not name.startswith(TOLD)])
def test_all_forms_run(name: str) -> None:
    """Their preparation raises where two forms of what is computed differ."""
    told(name)


@pytest.mark.slow
@for_each("case", ["scaling/over-t-epochs-8", "reconstruction/large"])
def test_the_literal_reconstruction_and_the_stream_are_one(case: str) -> None:
    found = told(case)
    literal, *others = (made[0] for name, made in found.items() if name != "reading")
    assert len(others) == 2
    for other in others:
        assert np.allclose(literal, other, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_nodes_are_made_when_they_are_needed() -> None:
    told("reconstruction/memory-steps-8192")


@for_each("near", ["", "-near-zero"])
def test_exact_composition_and_the_sum_of_squares_are_one(near: str) -> None:
    found = told(f"accounting/composed-100{near}")
    assert found["exact"] == pytest.approx(found["add squares, invert once"], rel=1e-10)


@pytest.mark.slow
@for_each("algorithm", [1, 2])
def test_an_order_that_stays_costs_no_more_than_fresh_ones(algorithm: int) -> None:
    found = told(f"accounting/algorithm-{algorithm}-over-n-n-1000")
    fresh, once = found["fresh"], found["once"]
    assert 0.0 < once.lower <= once.upper < fresh.lower <= fresh.upper


@pytest.mark.slow
def test_a_long_run_is_one_of_algorithm_2() -> None:
    assert (
        TINY[(long := "accounting/long-run-epochs-100000")]
        == TINY[(short := "accounting/algorithm-2-over-n-n-1000")]
    )
    assert told(long)["fresh"] == told(short)["fresh"]


def test_both_ends_of_epsilon_for_batches_are_near_each_other() -> None:
    ends = told("accounting/batches")["both ends"]
    assert 0.0 < ends.lower <= ends.upper < 1.1 * ends.lower
