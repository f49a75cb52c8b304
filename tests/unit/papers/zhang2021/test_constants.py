"""The interval of c_2 where it is known, and the proof of one constant against moments that are integrated anew."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, logsumexp

from dpverify.harness import BUDGETS
from dpverify.kernels.check import ArgumentError
from dpverify.papers.zhang2021.accounting.checks.constants import _rates
from dpverify.papers.zhang2021.accounting.constants import (
    KAPPA,
    PROVEN,
    Sampling,
    least_constant,
    needed,
)
from dpverify.privacy.gaussian import mu_of
from dpverify.privacy.subsampling import poisson_gaussian_rdp
from dpverify.symbolic.exact.numbers import ball
from tests.for_each import for_each


@for_each(("epsilon", "delta", "steps"), [(0.5, 1e-5, 10), (8.0, 1e-4, 9)])
def test_with_full_batches_the_constant_is_that_of_the_gaussian_mechanism(
    epsilon: float, delta: float, steps: int
) -> None:
    found = least_constant(1.0, steps, epsilon, delta, "poisson")
    exact = epsilon / (mu_of(epsilon, delta) * math.sqrt(-math.log(delta)))
    assert found.lower < exact < found.upper < 1.002 * found.lower


def test_batches_of_fixed_size_need_twice_as_much() -> None:
    poisson, batches = (
        least_constant(0.1, 300, 1.0, 1e-5, sampling)
        for sampling in ("poisson", "batches")
    )
    assert batches.lower == pytest.approx(2.0 * poisson.lower, rel=1e-5)
    assert batches.upper == pytest.approx(2.0 * poisson.upper, rel=1e-5)
    assert 0.8 * poisson.upper < poisson.lower < poisson.upper


def test_the_pieces_of_the_proof_leave_no_rate_out() -> None:
    pieces = sorted((piece["from"], piece["to"]) for piece in _rates(BUDGETS["smoke"]))
    assert [begin for begin, _ in pieces] == [0, *(end for _, end in pieces[:-1])]
    assert pieces[-1][1] == 1


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ArgumentError, match="delta"):
        least_constant(0.1, 300, 1.0, 1.0, "poisson")
    with pytest.raises(ArgumentError, match="rate"):
        least_constant(1.5, 300, 1.0, 1e-5, "poisson")


def log_moment(order: float, q: float, s: float, *, other: bool) -> float:
    """Logarithm of the moment of (A, B), or of (B, A), by quadrature."""

    def log_a(x: float) -> float:
        near = math.log(q) + (x - 0.5) / s**2
        return -0.5 * (x / s) ** 2 + (
            float(np.logaddexp(math.log1p(-q), near)) if q < 1.0 else near
        )

    def log_value(x: float) -> float:
        a, b = log_a(x), -0.5 * (x / s) ** 2
        return order * (b if other else a) + (1.0 - order) * (a if other else b)

    xs = np.linspace(-12 * s - order, 12 * s + order, 4001)
    top = max(log_value(float(x)) for x in xs)
    inside = [float(x) for x in xs if log_value(float(x)) > top - 45.0]
    value = quad(
        lambda x: math.exp(log_value(x) - top), inside[0], inside[-1], limit=500
    )[0]
    return top + math.log(value / (s * math.sqrt(2.0 * math.pi)))


def log_moment_of_batches(order: float, q: float, s: float) -> float:
    """Logarithm of the moment of the profile that bounds batches of fixed size: h above 1, and c h(1/c) below."""
    logs = np.linspace(1e-9, 60.0 / s**2 + 60.0 / order, 40001)  # of c, above 1
    x = 0.5 + s**2 * (np.log(np.expm1(logs) + q) - math.log(q) if q < 1.0 else logs)
    first = math.log(q) + log_ndtr((1.0 - x) / s)
    if q < 1.0:
        first = np.logaddexp(math.log1p(-q) + log_ndtr(-x / s), first)
    h = np.exp(first) - np.exp(logs + log_ndtr(-x / s))
    with np.errstate(divide="ignore"):
        terms = np.log(np.maximum(h, 0.0)) + np.logaddexp(
            (order - 1.0) * logs, -order * logs
        )
    excess = (
        math.log(order * (order - 1.0))
        + float(logsumexp(terms))
        + math.log(logs[1] - logs[0])
    )
    return float(np.logaddexp(0.0, excess))


@for_each("sampling", ["poisson", "batches"])
@for_each("q", [1.0, 0.9, 0.5, 0.3, 0.1, 0.01])
@for_each("part", [1.0, 0.5, 0.1])  # epsilon over log(1/delta)
@for_each("more", [1.0, 4.0])  # T over the least number of steps
def test_the_proofs_divergence_is_above_the_true_one(
    sampling: Sampling, q: float, part: float, more: float
) -> None:
    constant, kappa = PROVEN[sampling], float(KAPPA)
    twice = 1 if sampling == "poisson" else 2
    c = float(constant) / twice
    u, order = part / c**2 / more, 1.0 + kappa / part
    bound = float(needed(constant, ball(Fraction(q)), sampling))
    factor = (bound - 1.0 / kappa) * 2.0 * c**2 / (1.0 + kappa)
    promised = order * u * q**2 * factor / 2.0
    s = u**-0.5
    if sampling == "batches":
        assert log_moment_of_batches(order, q, s) / (order - 1.0) <= promised * (
            1.0 + 1e-6
        )
        return
    there, back = (
        log_moment(order, q, s, other=other) / (order - 1.0) for other in (False, True)
    )
    assert back <= there * (1.0 + 1e-6)
    assert 0.3 * promised < there <= promised
    assert math.log(poisson_gaussian_rdp(math.ceil(order), q, s) / there) >= -1e-6
