from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, laplace

from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import DomainError
from tests.for_each import for_each


def value(text: str, **numbers: int | Fraction) -> float:
    return float(
        evaluate(
            parse(text), {name: Fraction(number) for name, number in numbers.items()}
        )
    )


@for_each(
    ("epsilon", "mu"), [(0.0, 0.5), (0.25, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]
)
def test_the_laplace_curve_is_the_integral_of_the_hockey_stick_in_both_directions(
    epsilon: float, mu: float
) -> None:
    found = value(
        "laplace_delta(epsilon, mu)", epsilon=Fraction(epsilon), mu=Fraction(mu)
    )
    for at, other in ((0.0, mu), (mu, 0.0)):

        def excess(x: float, at: float = at, other: float = other) -> float:
            return max(
                laplace.pdf(x, at) - math.exp(epsilon) * laplace.pdf(x, other), 0.0
            )

        integral = sum(
            quad(excess, low, high)[0]
            for low, high in ((-40.0, 0.0), (0.0, mu), (mu, 40.0))
        )
        assert found == pytest.approx(integral, abs=1e-6)


@for_each(
    ("epsilon", "n", "p", "shift"),
    [
        (0, 1, Fraction(1, 2), 1),
        (1, 40, Fraction(1, 2), 1),
        (Fraction(1, 2), 60, Fraction(1, 5), 3),
        (1, 30, Fraction(1, 9), 1),
        (1, 30, Fraction(8, 9), 1),
    ],
)
def test_the_binomial_curve_is_the_larger_sum_of_both_directions(
    epsilon: Fraction, n: int, p: Fraction, shift: int
) -> None:
    support = np.arange(n + shift + 1)
    here, there = (
        binom.pmf(support, n, float(p)),
        binom.pmf(support - shift, n, float(p)),
    )
    factor = math.exp(float(epsilon))
    both = [
        np.maximum(a - factor * b, 0.0).sum() for a, b in ((here, there), (there, here))
    ]
    found = value(
        "binomial_delta(epsilon, n, p, s)", epsilon=Fraction(epsilon), n=n, p=p, s=shift
    )
    assert found == pytest.approx(max(both), rel=1e-9)
    if p != Fraction(1, 2):
        assert min(both) < 0.99 * max(both), (
            "the directions differ, and one alone would be too small"
        )


def test_fair_coins_are_the_sum_that_a_record_may_write_out() -> None:
    out = "sum(max(binomial(n, i) - exp(epsilon)*binomial(n, i - 1), 0), i, 0, n + 1)/2**n"
    for n in (1, 10, 300):
        numbers = {"n": n, "epsilon": Fraction(1, 3)}
        assert value(out, **numbers) == pytest.approx(
            value("binomial_delta(epsilon, n, 1/2, 1)", **numbers), rel=1e-12
        )


@for_each(
    "text",
    ["laplace_delta(-1, 1)", "laplace_delta(1, 0)", "binomial_delta(1, 1/2, 1/2, 1)", "binomial_delta(1, 5, 0, 1)",
     "binomial_delta(1, 5, 1, 1)", "binomial_delta(1, 5, 1/2, 0)", "binomial_delta(-1, 5, 1/2, 1)",
     "binomial_delta(1, -1, 1/2, 1)"],
)  # fmt: skip
def test_what_is_outside_of_its_range_is_refused(text: str) -> None:
    with pytest.raises(DomainError):
        evaluate(parse(text), {})
