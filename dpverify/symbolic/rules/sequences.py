"""Rules on the convolution of two geometric sequences, other sums, powers, polynomials on intervals, and binomials.

The convolution is ``c_i = sum_{j<i} u**j * v**(i-1-j)``, so that ``c_0 = 0`` and ``c_(i+1) = u*c_i + v**i``. A sum
telescopes if its terms are differences of consecutive values of a form in ``c_i`` and ``v**i``. The conditions of a
rule state that its terms are such differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import sympy
from sympy import Dummy, Function, Integer, Lambda, Rational, Sum, Symbol, floor

from dpverify.symbolic.expressions.functions import Binomial
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.prove.comparisons import are_equal
from dpverify.symbolic.prove.facts import Facts
from dpverify.symbolic.rules.base import (
    Condition,
    ForAll,
    Holds,
    IsInteger,
    Rule,
    at_most,
    equal,
)

a, b, d, p, r, s, u, v, x, y = (Symbol(name, real=True) for name in "abdprsuvxy")
low = Symbol("low", real=True)
high = Symbol("high", real=True)
k, m, n, top = (Symbol(name, integer=True) for name in ("k", "m", "n", "top"))
i, j, t = (Dummy(name, integer=True) for name in "ijt")
f = Function("f", real=True)


def convolution(first: Any, second: Any, count: Any, index: Any = j) -> Any:
    """Return term ``count`` of the convolution of two geometric sequences.

    It is ``sum_{j<count} first**j*second**(count-1-j)``.
    """
    return Sum(first**index * second ** (count - 1 - index), (index, 0, count - 1))


@dataclass(frozen=True)
class AreEqual(Condition):
    """Two expressions are proven equal."""

    left: Any
    right: Any

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether sympy proves the equality."""
        return are_equal(self.left, self.right, facts)

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True)
class BernsteinOrder(Condition):
    """``small <= large`` on an interval, because no Bernstein coefficient of the difference is negative."""

    small: Any  # polynomials with rational coefficients in the variable
    large: Any
    variable: Any  # a symbol in every instance
    low: Any  # rational ends of the interval in every instance
    high: Any

    def is_met(self, facts: Facts, variables: Mapping[str, Variable]) -> bool:
        """Test whether all coefficients are rational and nonnegative. The degree is not raised."""
        return bool(self.coefficients) and all(
            coefficient >= 0 for coefficient in self.coefficients
        )

    @property
    def coefficients(self) -> list[Any]:
        """Bernstein coefficients of the difference; empty unless the ends and the coefficients are rational."""
        unit = Dummy("unit")
        ends_known = (
            self.variable.is_Symbol and self.low.is_Rational and self.high.is_Rational
        )
        if not ends_known or not self.low < self.high:
            return []
        moved = (self.large - self.small).xreplace(
            {self.variable: self.low + (self.high - self.low) * unit}
        )
        try:
            monomial_coefficients = sympy.Poly(moved, unit).all_coeffs()[::-1]
        except sympy.PolynomialError:
            return []
        if not all(c.is_Rational for c in monomial_coefficients):
            return []
        degree = len(monomial_coefficients) - 1
        shares = (
            [
                monomial_coefficients[k] * Rational(comb(place, k), comb(degree, k))
                for k in range(place + 1)
            ]
            for place in range(degree + 1)
        )
        return [sum(share, Integer(0)) for share in shares]

    def __str__(self) -> str:
        return f"{self.small} <= {self.large} for {self.low} <= {self.variable} <= {self.high}"


_RATE = real(0, 1, open_hi=True)
_ANY = real(-3, 3)
_TERM = convolution(u, v, i)

RULES = (
    Rule(
        "convolution-next",
        equal(convolution(u, v, m + 1), u * convolution(u, v, m) + v**m),
        "The term j = 0 is v**m; each other one is u times the term j - 1 of the shorter sum.",
        (Holds(m >= 0), IsInteger(m)),
        {"u": _RATE, "v": _RATE, "m": integer(0, 12)},
    ),
    Rule(
        "convolution-nonnegative",
        at_most(Integer(0), convolution(u, v, m)),
        "Every term is a product of powers of numbers that are not negative, with exponents that are not negative.",
        (Holds(u >= 0), Holds(v >= 0), IsInteger(m)),
        {"u": _RATE, "v": _RATE, "m": integer(-1, 12)},
    ),
    Rule(
        "convolution-squares",
        equal(
            Sum(p * _TERM**2 + r * _TERM * v**i + s * v ** (2 * i), (i, 0, m - 1)),
            d - a * convolution(u, v, m) ** 2 - b * convolution(u, v, m) * v**m - d * v ** (2 * m),
        ),
        "Telescoping: by the conditions the term i is P_i - P_(i+1), P_i = a*c_i**2 + b*c_i*v**i + d*v**(2*i), as "
        "c_(i+1) = u*c_i + v**i; and P_0 = d.",
        (
            AreEqual(a * (1 - u**2), p),
            AreEqual(b * (1 - u * v) - 2 * a * u, r),
            AreEqual(d * (1 - v**2) - b * v - a, s),
            Holds(m >= 0),
            IsInteger(m),
        ),
        {
            "u": _RATE, "v": _RATE, "a": _ANY, "b": _ANY, "d": _ANY, "m": integer(0, 12),
            "p": real(a * (1 - u**2), a * (1 - u**2)),
            "r": real(b * (1 - u * v) - 2 * a * u, b * (1 - u * v) - 2 * a * u),
            "s": real(d * (1 - v**2) - b * v - a, d * (1 - v**2) - b * v - a),
        },
    ),
    Rule(
        "convolution-increments",
        equal(
            convolution(u, v, m) ** 2,
            Sum((u**2 - 1) * _TERM**2 + 2 * u * _TERM * v**i + v ** (2 * i), (i, 0, m - 1)),
        ),
        "Telescoping: the term i is c_(i+1)**2 - c_i**2, and c_0 = 0.",
        (Holds(m >= 0), IsInteger(m)),
        {"u": _RATE, "v": _RATE, "m": integer(0, 12)},
    ),
    Rule(
        "convolution-sum",
        equal(Sum(p * _TERM + s * v**i, (i, 0, m - 1)), d - a * convolution(u, v, m) - d * v**m),
        "Telescoping: by the conditions the term i is P_i - P_(i+1), P_i = a*c_i + d*v**i; and P_0 = d.",
        (AreEqual(a * (1 - u), p), AreEqual(d * (1 - v) - a, s), Holds(m >= 0), IsInteger(m)),
        {
            "u": _RATE, "v": _RATE, "a": _ANY, "d": _ANY, "m": integer(0, 12),
            "p": real(a * (1 - u), a * (1 - u)), "s": real(d * (1 - v) - a, d * (1 - v) - a),
        },
    ),
    Rule(
        "arithmetic-geometric",
        equal(Sum(i * x ** (m - i), (i, 0, m)), (m - x * (1 - x**m) / (1 - x)) / (1 - x)),
        "Induction on m: x times the right side, plus m + 1, is the right side for m + 1; both are 0 for m = 0.",
        (Holds(sympy.Ne(x, 1)), Holds(m >= 0), IsInteger(m)),
        {"x": _RATE, "m": integer(0, 30)},
    ),
    Rule(
        "sum-integers",
        equal(Sum(i, (i, 0, m)), m * (m + 1) / 2),
        "Induction on m; the term 0 adds nothing.",
        (Holds(m >= 0), IsInteger(m)),
        {"m": integer(0, 40)},
    ),
    Rule(
        "sum-by-blocks",
        at_most(Sum(f(floor(t / n)), (t, 1, top)), n * Sum(f(i), (i, 0, floor(top / n)))),
        "floor(t/n) = i for n values of t at most, and no term is negative.",
        (ForAll(i, Integer(0), sympy.oo, f(i) >= 0), Holds(n >= 1), IsInteger(n), IsInteger(top), Holds(top >= 0)),
        {"n": integer(1, 9), "top": integer(0, 60)},
        {"f": Lambda(i, 1 / (3 + i**2))},
    ),
    Rule(
        "equal-arguments",
        equal(f(m), f(n)),
        "A function has one value at equal numbers.",
        (AreEqual(m, n), IsInteger(m), IsInteger(n)),
        {"m": integer(-3, 9), "n": integer(m, m)},
        {"f": Lambda(i, 1 / (3 + i**2))},
    ),
    Rule(
        "power-chord",
        at_most(x**y, 1 - (1 - x**d) * y / d),
        "x**y is convex in y, so on [0, d] it lies below the chord from (0, 1) to (d, x**d); 0**y is 0 for y > 0.",
        (Holds(x >= 0), Holds(y >= 0), Holds(y <= d), Holds(d > 0)),
        {"x": real(0, 3), "d": real(0, 5, open_lo=True), "y": real(0, d)},
    ),
    Rule(
        "bernstein",
        at_most(a, b),
        "b - a is a combination of its Bernstein coefficients, with weights that are not negative on the interval.",
        (BernsteinOrder(a, b, x, low, high), Holds(low <= x), Holds(x <= high)),
        {"low": real(-1, 0), "high": real(1, 2), "x": real(low, high), "a": _ANY, "b": real(a, 9)},
    ),
    Rule(
        "binomial-zero",
        equal(Binomial(n, 0), Integer(1)),
        "There is one way to choose nothing.",
        (Holds(n >= 0), IsInteger(n)),
        {"n": integer(0, 30)},
    ),
    Rule(
        "binomial-next",
        equal(Binomial(n, k + 1), Binomial(n, k) * (n - k) / (k + 1)),
        "n!/((k + 1)! (n - k - 1)!) is n!/(k! (n - k)!) times (n - k)/(k + 1); from k = n on both sides are 0.",
        (Holds(n >= 0), Holds(k >= 0), IsInteger(n), IsInteger(k)),
        {"n": integer(0, 30), "k": integer(0, 32)},
    ),
)  # fmt: skip
