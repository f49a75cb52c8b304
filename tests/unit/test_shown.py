"""Results show themselves in one short line, as text, as HTML and as rows."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

import dpverify as dv
from dpverify.calibrate import growing, records
from dpverify.conform.records import Conformance, ConformanceTest
from dpverify.ledger.records import encode
from dpverify.ledger.results import Run
from dpverify.shown import ShownAsTable
from tests.for_each import for_each


def mechanism(dataset: Any, rng: np.random.Generator, size: int) -> Any:
    """A mechanism with too little noise."""
    return dataset.sum() + 2.0 * rng.normal(size=size)


def some(name: str) -> ShownAsTable:
    """A result of each kind."""
    if name == "calibration":
        return dv.calibration(
            "dp-nsgd", n=1000, d=10, epochs=1, epsilon=1.0, delta=1e-6
        )
    if name == "batches":
        return dv.calibration(
            "dp-sgd", n=1000, batch=10, epochs=1, epsilon=1.0, delta=1e-6
        )
    if name == "budget":
        return dv.calibration("dp-agd", n=1000, epsilon=1.0, delta=1e-6)
    if name == "audit":
        return dv.audit(mechanism, epsilon=1.0, n=20_000, law="gaussian")
    if name == "conformance":
        return Conformance(
            [
                ConformanceTest("noise", True, "1.0", "5%"),
                ConformanceTest("clip", False, "<2>", "1%"),
            ]
        )
    verdicts = dv.recorded("tran2022")
    if name == "verdicts":
        return verdicts
    assert verdicts.run is not None
    return (
        verdicts[0] if name == "result" else Run(run=verdicts.run, results=[*verdicts])
    )


EXPECTED = {
    "calibration": ("<Calibration: dp-nsgd, epsilon = 1", 3, "certified"),
    "batches": ("<BatchCalibration: dp-sgd", 2, "certified"),
    "budget": ("<GrowingCalibration: dp-agd", 2, "certified"),
    "audit": ("<AuditResult: mechanism: epsilon >=", 1, "refuted"),
    "conformance": ("<Conformance: 1 of 2 tests found a fault: clip>", 2, "clip"),
    "result": ("<Result: tran2022:", 1, "tran2022:"),
    "run": ("<Run: budget standard, seed", 200, "tran2022:"),
    "verdicts": ("<Verdicts: ", 200, "tran2022:"),
}


@for_each("name", EXPECTED)
def test_every_result_shows_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = some(name)
    beginning, rows, word = EXPECTED[name]
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    assert repr(result).startswith(beginning)
    assert len(repr(result)) < 400
    assert "\n" not in repr(result)
    assert word in str(result)
    assert len(str(result).splitlines()) < 80
    assert result._repr_html_().startswith("<p>")
    assert word in result._repr_html_()
    assert len(result.to_frame()) >= rows


def test_how_a_record_shows_itself_is_no_part_of_its_data() -> None:
    for kind in (
        dv.Result,
        dv.Run,
        dv.AuditResult,
        records.Calibration,
        records.BatchCalibration,
    ):
        assert "shown_by" not in kind.__struct_fields__
    assert "shown_by" not in growing.GrowingCalibration.__struct_fields__
    result = dv.recorded("tran2022")[0]
    assert msgspec.json.decode(encode(result), type=dv.Result) == result


def test_what_a_test_of_an_optimizer_says_is_escaped() -> None:
    html = some("conformance")._repr_html_()
    assert "&lt;2&gt;" in html
    assert "<2>" not in html
