"""Ready left sides of privacy claims, each held against what is computed in another way."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from dpverify.ledger.formula import parse
from dpverify.symbolic.exact.evaluate import decide, evaluate
from dpverify.symbolic.exact.numbers import DomainError, Exact, ball
from tests.for_each import for_each
from tests.unit.symbolic.exact.test_laws import density, integrated

BITS = 40  # to which a value has to be known at 256 bits


def value(text: str, **letters: str | int) -> float:
    """A formula at a point; its ball has to be narrow."""
    found = evaluate(
        parse(text), {name: Fraction(number) for name, number in letters.items()}
    )
    assert (
        isinstance(found, int | Fraction)
        or found.is_exact()
        or found.rel_accuracy_bits() > BITS
    )
    return float(found)


@for_each(
    ("delta", "mu"),
    [("1e-5", "1"), ("1e-12", "1/3"), ("1/10", "1/2"), ("1e-300", "30")],
)
def test_the_epsilon_of_gaussian_noise(delta: str, mu: str) -> None:
    m, level = float(Fraction(mu)), math.log(float(Fraction(delta)))

    def log_delta(e: float) -> float:
        first, second = norm.logcdf(m / 2 - e / m), e + norm.logcdf(-m / 2 - e / m)
        return float(first + math.log1p(-math.exp(second - first)))

    expected = brentq(lambda e: log_delta(e) - level, 1e-9, 5000.0, xtol=1e-12)
    found = value("gaussian_epsilon(delta, mu)", delta=delta, mu=mu)
    assert found == pytest.approx(expected, rel=1e-8)


def test_no_epsilon_is_needed_where_delta_is_large() -> None:
    assert value("gaussian_epsilon(1/2, 1/2)") == 0
    assert value("zcdp_epsilon(0.9, 0.001)") == 0
    assert value("renyi_epsilon(0.9, 2, 0)") == 0


def test_no_delta_is_more_than_1() -> None:
    assert value("renyi_delta(0, 2, 50)") == 1


@for_each(
    ("delta", "q", "mu"),
    [("1/1000", "1/10", "1"), ("1/50", "1/4", "2"), ("1/1000", "1/2", "3")],
)
def test_the_epsilon_of_sampled_gaussian_noise(delta: str, q: str, mu: str) -> None:
    found = value("sampled_gaussian_epsilon(delta, q, mu)", delta=delta, q=q, mu=mu)
    rate, shift, level = float(Fraction(q)), float(Fraction(mu)), float(Fraction(delta))
    assert (
        integrated(found * 0.999, rate, shift)
        > level
        > integrated(found * 1.001, rate, shift)
    )


@for_each(
    ("z", "q", "mu"),
    [(2, "1/10", "1"), (5, "1/3", "1/2"), (8, "1", "1"), (3, "0", "1")],
)
def test_the_divergence_of_sampled_gaussian_noise(z: int, q: str, mu: str) -> None:
    rate, shift = float(Fraction(q)), float(Fraction(mu))

    def integrand(x: float) -> float:
        ratio = 1 - rate + rate * math.exp(shift * x - shift**2 / 2)
        return ratio**z * density(x)

    expected = math.log(quad(integrand, -15, 15 + z * shift, limit=400)[0]) / (z - 1)
    assert value("sampled_gaussian_renyi(z, q, mu)", z=z, q=q, mu=mu) == pytest.approx(
        expected, abs=1e-9
    )


@for_each(("z", "r"), [("2", "1/2"), ("3/2", "1"), ("32", "1/100"), ("5", "0")])
def test_a_renyi_bound_gives_what_the_worst_loss_gives(z: str, r: str) -> None:
    """delta is the mean of ``1 - exp(e - loss)`` where that is positive; the bound is one of ``exp((z-1) loss)``."""
    order, bound = float(Fraction(z)), float(Fraction(r))
    loss = 3 + np.linspace(1e-6, 12, 1_000_001)
    best = (
        float((np.log(-np.expm1(3 - loss)) - (order - 1) * loss).max())
        + (order - 1) * bound
    )
    assert value("log(renyi_delta(3, z, r))", z=z, r=r) == pytest.approx(
        min(best, 0.0), abs=1e-6
    )
    if best < 0:
        assert value(
            "renyi_epsilon(renyi_delta(3, z, r), z, r)", z=z, r=r
        ) == pytest.approx(3.0)


@for_each(
    ("epsilon", "rho"),
    [("1", "1/10"), ("0", "5"), ("3", "1/2"), ("50", "1"), ("8", "1/100")],
)
def test_the_best_order_is_taken(epsilon: str, rho: str) -> None:
    found, rate, room = (
        value("log(zcdp_delta(e, rho))", e=epsilon, rho=rho),
        float(Fraction(rho)),
        int(epsilon),
    )
    z = 1 + np.exp(np.linspace(-25, 12, 400_001))
    at = (z - 1) * (rate * z - room + np.log1p(-1 / z)) - np.log(z)
    assert found == pytest.approx(min(0.0, at.min()), rel=1e-6)
    assert found <= at.min() + 1e-12
    if room > 0:
        assert value(
            "zcdp_epsilon(zcdp_delta(e, rho), rho)", e=epsilon, rho=rho
        ) == pytest.approx(room, abs=1e-9)


def test_a_conversion_is_no_better_than_the_truth() -> None:
    """Gaussian noise is rho-zCDP with rho = mu^2/2, and its delta is known."""
    for epsilon, mu in (("1", "1"), ("3", "1/2"), ("10", "2")):
        letters = {"e": epsilon, "mu": mu}
        exact = value("gaussian_delta(e, mu)", **letters)
        best = value("zcdp_delta(e, mu**2/2)", **letters)
        assert exact < best < value("exp(-(e - mu**2/2)**2/(2*mu**2))", **letters)
        assert best <= value("renyi_delta(e, 3, 3*mu**2/2)", **letters)


@for_each(
    "text",
    ["gaussian_epsilon(0, 1)", "renyi_delta(1, 1, 1)", "renyi_epsilon(0, 2, 1)", "renyi_delta(1, 2, -1)",
     "zcdp_delta(-1, 1)", "zcdp_epsilon(1, 1)", "zcdp_delta(1, 0)", "sampled_gaussian_renyi(1, 1/2, 1)",
     "sampled_gaussian_renyi(3/2, 1/2, 1)", "sampled_gaussian_renyi(2, 2, 1)", "tree_nodes(0, 3)",
     "binomial(1/2, 1)", "binomial(-1, 1)"],
)  # fmt: skip
def test_what_is_outside_of_its_range_is_refused(text: str) -> None:
    with pytest.raises(DomainError):
        evaluate(parse(text), {})


def test_tree_nodes_are_the_fewest_dyadic_intervals() -> None:
    most = 40
    sizes = [
        (1 << k, i << k) for k in range(7) for i in range(most) if (i + 1) << k <= most
    ]
    for first in range(1, most + 1):
        # intervals from there to each end, by the length of the shortest way
        fewest = {first - 1: 0}
        for end in range(first, most + 1):
            fewest[end] = 1 + min(
                fewest[start]
                for size, start in sizes
                if start + size == end and start in fewest
            )
            assert value("tree_nodes(a, b)", a=first, b=end) == fewest[end]
        assert value("tree_nodes(a, a - 1)", a=first) == 0
    assert all(value("tree_nodes(1, t) - popcount(t)", t=t) == 0 for t in range(1, 200))


def test_binomials_add_up() -> None:
    assert value("sum(binomial(30, k), k, 0, 30)") == 2**30
    assert [value("binomial(4, k)", k=k) for k in range(-1, 6)] == [0, 1, 4, 6, 4, 1, 0]


def test_the_divergence_of_two_laws_on_a_grid() -> None:
    """Of two binomial laws, and of noise that is rounded to a grid, against numbers in floats."""
    masses = [math.comb(20, k) for k in range(21)]
    p, q = np.array([*masses, 0]) / 2**20, np.array([0, *masses]) / 2**20
    text = "sum(max(binomial(20, k)/2**20 - exp(e)*binomial(20, k - 1)/2**20, 0), k, 0, 21)"
    assert value(text, e="1/4") == pytest.approx(
        np.maximum(p - math.exp(0.25) * q, 0).sum(), rel=1e-12
    )

    def mass(shift: str) -> str:
        return f"(normal_cdf((i + 1)/4 - {shift}) - normal_cdf(i/4 - {shift}))"

    grid = f"sum(max({mass('1')} - exp(e)*{mass('0')}, 0), i, -40, 60)"
    ends = np.arange(-40, 62) / 4
    p, q = np.diff(norm.cdf(ends - 1)), np.diff(norm.cdf(ends))
    found = value(grid, e="3/5")
    assert found == pytest.approx(np.maximum(p - math.exp(0.6) * q, 0).sum(), rel=1e-9)
    assert found < value("gaussian_delta(3/5, 1)")  # rounding is post-processing

    def below(bits: int) -> Exact:
        return evaluate(parse(grid), {"e": Fraction(3, 5)}, precision=bits)

    assert (
        decide(
            below,
            "<=",
            lambda bits: evaluate(parse("gaussian_delta(3/5, 1)"), {}, precision=bits),
        )
        is True
    )


@for_each(
    "rho",
    [
        Fraction(1, 10**9),
        Fraction(1, 2),
        Fraction(10),
        Fraction(10**6),
        Fraction(10**30),
    ],
)
@for_each("delta", [Fraction(1, 3), Fraction(1, 10**9), Fraction(1, 10**100)])
def test_a_zero_concentrated_bound_of_any_size_has_an_epsilon_below_the_classic_one(
    rho: Fraction, delta: Fraction
) -> None:
    """Its best order is 1 + exp(-rho) or so where rho is large, which no order of so many bits can be."""
    found = evaluate(parse("zcdp_epsilon(delta, rho)"), {"rho": rho, "delta": delta})
    classic = rho + 2 * math.sqrt(rho * -math.log(delta))
    assert float(found) < classic * (1 + 1e-15)
    assert float(found) > float(rho) or rho < 10
    if found != 0:
        back = evaluate(
            parse("zcdp_delta(epsilon, rho)"), {"rho": rho, "epsilon": found}
        )
        assert abs(ball(back) - ball(delta)) < ball(delta) / 2**20
