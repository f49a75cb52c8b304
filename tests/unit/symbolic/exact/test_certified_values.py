"""Integrals and extrema hold known values, or are refused by name; what forgets a part of the range is noticed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from dpverify.ledger.formula import parse, parse_relation
from dpverify.symbolic.exact import integrals
from dpverify.symbolic.exact.evaluate import evaluate, holds
from dpverify.symbolic.exact.extrema import ExtremumValue
from dpverify.symbolic.exact.numbers import EvaluationError, Exact, ball
from tests.for_each import for_each


def value(text: str, **env: str) -> Exact:
    return evaluate(
        parse(text), {name: Fraction(number) for name, number in env.items()}
    )


VALUES = [
    ("integral(exp(-x**2), x)", "sqrt(pi())"),
    ("integral(x**2, x, 1, 0)", "-1/3"),
    ("integral(x, x, 2, 2)", "0"),
    ("integral(0, x, 0, oo)", "0"),
    ("integral(exp(-x), x, oo, 0)", "-1"),
    ("integral(exp(-x), x, log(2), oo)", "1/2"),
    ("integral(x**2, x, 0, sqrt(2))", "2*sqrt(2)/3"),
    ("integral(1/sqrt(x*(1 - x)), x, 0, 1)", "pi()"),
    ("integral(log(x), x, 0, 1)", "-1"),
    ("integral(sqrt(1 - x**2), x, -1, 1)", "pi()/2"),
    ("integral(min(1, 1/x**2), x, 0, oo)", "2"),
    ("integral(x**(-1.1), x, 1, oo)", "10"),
    ("integral(1/(1 + x**4), x)", "pi()/sqrt(2)"),
    ("integral(exp(-sqrt(x)), x, 0, oo)", "2"),
    ("integral(exp(-1/x)/x**2, x, 0, 1)", "exp(-1)"),
    ("integral(log(1 + exp(-x)), x, 0, oo)", "pi()**2/12"),
    ("integral(normal_cdf(-x), x, 0, oo)", "1/sqrt(2*pi())"),
    ("integral(density(x - sqrt(2), 1), x)", "1"),
    ("integral(density(x - 1000, 1/1000), x)", "1"),
    ("integral(exp(-x/10**12), x, 0, oo)", "10**12"),
    ("integral(exp(-x*10**12), x, 0, oo)", "10**(-12)"),
    ("integral(exp(-abs(x)/3)/6, x)", "1"),
    ("integral(floor(x), x, 0, 3.5)", "4.5"),
    ("integral(sum(x**i, i, 0, 3), x, 0, 1)", "25/12"),
    ("integral(x*integral(t, t, 0, 1), x, 0, 1)", "1/4"),
    (
        "integral(max(density(x - 1, 1) - exp(8)*density(x, 1), 0), x)",
        "gaussian_delta(8, 1)",
    ),
    (
        "integral(max(exp(-abs(x - 1)/3) - exp(1/10)*exp(-abs(x)/3), 0)/6, x)",
        "laplace_delta(1/10, 1/3)",
    ),
    (
        "log(integral((0.99*density(x, 2) + density(x - 1, 2)/100)**8*density(x, 2)**(-7), x))/7",
        "sampled_gaussian_renyi(8, 1/100, 1/2)",
    ),
    ("integral(density(x - 1, 2)*log(density(x - 1, 2)/density(x, 2)), x)", "1/8"),
]

EXTREMA = [
    ("infimum(z/10 + log(10**5)/(z - 1), z, 1, oo)", "1/10 + 2*sqrt(log(10**5)/10)"),
    (
        "infimum(z*10**9 + log(10**5)/(z - 1), z, 1, oo)",
        "10**9 + 2*sqrt(log(10**5)*10**9)",
    ),
    (
        "infimum(z/10**9 + log(10**5)/(z - 1), z, 1, oo)",
        "10**(-9) + 2*sqrt(log(10**5)/10**9)",
    ),
    ("infimum(z, z, sqrt(2), oo)", "sqrt(2)"),
    ("infimum(max(z, 1/z), z, 0, oo)", "1"),
    ("infimum(z*log(z), z, 0, oo)", "-exp(-1)"),
    ("infimum(exp(z) - z, z, -oo, oo)", "1"),
    ("infimum(1 - exp(-((z - 1/3)*10**6)**2) + 1, z, 0, 1)", "1"),
    ("infimum(sum(z**i, i, 0, 3), z, -2, 1)", "-5"),
    ("supremum(z**2, z, 0, 1)", "1"),
    ("supremum(z*exp(-z), z, 0, oo)", "exp(-1)"),
    ("supremum(-sqrt(1 - z) - abs(z - 1/2), z, 0, 1)", "-1/2"),
]
WIDE = [
    ("infimum(z**2, z, -oo, oo)", "0"),
    ("infimum(1/z, z, 1, oo)", "0"),
    ("infimum(1 - exp(-((z - 1/3)*10**20)**2), z, 0, 1)", "0"),
    ("infimum(floor(z), z, 0, 3.5)", "0"),
    (
        "infimum(renyi_of(neighbours(normal_law(0, 2), normal_law(1, 2)), z) + log(10**5)/(z - 1), z, 1, oo)",
        "1/8 + 2*sqrt(log(10**5)/8)",
    ),
]

REFUSED = [
    (
        "infimum(-z, z, 1, oo)",
        "the infimum of -z over 1 < z < oo: no bound of its formula is known for all z",
    ),
    ("supremum(z**2, z, 0, oo)", "no bound of its formula is known"),
    ("infimum(log(z - 2), z, 1, oo)", "its formula has no value at z = 1.00391"),
    ("infimum(z, z, 2, 1)", "no number lies between 2 and 1"),
    (
        "infimum(infimum(z*t, t, 1, 2), z, 1, 2)",
        "infimums that depend on z have no certain bounds",
    ),
    (
        "infimum(integral(exp(-z*x), x, 0, 1), z, 1, 2)",
        "integrals that depend on z have no certain bounds",
    ),
    ("infimum(gamma(z), z, 0, oo)", "how gamma grows is not known"),
    ("integral(1/x, x, 1, oo)", "the integral of 1/x over x from 1 to oo: it diverges"),
    ("integral(1/x, x, 0, 1)", "it diverges"),
    ("integral(exp(-x**2) + 10**(-30), x)", "it diverges"),
    ("integral(exp(x), x, oo, 0)", "it diverges"),
    ("integral(1/x, x, -1, 1)", "no value at x = 0 .* can only be a limit"),
    ("integral(1/(x**2 - 2), x, 0, 2)", "not known to be defined and bounded"),
    ("integral(0*log(x), x, -1, 1)", "no value at x = 0"),
    ("integral(max(1, log(x)), x, -1, 1)", "no value at x = 0"),
    ("integral(sqrt(x - 10**(-3)), x, 0, 1)", "no value at x = 9.537e-07"),
    ("integral((-1)**x, x, 0, 1)", "no value at x = 0.5"),
    ("integral(1/(x*log(x)**2), x, 2, oo)", "no finite bound of its tail is known"),
    ("integral(erf(x), x)", "no finite bound of its tail is known"),
    ("integral(floor(x)*exp(-x), x, 0, oo)", "how floor grows is not known"),
    ("integral(bit(3, x), x, 0, 1)", "bit of the letter of an integral is not known"),
    ("integral(integral(x*t, t, 0, 1), x, 0, 1)", "it has integrals that depend on x"),
    ("integral(sum(x, i, 1, 2000), x, 0, 1)", "more than 1000 terms"),
]


@for_each(("text", "expected"), [*VALUES, *EXTREMA, *WIDE, *REFUSED])
def test_certified_values_hold_known_ones_or_are_refused_by_name(
    text: str, expected: str
) -> None:
    if (text, expected) in REFUSED:
        with pytest.raises(EvaluationError, match=expected):
            value(text)
        return
    result = ball(value(text))
    exact = ball(value(expected))
    assert result.overlaps(exact)
    if (text, expected) in WIDE:
        return
    assert exact == 0 or result.rel_accuracy_bits() >= (
        40 if (text, expected) in EXTREMA else 50
    )
    above = f"{expected} + abs({expected})/10**9 + 10**(-30)"
    assert holds(parse_relation(f"{text} < {above}"), {}) is True
    assert holds(parse_relation(f"{above} <= {text}"), {}) is False


def test_what_forgets_a_part_of_the_range_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An integral without its tail, and an infimum on a grid, which would refute what one narrow range makes true."""
    with monkeypatch.context() as patch:
        patch.setattr(integrals, "_tail_of", lambda envelope, start: arb(0))
        assert not ball(value("integral(1/(x + 1)**2, x, 0, oo)")).overlaps(arb(1))
    needle = "infimum(1 - exp(-((z - 1/3)*10**{})**2), z, 0, 1) <= 1/2"
    claim = parse_relation(needle.format(12))
    assert holds(claim, {}) is not False
    monkeypatch.setattr(ExtremumValue, "_lower_inside", _on_grid)
    assert holds(parse_relation(needle.format(13)), {}) is False, (
        "a grid refutes what is true at 1/3"
    )


def _on_grid(extremum: ExtremumValue, env: dict[str, Any], cell: Any) -> arb | None:
    """Return the smallest value at the ends and in the middle of a cell: a bound at these numbers only."""
    points = [
        end for end in (cell.left, (cell.left + cell.right) / 2, cell.right) if end > 0
    ]
    values = [extremum._at_number(env, cell.half, point) for point in points]
    return min((known.lower() for known in values if known is not None), default=None)
