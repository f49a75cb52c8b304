"""What is made of the audits of all pairs of batches: none is forgotten, and together they have one level."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from dpverify.conform import PrivateOptimizer, outputs
from dpverify.conform.records import ConformanceTest
from dpverify.conform.run import all_tests
from dpverify.privacy.gaussian import epsilon_of
from tests.for_each import for_each
from tests.unit.conform.catalogue import CLIP, PROMISE, SIGMA, dp_sgd, poisson, promise

ALPHA = 0.03


def judged(
    monkeypatch: pytest.MonkeyPatch,
    verdicts: list[str],
    powers: list[float],
    promised: Any = PROMISE,
) -> tuple[ConformanceTest, list[dict[str, Any]]]:
    """Outcome where the audits of the pairs say this, and what they were asked."""
    asked = list[dict[str, Any]]()

    def audit(released: object, pair: object, **options: Any) -> SimpleNamespace:
        place = len(asked)
        asked.append(options)
        return SimpleNamespace(
            verdict=verdicts[place],
            power=SimpleNamespace(largest_epsilon=powers[place]),
            epsilon=0.1,
            interrupted=False,
        )

    monkeypatch.setattr(outputs, "audit", audit)
    (found,) = outputs.output_tests(PrivateOptimizer(dp_sgd), promised, ALPHA, 0, 1000)
    return found, asked


@for_each("place", range(3))
def test_each_pair_that_is_refuted_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    verdicts = ["refuted" if k == place else "not refuted" for k in range(3)]
    assert not judged(monkeypatch, verdicts, [math.inf] * 3)[0].passed


def test_the_pairs_share_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = judged(monkeypatch, ["not refuted"] * 3, [math.inf] * 3)
    assert found.passed
    assert (
        sum(1.0 - options["confidence"] for options in asked)
        == pytest.approx(ALPHA)
        == found.alpha
    )


@for_each("place", range(3))
def test_the_least_of_what_the_pairs_could_show_is_told(
    monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    powers = [0.25 if k == place else 50.0 for k in range(3)]
    found, _ = judged(monkeypatch, ["not refuted"] * 3, powers)
    assert found.found.startswith("so few outputs can show at most epsilon 0.25")


@for_each(("neighbours", "moved"), [("add-remove", 1.0), ("replace-one", 2.0)])
def test_what_is_allowed_is_the_epsilon_of_two_gaussian_steps(
    monkeypatch: pytest.MonkeyPatch, neighbours: str, moved: float
) -> None:
    _, asked = judged(
        monkeypatch, ["not refuted"] * 3, [math.inf] * 3, promise(neighbours=neighbours)
    )
    exact = epsilon_of(math.sqrt(2.0) * moved * CLIP / (SIGMA * CLIP), outputs.DELTA)
    assert [options["epsilon"] for options in asked] == pytest.approx(
        [exact] * 3, rel=1e-9
    )
    assert {options["delta"] for options in asked} == {outputs.DELTA}


def test_batches_noise_and_outputs_together_have_the_level_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def audit(released: object, pair: object, **options: Any) -> SimpleNamespace:
        return SimpleNamespace(
            verdict="not refuted", power=None, epsilon=0.0, interrupted=False
        )

    monkeypatch.setattr(outputs, "audit", audit)
    optimizer = PrivateOptimizer(dp_sgd, batches=poisson)
    tests = list(all_tests(optimizer, PROMISE, 0, ALPHA, 1000))
    assert {"outputs", "inclusion", "mean of noise"} <= {test.name for test in tests}
    assert sum(test.alpha for test in tests) == pytest.approx(ALPHA)
