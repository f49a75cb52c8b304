"""Constructors of laws from the numbers in a formula."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from flint import acb, arb, fmpq

from dpverify.symbolic.exact import elementary
from dpverify.symbolic.exact.numbers import (
    ONE,
    ZERO,
    DomainError,
    Value,
    WorkLimitError,
    spend,
    to_ball,
    working_precision,
)
from dpverify.symbolic.laws import law
from dpverify.symbolic.laws.components import (
    Component,
    Exponential,
    Laplace,
    Normal,
    Uniform,
)
from dpverify.symbolic.laws.discrete import DiscreteLaplace, DiscreteNormal, Finite
from dpverify.symbolic.laws.divergences import BITS
from dpverify.symbolic.laws.law import (
    Law,
    as_line,
    check_positive,
    check_probability,
    line,
)

_PARTS_OF_AN_OUTCOME = 3000


def laplace_law(mean: Value, scale: Value) -> Law:
    """Return a Laplace law."""
    check_positive("the scale of a law", scale)
    return line(Laplace(mean, scale))


def normal_law(mean: Value, deviation: Value) -> Law:
    """Return a normal law."""
    check_positive("the deviation of a law", deviation)
    return line(Normal(mean, deviation))


def exponential_law(start: Value, scale: Value) -> Law:
    """Return an exponential law on the numbers above ``start``."""
    check_positive("the scale of a law", scale)
    return line(Exponential(start, scale))


def uniform_law(low: Value, high: Value) -> Law:
    """Return a uniform law."""
    check_positive("the width of a uniform law", high - low)
    return line(Uniform(low, high))


def discrete_normal_law(mean: Value, deviation: Value) -> Law:
    """Return a discrete normal law around an integer."""
    check_positive("the deviation of a law", deviation)
    return line(
        DiscreteNormal(
            fmpq(elementary.as_int("discrete_normal_law", "m", mean)), deviation
        )
    )


def discrete_laplace_law(mean: Value, scale: Value) -> Law:
    """Return a discrete Laplace law around an integer."""
    check_positive("the scale of a law", scale)
    return line(
        DiscreteLaplace(
            fmpq(elementary.as_int("discrete_laplace_law", "m", mean)), scale
        )
    )


def binomial_law(count: Value, chance: Value) -> Law:
    """Return a binomial law."""
    coins = elementary.as_int("binomial_law", "n", count)
    if coins < 0:
        raise DomainError(f"binomial_law needs n >= 0, got {coins}.")
    _check_points("binomial_law", coins + 1)
    check_probability("p of binomial_law", chance)
    return line(
        Finite(
            tuple(map(fmpq, range(coins + 1))), tuple(_binomial_masses(coins, chance))
        )
    )


def _check_points(name: str, points: int) -> None:
    """Raise a WorkLimitError for a law with too many points."""
    if points > law.MOST_POINTS:
        raise WorkLimitError(
            f"{name} has {points} points; at most {law.MOST_POINTS} are summed."
        )


def _binomial_masses(coins: int, chance: Value) -> list[Value]:
    if chance in (ZERO, ONE):
        return [ONE if i == coins * chance else ZERO for i in range(coins + 1)]
    spend(8 * (coins + 1))
    failure = ONE - chance
    exact = isinstance(chance, fmpq) and coins * chance.height_bits() <= BITS
    mass = failure**coins if exact else to_ball(failure) ** coins
    masses = [mass]
    for i in range(coins):
        mass = mass * (coins - i) * chance / ((i + 1) * failure)
        masses.append(mass)
    return masses


def response_law(choices: Value, epsilon: Value, answer: Value) -> Law:
    """Return the law of the report of randomized response with k choices, 0 .. k - 1, on a true answer."""
    count = elementary.as_int("response_law", "k", choices)
    true_answer = elementary.as_int("response_law", "v", answer)
    if not 2 <= count <= law.MOST_POINTS or not 0 <= true_answer < count:
        raise DomainError(
            f"response_law needs k >= 2 and 0 <= v < k, got k={count} and v={true_answer}."
        )
    odds = elementary.exp(epsilon)
    total = odds + (count - 1)
    spend(count)
    masses = [odds / total if i == true_answer else ONE / total for i in range(count)]
    return line(Finite(tuple(map(fmpq, range(count))), tuple(masses)))


def finite_law(*weights: Value) -> Law:
    """Return the law on 0, 1, 2, ... with probabilities proportional to the weights."""
    for weight in weights:
        if weight < 0:
            raise DomainError(
                f"a weight of finite_law must be at least 0, got {weight}."
            )
    total = sum(weights, start=ZERO)
    check_positive("the sum of the weights of finite_law", total)
    return line(
        Finite(
            tuple(map(fmpq, range(len(weights)))),
            tuple(weight / total for weight in weights),
        )
    )


def point_law(place: Value) -> Law:
    """Return the law of a constant."""
    if not isinstance(place, fmpq):
        raise DomainError(f"point_law needs a fraction, got {place}.")
    return line(Finite((place,), (ONE,)))


def shifted(base: Law, shift: Value) -> Law:
    """Return the law of the number plus a shift."""
    shifted_law = as_line(base)
    if shifted_law.is_discrete and not isinstance(shift, fmpq):
        raise DomainError(f"a discrete law is shifted by a fraction, got {shift}.")
    if not shifted_law.is_finite and shifted_law.is_discrete:
        shift = fmpq(elementary.as_int("shifted", "a", shift))
    return shifted_law.map("moved", shift)


def scaled(base: Law, factor: Value) -> Law:
    """Return the law of the number times a factor above 0."""
    check_positive("the factor of scaled", factor)
    scaled_law = as_line(base)
    if scaled_law.is_discrete and not (
        scaled_law.is_finite and isinstance(factor, fmpq)
    ):
        raise DomainError(
            "of the discrete laws only finite ones are scaled, by fractions."
        )
    return scaled_law.map("stretched", factor)


def repeated(base: Law, times: Value) -> Law:
    """Return the law of ``times`` independent numbers with the same law."""
    return law.repeated(base, at_least_1("repeated", "k", times))


def at_least_1(function: str, name: str, value: Value) -> int:
    """Return an integer of at least 1, or raise a DomainError."""
    count = elementary.as_int(function, name, value)
    if count < 1:
        raise DomainError(f"{function} needs {name} >= 1, got {count}.")
    return count


def above_threshold_law(
    count: Value, low: Value, last: Value, threshold: Value, query: Value
) -> Law:
    """Return the law of the index of the first of k noisy answers above a noisy threshold around 0, or 0 for none.

    All true answers except the last one are ``low``. Both noises are Laplace: ``threshold`` and ``query`` are their
    scales, and ``query`` may be 0.
    """
    answers = at_least_1("above_threshold_law", "k", count)
    _check_points("above_threshold_law", answers + 1)
    check_positive("the scale of the threshold's noise", threshold)
    if query < 0:
        raise DomainError(
            f"the scale of the answers' noise must be at least 0, got {query}."
        )
    with working_precision(BITS):
        noise = Laplace(ZERO, threshold)
        if query == 0:
            masses = _without_query_noise(noise, answers, to_ball(low), to_ball(last))
        else:
            masses = _with_query_noise(
                noise, answers, Laplace(low, query), Laplace(last, query)
            )
    return line(Finite(tuple(map(fmpq, range(answers + 1))), tuple(masses)))


def _without_query_noise(
    noise: Component, answers: int, low: arb, last: arb
) -> list[Value]:
    first = noise.below(low) if answers > 1 else arb(0)
    final = (
        noise.below(last) if answers == 1 else (noise.below(last) - first).max(arb(0))
    )
    middle = [ZERO] * max(answers - 2, 0)
    return [1 - first - final, *([first] if answers > 1 else []), *middle, final]


def _with_query_noise(
    noise: Laplace, answers: int, low: Laplace, last: Laplace
) -> list[Value]:
    """Integrate the probabilities of the outcomes over the threshold t: ``F(t)**(j-1)*(1 - F(t))`` for answer j < k."""
    spend(_PARTS_OF_AN_OUTCOME * answers)
    kinks = sorted(
        {arb(0).mid(), *(to_ball(kink).mid() for kink in (low.mean, last.mean))},
        key=float,
    )
    ends = noise.reach(BITS)
    cuts = [ends[0], *kinks, ends[1]]
    outside = arb(2) ** (1 - BITS) * arb(0.5, 0.5)
    masses: list[Value] = []
    for outcome in range(answers + 1):
        total = outside
        for left, right in pairwise(cuts):
            inside = ((left + right) / 2).mid()
            chance = partial(_chance, outcome, answers, inside, (noise, low, last))
            total += acb.integral(
                chance,
                acb(left),
                acb(right),
                abs_tol=arb(2) ** -100,
                rel_tol=arb(2) ** -70,
            ).real
        masses.append(total)
    return masses


def _chance(
    outcome: int,
    answers: int,
    inside: arb,
    laws: tuple[Laplace, Laplace, Laplace],
    t: acb,
    _: bool,
) -> acb:
    """Return the threshold's density at t times the chance of an outcome, on the piece that contains ``inside``."""
    noise, low, last = laws
    density = noise.quadratic(inside)
    if density is None:
        raise AssertionError("a Laplace law has a density everywhere")
    below, above = _tails(low, inside, t)
    last_below, last_above = _tails(last, inside, t)
    value = (acb(to_ball(density.a)) + acb(to_ball(density.b)) * t).exp()
    if outcome == 0:
        return value * below ** (answers - 1) * last_below
    if outcome == answers:
        return value * below ** (answers - 1) * last_above
    return value * below ** (outcome - 1) * above


def _tails(noise: Laplace, inside: arb, t: acb) -> tuple[acb, acb]:
    """Return the probabilities of at most t and of above t for a complex t, on the piece that contains ``inside``."""
    x = (t - acb(to_ball(noise.mean))) / acb(to_ball(noise.scale))
    if inside > noise.mean:
        tail = (-x).exp() / 2
        return 1 - tail, tail
    tail = x.exp() / 2
    return tail, 1 - tail
