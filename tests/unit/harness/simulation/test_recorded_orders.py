"""Orderings of a recorded experiment: what agrees, what does not, and tables that are not those of the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpverify.harness import Context
from dpverify.harness.simulation import recorded_orders as module
from dpverify.harness.simulation.recorded_orders import (
    RecordedExperiment,
    RecordedOrdersCheck,
    tables_sha256,
)
from dpverify.ledger.check_results import CheckResult
from dpverify.papers.wang2019.experiments.checks import orderings as wang2019
from dpverify.papers.zhang2021.experiments.checks import orderings as zhang2021

COMMAND = "dpverify compare --experiment toy"


def order(low: float, high: float, other: str = "slow") -> dict[str, Any]:
    difference = {"mean": (low + high) / 2, "low": low, "high": high}
    return {
        "claim": "walk",
        "epsilon": 1.0,
        "column": "test_error",
        "method": "fast",
        "other": other,
        "difference": difference,
    }


def judged(
    context: Context,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tables: Any,
    digest: str = "",
) -> CheckResult:
    """Judge the claim "walk" by tables that are written to a folder of reports."""
    (folder / "data").mkdir()
    result = {"command": COMMAND, "seeds": 5, "tables": tables}
    (folder / "data" / "experiments.json").write_text(
        json.dumps({"experiments": [result]}), encoding="utf-8"
    )
    monkeypatch.setattr(module, "bundled", lambda name: folder)
    recorded = RecordedExperiment(COMMAND, digest or tables_sha256(tables), "a toy")
    return RecordedOrdersCheck("walk", "orders", experiments=[recorded]).run_block(
        context, 0
    )


def test_orderings_agree_only_if_every_interval_is_below_0(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreeing = [order(-0.3, -0.1), order(-0.2, -0.01)]
    expected = {
        "agrees": (agreeing, "not refuted", "of 2 orderings as claimed in 2"),
        "open": (
            [*agreeing, order(-0.2, 0.1)],
            "inconclusive",
            "no difference seen in 1",
        ),
        "opposite": (
            [*agreeing, order(0.1, 0.2, "best")],
            "inconclusive",
            "fast minus best, test error, epsilon 1: +0.15",
        ),
    }
    for name, (orderings, status, words) in expected.items():
        (tmp_path / name).mkdir()
        result = judged(
            context,
            tmp_path / name,
            monkeypatch,
            [{"real": True, "orderings": orderings}],
        )
        assert (
            result.status,
            result.n,
            [control.refuted for control in result.controls],
        ) == (status, 5, [True])
        assert words in result.message
        # it never refutes, so that no refutation depends on it
        assert result.alpha == 0.0


def test_other_data_and_other_tables_decide_nothing(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orderings = [order(-0.3, -0.1)]
    for name, tables, digest, words in (
        (
            "bundled",
            [{"real": False, "orderings": orderings}],
            "",
            "have no ordering of this claim",
        ),
        (
            "edited",
            [{"real": True, "orderings": orderings}],
            "0" * 64,
            "with the recorded tables",
        ),
    ):
        (tmp_path / name).mkdir()
        result = judged(context, tmp_path / name, monkeypatch, tables, digest)
        assert (result.status, words in result.message) == ("untested", True)


def test_every_repetition_that_a_check_names_is_on_the_page_of_experiments() -> None:
    named = [*wang2019.REPETITIONS, zhang2021.FIGURE_1]
    assert [
        experiment.command
        for experiment in named
        if module.recorded(experiment) is None
    ] == []
