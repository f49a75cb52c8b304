"""What a table says of its data: shares of labels and the loss of a constant answer, exactly."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpverify.compare.tables import data, run  # the class is called Test.., which pytest would take for a test
from dpverify.compare.tables.run import _cells, _table
from dpverify.compare.tables.settings import EPSILONS, METHODS, NOISES, TableRequest
from dpverify.problems.logistic import LogisticRegression


def parts_of(train: list[float], test: list[float]) -> data.TestedProblem:
    x = np.ones((len(train), 2))
    problem = LogisticRegression(x, np.array(train))
    return data.TestedProblem("toy", problem, np.ones((len(test), 2)), np.array(test), real=False)


def test_a_constant_answer_is_that_of_the_training_set_and_is_judged_on_the_test_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "orderings", lambda rows: [])
    found = _table(parts_of([1.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]), [])
    assert (found.n, found.tested, found.d) == (4, 5, 2)
    assert found.majority == pytest.approx(4 / 5)  # it answers 1, and four of five are 0
    assert found.constant == pytest.approx(-(math.log(3 / 4) + 4 * math.log(1 / 4)) / 5)
    assert _table(parts_of([0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]), []).majority == pytest.approx(1 / 4)


def test_storm_has_one_row_and_every_other_method_one_for_each_noise_and_epsilon() -> None:
    cells = list(_cells())
    assert [cell for cell in cells if cell[0] == "storm"] == [("storm", "needed", EPSILONS[0])]
    others = {
        (method, noise, epsilon) for method in METHODS if method != "storm" for noise in NOISES for epsilon in EPSILONS
    }
    assert len(cells) == 1 + len(others)
    assert set(cells[1:]) == others


def test_a_batch_of_all_examples_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[int]()

    def ready(
        method: str, problem: object, noise: str, epsilon: float, passes: int, batch: int, scale: float
    ) -> object:
        tried.append(batch)
        return SimpleNamespace(epsilon=None, conditions=None, batch=batch, scale=scale, steps=1, noise=0.0)

    monkeypatch.setattr(run, "grid", lambda *_: [(3, 1.0), (4, 1.0), (5, 1.0)])
    monkeypatch.setattr(run, "ready", ready)
    monkeypatch.setattr(run, "_objective", lambda *_: 0.0)
    monkeypatch.setattr(run, "_measured", lambda *_: None)
    parts = parts_of([1.0, 0.0, 1.0, 0.0], [1.0])
    run._row(TableRequest("wang2019:table-3"), parts, "dp-sgd", "needed", EPSILONS[0])
    assert tried == [3, 4]
