"""What is certified of the bundled optimizers beside dp-accounting's figures."""

from __future__ import annotations

from typing import Any

import pytest

from dpverify.algorithms import ALGORITHMS, ProblemSize
from dpverify.papers.tran2022.accounting.noise import (
    AccountedRun,
    epsilon_for,
    sigma_for,
    unit_noise,
)
from dpverify.privacy.accounting import epsilon

DELTA = 1e-5


@pytest.fixture
def accounting() -> Any:
    """The extra."""
    return pytest.importorskip(
        "dp_accounting", reason="the extra `accounting` is not installed"
    )


@pytest.mark.parametrize("algorithm", ["dp-nsgd", "sr-nsgd"])
def test_trees_of_the_normalized_methods_are_the_gaussian_mechanism_that_they_say(
    accounting: Any, algorithm: str
) -> None:
    from dp_accounting.pld import PLDAccountant

    setting = AccountedRun(
        examples=50,
        steps=200,
        alpha=0.02,
        gamma=0.5,
        eta=0.01,
        lipschitz=1.0,
        smoothness=1.0,
        ordering="once",
    )
    noise = unit_noise(algorithm, setting)
    sigma = sigma_for(noise, 2.0, DELTA)
    assert epsilon_for(noise, sigma, DELTA) <= 2.0 * (1 + 1e-9)
    for mu, low, high in (
        (noise.mu.upper, 2.0 * (1 - 1e-3), 2.0 * (1 + 1e-3)),
        (noise.mu.lower, 0.0, 2.0 * (1 + 1e-3)),
    ):
        event = accounting.GaussianDpEvent(sigma / mu)
        theirs = (
            PLDAccountant(value_discretization_interval=1e-4)
            .compose(event)
            .get_epsilon(DELTA)
        )
        assert low <= theirs <= high


@pytest.mark.parametrize("algorithm", ["dp-srm", "dpageem"])
def test_batches_of_the_others_are_bounded_better_than_by_renyi_divergences(
    accounting: Any, algorithm: str
) -> None:
    from dp_accounting.rdp import RdpAccountant

    method = ALGORITHMS[algorithm]
    settings = method.complete({"sigma": 2.0, "epochs": 4, "batch": 20}, 400)
    found = method.epsilon(settings, ProblemSize(400, 1), DELTA)
    step = accounting.SampledWithoutReplacementDpEvent(
        400, 20, accounting.GaussianDpEvent(settings.sigma)
    )
    event = accounting.SelfComposedDpEvent(step, settings.steps)
    relation = accounting.NeighboringRelation.REPLACE_ONE
    theirs = (
        RdpAccountant(neighboring_relation=relation).compose(event).get_epsilon(DELTA)
    )
    both = epsilon(
        2.0 * settings.sigma,
        DELTA,
        steps=settings.steps,
        rate=20 / 400,
        sampling="batches",
    )
    assert both.lower <= found < theirs
    assert found <= both.upper * (1 + 1e-6)
