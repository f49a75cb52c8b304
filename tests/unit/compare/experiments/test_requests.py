"""What an experiment is asked for: refused where it is out of its domain; and the grids of its methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpverify.algorithms.algorithm import Algorithm
from dpverify.compare.experiments.experiment import ExperimentRequest
from dpverify.compare.experiments.tables import (
    BATCHES,
    METHODS,
    MULTIPLES,
    SPLITS,
    grid,
    table_of,
)
from dpverify.kernels.check import ArgumentError
from tests.for_each import for_each


@for_each("method", METHODS)
def test_a_grid_has_batches_where_the_method_has_some_and_smoke_tunes_nothing(
    method: Algorithm[Any],
) -> None:
    batches = (
        BATCHES if method.name in {"storm", "dp-sgd", "dp-srm", "ddp-srm"} else (0,)
    )
    scales = SPLITS if method.name == "dp-agd" else MULTIPLES
    assert grid(method, is_smoke=False) == [
        (batch, scale) for batch in batches for scale in scales
    ]
    assert grid(method, is_smoke=True) == [(batches[len(batches) // 2], scales[2])]


@for_each(
    ("changes", "name"),
    [
        ({"experiment": "wang2019:table-1"}, "experiment"),
        ({"test_data": Path("t")}, "test_data"),
        ({"n": 9}, "n"),
        ({"epochs": 2}, "epochs"),
    ],
)
def test_a_request_out_of_its_domain_is_refused(
    changes: dict[str, Any], name: str
) -> None:
    with pytest.raises(ArgumentError, match=name):
        ExperimentRequest(**{"experiment": "wang2019:table-2", **changes})
    allowed = ExperimentRequest("wang2019:table-2", Path("a"), Path("t"), n=10)
    assert table_of(allowed.experiment).examples > 0
