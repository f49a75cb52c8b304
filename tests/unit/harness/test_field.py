"""The statements of docs/examples/specs/field: every false one is refuted, no true one is, each within its time."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

import dpverify as dv
from dpverify.harness.run.judge import on_witnesses
from dpverify.harness.run.status import decide_status
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.load import load_specs

SPECS = Path(__file__).parents[3] / "docs" / "examples" / "specs"
CLAIMS = load_specs(SPECS).papers["field"].claims
PARTS = 6  # so that workers share them
# of CPU for one claim, where 10 are asked for: the
# checks stop by counting their work, not the clock
SECONDS = 20.0
LINES = 12
TOPICS = {"composition": 10, "sampling": 5, "shuffling": 2, "above-threshold": 3}
DISCRETE = ("discrete", "geometric", "binomial")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_false_statements_are_refuted_and_true_ones_are_not(part: int) -> None:
    for name in list(CLAIMS)[part::PARTS]:
        start = time.process_time()
        (result,) = dv.verify(f"field:{name}", specs=SPECS)
        seconds = time.process_time() - start
        assert result.status == result.pinned, (
            f"{name}: {result.status}: {result.reason}"
        )
        assert result.missed_faults == [], name
        assert result.witnesses == CLAIMS[name].record.witnesses
        assert seconds < SECONDS, name


def test_there_are_enough_of_each_kind() -> None:
    assert len(CLAIMS) >= 40
    counts = Counter(
        topic for topic in TOPICS for name in CLAIMS if name.startswith(topic)
    )
    assert all(counts[topic] >= least for topic, least in TOPICS.items()), counts
    assert sum(name.startswith(DISCRETE) for name in CLAIMS) >= 5
    pins = [spec.pinned({}) for spec in CLAIMS.values()]
    refuted = pins.count("refuted")
    assert refuted >= 15
    assert 2 * pins.count("proved") >= len(pins) - refuted


def test_each_is_short_and_has_a_source_and_a_reason() -> None:
    text = (SPECS / "field" / "claims.toml").read_text(encoding="utf-8")
    blocks = text.split("[[claim]]")[1:]
    assert all(len(block.strip().splitlines()) < LINES for block in blocks)
    for spec in CLAIMS.values():
        assert spec.record.where.strip()
        (verdict,) = spec.verdicts
        assert len(verdict.reason) > 15


def test_a_claim_about_all_mechanisms_is_never_proved() -> None:
    about_all = [spec for spec in CLAIMS.values() if spec.record.witnesses]
    assert len(about_all) >= 10
    assert {spec.pinned({}) for spec in about_all} == {
        "not refuted on witnesses",
        "refuted",
    }


def test_a_proof_for_witnesses_is_no_proof() -> None:
    """Of a statement with witnesses, a proof by points of a finite domain becomes a search on these witnesses."""
    check = CheckResult(
        name="points",
        method="exhaustive",
        status="proved",
        window="3 points",
        given=["a premise"],
    )
    weakened = on_witnesses(check, ["Gaussian noise", "Laplace noise"])
    assert weakened.status == "not refuted on witnesses"
    assert weakened.window == "for Gaussian noise and Laplace noise only; 3 points"
    assert weakened.given == []
    status, reason = decide_status([weakened])
    assert (status, "Gaussian noise and Laplace noise only" in reason) == (
        "not refuted on witnesses",
        True,
    )
    refuted = CheckResult(name="search", method="search", status="refuted")
    assert on_witnesses(refuted, ["Gaussian noise"]) == refuted
