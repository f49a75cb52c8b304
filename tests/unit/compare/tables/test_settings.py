"""What an experiment is asked for: refused where it is out of its domain, and how many steps its passes make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpverify.compare.tables.settings import BATCHES, METHODS, MULTIPLES, SPLITS, TableRequest, grid, steps_for
from dpverify.kernels.check import ArgumentError
from tests.for_each import for_each


@for_each(
    ("method", "batch", "steps"),
    [
        ("dp-sgd", 50, 60),
        ("dp-gd", 0, 3),
        ("rrpsgd", 0, 3000),
        ("dp-srm", 50, 30),
        ("storm", 100, 15),
        ("dp-agd", 0, 1),
    ],
)
def test_steps_are_the_gradients_of_the_passes_by_those_of_a_step(method: str, batch: int, steps: int) -> None:
    assert steps_for(method, 1000, batch, 3) == steps


def test_a_step_of_dp_agd_reads_all_examples_22_times() -> None:
    assert [steps_for("dp-agd", 1000, 0, passes) for passes in (43, 44, 65, 66)] == [1, 2, 2, 3]


@for_each("method", METHODS)
def test_a_grid_has_batches_where_the_method_has_some_and_smoke_tunes_nothing(method: str) -> None:
    batches = BATCHES if method in {"storm", "dp-sgd", "dp-srm", "ddp-srm"} else (0,)
    scales = SPLITS if method == "dp-agd" else MULTIPLES
    assert grid(method, "standard") == [(batch, scale) for batch in batches for scale in scales]
    assert grid(method, "smoke") == [(batches[len(batches) // 2], scales[2])]


@for_each(
    ("changes", "name"),
    [({"experiment": "wang2019:table-1"}, "experiment"), ({"test_data": Path("t")}, "test_data"), ({"n": 9}, "n")],
)
def test_a_request_out_of_its_domain_is_refused(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(ArgumentError, match=name):
        TableRequest(**{"experiment": "wang2019:table-2", **changes})
    allowed = TableRequest("wang2019:table-2", Path("a"), Path("t"), n=10)
    assert allowed.table.examples > 0
