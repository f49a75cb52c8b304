"""What is certified rests on the accountant's upper bound, where the two bounds are apart."""

import math

from dpverify.papers.tran2022.accounting.noise import UnitNoise, epsilon_for, sigma_for
from dpverify.privacy.gaussian import epsilon_of, mu_of
from dpverify.privacy.participation import Bounds
from tests.for_each import for_each

APART = UnitNoise(
    printed_factor=2.0,
    proof_mu=3.0,
    mu=Bounds(1.0, 2.0, exact=False),
    node_std={"f": 1.0},
)


@for_each("sigma", [0.5, 1.0, 7.0])
def test_epsilon_is_that_of_the_upper_bound(sigma: float) -> None:
    exact = epsilon_of(2.0 / sigma, 1e-5)
    assert exact <= epsilon_for(APART, sigma, 1e-5) <= exact * (1.0 + 1e-9)
    assert epsilon_for(APART, 0.0, 1e-5) == math.inf


@for_each("epsilon", [0.1, 1.0, 20.0])
def test_sigma_is_that_of_the_upper_bound(epsilon: float) -> None:
    exact = 2.0 / mu_of(epsilon, 1e-5)
    assert exact <= sigma_for(APART, epsilon, 1e-5) <= exact * (1.0 + 1e-9)
