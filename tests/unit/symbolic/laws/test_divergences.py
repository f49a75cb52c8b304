"""Divergences against closed forms, all events of small laws, and sums on a fine grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import chain, combinations
from types import MappingProxyType

import numpy as np
import pytest
from flint import arb

from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import evaluate
from dpverify.symbolic.exact.numbers import (
    DomainError,
    Exact,
    UnsupportedError,
    ball,
    working_precision,
)
from tests.for_each import for_each

Density = Callable[[np.ndarray], np.ndarray]


def value(text: str, **numbers: int | str | Fraction) -> Exact:
    return evaluate(
        parse(text), {name: Fraction(number) for name, number in numbers.items()}
    )


def holds(
    text: str,
    expected: float,
    accuracy: float = 1e-9,
    numbers: Mapping[str, int | str | Fraction] = MappingProxyType({}),
) -> bool:
    """Whether a value is near to what another way gives, and its ball is narrow."""
    result = ball(value(text, **numbers))
    middle = float(result.mid())
    return (
        abs(middle - expected) <= accuracy * max(abs(expected), 1e-3)
        and float(result.rad()) <= accuracy
    )


CLOSED = [
    (
        "hockey_stick(laplace_law(0, 2), laplace_law(1, 2), 1/4)",
        1 - math.exp((0.25 - 0.5) / 2),
    ),
    (
        "hockey_stick(laplace_law(1, 2), laplace_law(0, 2), 1/4)",
        1 - math.exp((0.25 - 0.5) / 2),
    ),
    (
        "hockey_stick(laplace_law(1/3, 2/3), laplace_law(0, 2/3), 1/5)",
        1 - math.exp((0.2 - 0.5) / 2),
    ),
    ("hockey_stick(laplace_law(1, 2), laplace_law(0, 2), 1/2)", 0.0),
    (
        "hockey_stick(exponential_law(1, 2), exponential_law(0, 2), 1/4)",
        1 - math.exp(0.25 - 0.5),
    ),
    (
        "hockey_stick(exponential_law(0, 2), exponential_law(1, 2), 1/4)",
        1 - math.exp(-0.5),
    ),
    ("hockey_stick(uniform_law(0, 1), uniform_law(1/3, 4/3), 1)", 1 / 3),
    ("hockey_stick(uniform_law(1/3, 2/3), uniform_law(0, 1), 1)", 1 - math.e / 3),
    ("total_variation(normal_law(0, 1), normal_law(1, 1))", math.erf(1 / math.sqrt(8))),
    ("renyi(normal_law(0, 2), normal_law(1, 2), 3)", 3 / 8),
    ("renyi(exponential_law(1, 2), exponential_law(0, 2), 5/2)", 0.5),
    (
        "renyi(laplace_law(0, 1), laplace_law(1, 1), 3)",
        math.log(3 / 5 * math.exp(2) + 2 / 5 * math.exp(-3)) / 2,
    ),
    ("renyi(normal_law(0, 1), normal_law(0, 2), 2)", math.log(4 / math.sqrt(7))),
    ("kl(normal_law(0, 1), normal_law(1, 2))", math.log(2) + 2 / 8 - 0.5),
    ("kl(laplace_law(0, 2), laplace_law(1, 2))", 0.5 + math.exp(-0.5) - 1),
    ("kl(exponential_law(1, 2), exponential_law(0, 2))", 0.5),
    ("max_divergence(laplace_law(0, 2), laplace_law(1, 2))", 0.5),
    (
        "max_divergence(mixture(1/10, laplace_law(1, 1), laplace_law(0, 1)), laplace_law(0, 1))",
        math.log(0.9 + 0.1 * math.e),
    ),
    ("max_divergence(response_law(4, 2, 0), response_law(4, 2, 1))", 2.0),
    ("zcdp(normal_law(0, 3), normal_law(1, 3))", 1 / 18),
    ("zcdp(discrete_normal_law(0, 3), discrete_normal_law(2, 3))", 4 / 18),
    ("kl(discrete_normal_law(0, 3), discrete_normal_law(2, 3))", 4 / 18),
    ("renyi(discrete_normal_law(0, 3), discrete_normal_law(2, 3), 2)", 8 / 18),
    ("kl(response_law(2, 1, 0), response_law(2, 1, 1))", math.tanh(0.5)),
    ("total_variation(response_law(2, 1, 0), response_law(2, 1, 1))", math.tanh(0.5)),
    (
        "hockey_stick(repeated(normal_law(0, 2), 4), repeated(normal_law(1, 2), 4), 0)",
        math.erf(1 / math.sqrt(8)),
    ),
    ("renyi(repeated(laplace_law(0, 1), 7), repeated(laplace_law(0, 1), 7), 2)", 0.0),
]


@for_each("text, expected", CLOSED)
def test_closed_forms(text: str, expected: float) -> None:
    assert holds(text, expected), f"{text}: {value(text)}, expected {expected}"


@for_each("scale", ["1", "997/964", "100", "1000000"])
def test_the_largest_ratio_to_a_mixture_is_known_for_scales_that_are_no_short_numbers(
    scale: str,
) -> None:
    """The slope of the ratio is 0 at one end of its range: rounding made it negative, and nothing was monotone."""
    text = "max_divergence(laplace_law(1, s), mixture(2/3, laplace_law(0, s), laplace_law(1, s)))"
    largest = ball(value(text, s=scale))
    step = 1 / Fraction(scale)
    assert float(largest.mid()) == pytest.approx(
        -math.log(1 / 3 + 2 / 3 * math.exp(-step)), rel=1e-9
    )
    assert float(largest.rad()) <= 1e-14


@for_each(
    "text",
    [
        "zcdp(laplace_law(0, 1), laplace_law(1, 1))",
        "zcdp(response_law(2, 1, 0), response_law(2, 1, 1))",
    ],
)
def test_the_best_order_is_between_all_orders_of_a_grid_and_the_kl_divergence(
    text: str,
) -> None:
    found = float(ball(value(text)).mid())
    orders = [1 + Fraction(i, 20) for i in range(1, 400)]
    renyi = text.replace("zcdp", "renyi").removesuffix(")") + ", z)"
    assert max(
        float(ball(value(renyi, z=z)).mid()) / float(z) for z in orders
    ) <= found * (1 + 1e-6)
    assert found == pytest.approx(
        float(ball(value(text.replace("zcdp", "kl"))).mid()), rel=1e-5
    )


def test_the_best_order_of_a_rare_event_is_not_the_first() -> None:
    text = "finite_law(1/100, 99/100), finite_law(1/10000, 9999/10000)"
    found = ball(value(f"zcdp({text})"))
    orders = (Fraction(1) + Fraction(i, 50) for i in range(1, 500))
    best = max(
        float(ball(value(f"renyi({text}, z)", z=z)).mid()) / float(z) for z in orders
    )
    assert float(ball(value(f"kl({text})")).mid()) < 0.9 * best
    assert best == pytest.approx(float(found.mid()), rel=1e-3)
    assert float(found.upper()) >= best


def every_event(
    first: list[Fraction], second: list[Fraction], factor: Fraction
) -> Fraction:
    places = range(len(first))
    events = chain.from_iterable(
        combinations(places, size) for size in range(len(first) + 1)
    )
    return max(
        sum((first[i] - factor * second[i] for i in event), start=Fraction(0))
        for event in events
    )


def test_the_hockey_stick_is_the_largest_difference_over_all_events_of_small_laws() -> (
    None
):
    rng = np.random.default_rng(7)
    for _ in range(20):
        weights = rng.integers(0, 9, size=(2, 6)) + np.array([[1], [1]]) * (
            np.arange(6) == 0
        )
        texts = [
            "finite_law(" + ", ".join(map(str, row)) + ")" for row in weights.tolist()
        ]
        first, second = (
            [Fraction(w, sum(row)) for w in row] for row in weights.tolist()
        )
        for factor in (Fraction(1, 2), Fraction(1), Fraction(3)):
            text = f"hockey_stick({texts[0]}, {texts[1]}, log(x))"
            found = ball(value(text, x=factor))
            expected = every_event(first, second, factor)
            with working_precision(128):
                assert abs(found - ball(expected)) < 1e-20


X = np.linspace(-60.0, 60.0, 2_400_001)


def normal(mean: float, deviation: float) -> np.ndarray:
    return np.exp(-((X - mean) ** 2) / (2 * deviation**2)) / (
        deviation * math.sqrt(2 * math.pi)
    )


def laplace(mean: float, scale: float) -> np.ndarray:
    return np.exp(-np.abs(X - mean) / scale) / (2 * scale)


MIXED = "mixture(1/3, normal_law(0, 2), normal_law(4, 3))"
SAMPLED = "mixture(1/10, normal_law(2, 2), normal_law(0, 2))"
KINKED = "mixture(1/4, laplace_law(1/3, 1), laplace_law(0, 1))"

PAIRS = [
    ("normal_law(0, 1)", "normal_law(1, 2)", normal(0, 1), normal(1, 2)),
    ("normal_law(1, 2)", MIXED, normal(1, 2), normal(0, 2) / 3 + normal(4, 3) * 2 / 3),
    (
        SAMPLED,
        "normal_law(0, 2)",
        normal(2, 2) / 10 + normal(0, 2) * 9 / 10,
        normal(0, 2),
    ),
    (
        KINKED,
        "laplace_law(0, 1)",
        laplace(1 / 3, 1) / 4 + laplace(0, 1) * 3 / 4,
        laplace(0, 1),
    ),
    ("laplace_law(0, 2)", "laplace_law(1, 3)", laplace(0, 2), laplace(1, 3)),
    ("normal_law(0, 1)", "laplace_law(1, 2)", normal(0, 1), laplace(1, 2)),
]


@for_each("first, second, p, q", PAIRS, ids=str)
def test_sums_on_a_fine_grid(
    first: str, second: str, p: np.ndarray, q: np.ndarray
) -> None:
    step = X[1] - X[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(p > 0, np.log(p) - np.log(q), 0.0)
    for epsilon in ("0", "1/10", "1/2"):
        expected = float(
            np.maximum(p - math.exp(float(Fraction(epsilon))) * q, 0).sum() * step
        )
        assert holds(
            f"hockey_stick({first}, {second}, x)", expected, 1e-6, {"x": epsilon}
        )
    assert holds(f"kl({first}, {second})", float((p * ratio).sum() * step), 1e-6)
    for order in ("3/2", "5"):
        z = float(Fraction(order))
        total = float(
            np.where(
                p > 0,
                np.exp(z * np.log(np.maximum(p, 1e-300)) + (1 - z) * np.log(q)),
                0,
            ).sum()
            * step
        )
        assert holds(
            f"renyi({first}, {second}, x)",
            math.log(total) / (z - 1),
            1e-6,
            {"x": order},
        )


INFINITE = [
    "renyi(normal_law(0, 2), normal_law(0, 1), 2)",
    "renyi(uniform_law(0, 1), uniform_law(1/2, 2), 2)",
    "renyi(laplace_law(0, 3), laplace_law(0, 1), 2)",
    "kl(laplace_law(0, 1), exponential_law(0, 1))",
    "kl(finite_law(1, 1), finite_law(1, 0))",
    "max_divergence(normal_law(0, 1), normal_law(1, 1))",
    "max_divergence(discrete_normal_law(1, 1), discrete_normal_law(0, 1))",
    "max_divergence(mixture(1/9, normal_law(1, 1), normal_law(0, 1)), normal_law(0, 1))",
    "max_divergence(exponential_law(0, 1), exponential_law(1, 1))",
    "pure_epsilon_of(neighbours(exponential_law(1, 1), exponential_law(0, 1)))",
]


@for_each("text", INFINITE)
def test_a_divergence_without_a_bound_is_infinite(text: str) -> None:
    assert value(text) == arb.pos_inf()


def test_both_directions_count() -> None:
    """The pair is not symmetric: one direction alone gives another number."""
    first, second = (
        "mixture(1/10, normal_law(1, 1), normal_law(0, 1))",
        "normal_law(0, 1)",
    )
    one = float(ball(value(f"hockey_stick({first}, {second}, 1/20)")).mid())
    other = float(ball(value(f"hockey_stick({second}, {first}, 1/20)")).mid())
    assert abs(one - other) > 0.01 * max(one, other)
    renyi = [
        float(ball(value(f"renyi({a}, {b}, 4)")).mid())
        for a, b in ((first, second), (second, first))
    ]
    for pair in ((first, second), (second, first)):
        assert holds(
            f"delta_of(neighbours({pair[0]}, {pair[1]}), 1/20)", max(one, other)
        )
        assert holds(f"renyi_of(neighbours({pair[0]}, {pair[1]}), 4)", max(renyi))
    assert renyi[0] > 1.1 * renyi[1]


def test_the_curves_that_formulas_have_had_before() -> None:
    sampled = (
        "neighbours(mixture(q, normal_law(mu, 1), normal_law(0, 1)), normal_law(0, 1))"
    )
    for numbers in (
        {"q": "1/100", "mu": "1", "e": "1/10"},
        {"q": "1/2", "mu": "2", "e": "1/3"},
    ):
        expected = float(
            ball(value("sampled_gaussian_delta(e, q, mu)", **numbers)).mid()
        )
        assert holds(f"delta_of({sampled}, e)", expected, numbers=numbers)
        renyi = float(ball(value("sampled_gaussian_renyi(4, q, mu)", **numbers)).mid())
        assert holds(f"renyi_of({sampled}, 4)", renyi, numbers=numbers)
    coins = "neighbours(binomial_law(40, 1/3), shifted(binomial_law(40, 1/3), 2))"
    assert holds(
        f"delta_of({coins}, 1/2)",
        float(ball(value("binomial_delta(1/2, 40, 1/3, 2)")).mid()),
    )
    expected = float(ball(value("gaussian_epsilon(1/1000, 1/2)")).mid())
    assert holds(
        "epsilon_of(neighbours(normal_law(0, 2), normal_law(1, 2)), 1/1000)", expected
    )


def test_a_scale_that_is_written_twice_is_one_number() -> None:
    """Without that, a ball of one would differ from the ball of the other, and the largest ratio would not be known."""
    assert holds(
        "pure_epsilon_of(neighbours(laplace_law(0, sqrt(x)), laplace_law(1, sqrt(x))))",
        1 / math.sqrt(2),
        numbers={"x": 2},
    )
    assert holds(
        "zcdp_of(neighbours(normal_law(0, sqrt(x)), normal_law(1, sqrt(x))))",
        1 / 4,
        numbers={"x": 2},
    )


@for_each(
    "text",
    [
        "renyi(laplace_law(0, 1), laplace_law(1, 1), 1)",
        "laplace_law(0, 0)",
        "mixture(2, normal_law(0, 1), normal_law(1, 1))",
        "hockey_stick(normal_law(0, 1), binomial_law(3, 1/2), 1)",
        "hockey_stick(repeated(normal_law(0, 1), 2), normal_law(0, 1), 1)",
        "delta_of(neighbours(normal_law(0, 1), normal_law(1, 1)), -1)",
        "discrete_normal_law(1/2, 1)",
        "shifted(discrete_laplace_law(0, 1), 1/2)",
    ],
)
def test_what_is_outside_of_its_range_is_refused(text: str) -> None:
    with pytest.raises(DomainError):
        value(text)


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(UnsupportedError, match="not bounded"):
        value(
            "zcdp(mixture(1/2, normal_law(1, 1), normal_law(0, 1)), normal_law(0, 1))"
        )
