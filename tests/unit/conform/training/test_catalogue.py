"""The catalogue of training loops in numpy: each mistake is found, and none in loops without one."""

from __future__ import annotations

from dpverify.conform.report import faults
from dpverify.conform.training import conformance_of_training
from tests.for_each import for_each
from tests.unit.conform.training.catalogue import MISTAKES, RIGHT

COUNT = 100


@for_each("name", RIGHT)
@for_each("seed", [0, 1])
def test_a_training_without_a_mistake_passes(name: str, seed: int) -> None:
    make, promise = RIGHT[name]
    result = conformance_of_training(make, promise, seed=seed, count=COUNT)
    assert result, str(result)
    assert result.alpha <= 1e-4 * (1 + 1e-9)


@for_each("name", MISTAKES)
def test_a_mistake_is_found_with_its_cause_first(name: str) -> None:
    make, promise, cause = MISTAKES[name]
    result = conformance_of_training(make, promise, count=COUNT)
    assert not result
    found = faults(result.tests)
    assert found[0].test.name.startswith(cause)
    assert len(found) <= 2
