"""What a table says of its data: shares of labels and the loss of a constant answer, exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpverify.algorithms.dpageem import DP_SGD
from dpverify.compare.experiments import tables
from dpverify.compare.experiments.experiment import ExperimentRequest, RowCell
from dpverify.compare.experiments.tables import (
    EPSILONS,
    METHODS,
    NOISES,
    TablePanel,
    cells,
)

# pytest would take it for a test
from dpverify.compare.experiments.tables import TestedProblem as Parts
from dpverify.problems.logistic import LogisticRegression


def parts_of(train: list[float], test: list[float]) -> Parts:
    x = np.ones((len(train), 2))
    problem = LogisticRegression(x, np.array(train))
    return Parts(
        "toy", problem, np.ones((len(test), 2)), np.array(test), is_published=False
    )


def panel_of(train: list[float], test: list[float]) -> TablePanel:
    return TablePanel(ExperimentRequest("wang2019:table-3"), parts_of(train, test))


def test_a_constant_answer_is_that_of_the_training_set_and_is_judged_on_the_test_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "table_orderings", lambda rows: [])
    found = panel_of([1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]).table([])
    assert (found.n, found.tested, found.d) == (4, 5, 2)
    # it answers 1, and four of five are 0
    assert found.majority == pytest.approx(4 / 5)
    assert found.constant == pytest.approx(-(math.log(3 / 4) + 4 * math.log(1 / 4)) / 5)
    assert panel_of([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]).table(
        []
    ).majority == pytest.approx(1 / 4)


def test_the_method_without_noise_has_one_row_and_every_other_one_for_each_noise_and_epsilon() -> (
    None
):
    every = [(cell.method.name, cell.noise, cell.epsilon) for cell in cells()]
    assert [cell for cell in every if cell[0] == "storm"] == [
        ("storm", "needed", EPSILONS[0])
    ]
    names = [method.name for method in METHODS if method.name != "storm"]
    others = {
        (name, noise, epsilon)
        for name in names
        for noise in NOISES
        for epsilon in EPSILONS
    }
    assert len(every) == 1 + len(others)
    assert set(every[1:]) == others


def test_a_batch_of_all_examples_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def trial_of(
        method: object,
        problem: object,
        noise: str,
        epsilon: float,
        passes: int,
        batch: int,
        scale: float,
    ) -> Any:
        tried.append(batch)

    monkeypatch.setattr(
        tables, "grid", lambda method, is_smoke: [(3, 1.0), (4, 1.0), (5, 1.0)]
    )
    monkeypatch.setattr(tables, "trial_of", trial_of)
    panel_of([1.0, 0.0, 1.0, 0.0], [1.0]).trials(RowCell(DP_SGD, EPSILONS[0]))
    assert tried == [3, 4]
