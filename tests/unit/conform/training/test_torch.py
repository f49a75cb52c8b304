"""Training loops in PyTorch, on one process and on ranks: each mistake is found, and none in loops without one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dpverify.conform import Conformance
from dpverify.conform.report import SAMPLING_SUBJECTS, faults, subject
from dpverify.conform.training import conformance_of_training

pytest.importorskip("torch", reason="the extra `torch` is not installed")
COUNT = 60

if True:  # after the skip
    from tests.unit.conform.training import torch_catalogue as catalogue


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    before = catalogue.torch.get_num_threads()
    catalogue.torch.set_num_threads(1)
    yield
    catalogue.torch.set_num_threads(before)


def of(make: Any, ranks: int = 1) -> Conformance:
    return conformance_of_training(
        make,
        catalogue.PROMISE,
        count=COUNT,
        ranks=ranks,
        timeout=300.0 if ranks > 1 else 0,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.RIGHT)
def test_a_loop_of_pytorch_without_a_mistake_passes(name: str) -> None:
    result = of(catalogue.RIGHT[name])
    assert result, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.MISTAKES)
def test_a_mistake_in_a_loop_of_pytorch_is_found(name: str) -> None:
    make, cause = catalogue.MISTAKES[name]
    (fault, *_) = faults(of(make).tests)
    assert fault.test.name.startswith(cause)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ranks"), [("noise on rank 0", 3), ("DistributedDataParallel", 2)]
)
def test_ranks_without_a_mistake_pass(name: str, ranks: int) -> None:
    result = of(catalogue.RIGHT_ON_RANKS[name], ranks=ranks)
    assert result, str(result)
    assert result.tests[-1].name == "ranks"


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.MISTAKES_ON_RANKS)
def test_a_mistake_on_ranks_is_found(name: str) -> None:
    make, cause = catalogue.MISTAKES_ON_RANKS[name]
    (fault, *_) = faults(of(make, ranks=2).tests)
    if cause == "sampling":
        assert subject(fault.test) in SAMPLING_SUBJECTS
    else:
        assert fault.test.name.startswith(cause)


@pytest.mark.slow
def test_a_rank_that_is_left_alone_or_ends_is_a_fault() -> None:
    for make, message in catalogue.BROKEN_ON_RANKS:
        result = conformance_of_training(
            make, catalogue.PROMISE, count=COUNT, ranks=2, timeout=20.0
        )
        assert any(re.search(message, test.found) for test in result.failed), str(
            result
        )
