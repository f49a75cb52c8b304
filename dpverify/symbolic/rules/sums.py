"""Rules about geometric sums, sums whose summand is any function of the index, and a Gaussian integral."""

from __future__ import annotations

import sympy
from sympy import (
    Dummy,
    Function,
    Integer,
    Integral,
    Lambda,
    Piecewise,
    Sum,
    Symbol,
    exp,
    oo,
    pi,
    sqrt,
)

from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.rules.base import ForAll, Holds, IsInteger, Rule, at_most, equal

x, c, s, k = (Symbol(name, real=True) for name in "xcsk")
m, lo, hi, more = (Symbol(name, integer=True) for name in ("m", "lo", "hi", "more"))
i = Dummy("i", integer=True)
v = Dummy("v", real=True)
f = Function("f", real=True)
g = Function("g", real=True)

_RATIO = real(0, 1, open_hi=True)
_EXAMPLE = Lambda(i, 1 / (3 + i**2))
_LARGER = Lambda(i, 2 / (3 + i**2))

RULES = (
    Rule(
        "geometric-series",
        equal(Sum(x**i, (i, 0, oo)), 1 / (1 - x)),
        "(1 - x) times the partial sum is 1 - x**(n + 1), which tends to 1.",
        (Holds(x >= 0), Holds(x < 1)),
        {"x": _RATIO},
    ),
    Rule(
        "geometric-sum",
        equal(Sum(x**i, (i, 0, m - 1)), (1 - x**m) / (1 - x)),
        "(1 - x) times the sum telescopes; the empty sum is 0.",
        (Holds(sympy.Ne(x, 1)), Holds(m >= 0), IsInteger(m)),
        {"x": real(-3, 3), "m": integer(0, 30)},
    ),
    Rule(
        "geometric-sum-bound",
        at_most(Sum(x**i, (i, 0, m)), 1 / (1 - x)),
        "The terms are nonnegative: the sum is at most the series.",
        (Holds(x >= 0), Holds(x < 1), IsInteger(m)),
        {"x": _RATIO, "m": integer(-2, 60)},
    ),
    Rule(
        "sum-termwise",
        at_most(Sum(f(i), (i, lo, hi)), Sum(g(i), (i, lo, hi))),
        "Add up the inequalities between the terms.",
        (ForAll(i, lo, hi, f(i) <= g(i)), IsInteger(lo), IsInteger(hi)),
        {"lo": integer(-3, 5), "hi": integer(-3, 30)},
        {"f": _EXAMPLE, "g": _LARGER},
    ),
    Rule(
        "sum-at-most",
        at_most(Sum(f(i), (i, lo, hi)), (hi - lo + 1) * c),
        "Each of the hi - lo + 1 terms is at most c.",
        (
            ForAll(i, lo, hi, f(i) <= c),
            Holds(hi - lo + 1 >= 0),
            IsInteger(lo),
            IsInteger(hi),
        ),
        {"lo": integer(-3, 5), "hi": integer(-3, 30), "c": real(1, 2)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "sum-extend",
        at_most(Sum(f(i), (i, lo, hi)), Sum(f(i), (i, lo, more))),
        "The terms added are nonnegative.",
        (
            ForAll(i, lo, more, f(i) >= 0),
            Holds(hi <= more),
            IsInteger(lo),
            IsInteger(hi),
            IsInteger(more),
        ),
        {"lo": integer(-3, 5), "hi": integer(-3, 30), "more": integer(-3, 40)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "sum-split-first",
        equal(Sum(f(i), (i, lo, hi)), f(lo) + Sum(f(i), (i, lo + 1, hi))),
        "Write the first term apart; there is one.",
        (Holds(lo <= hi), IsInteger(lo), IsInteger(hi)),
        {"lo": integer(-3, 5), "hi": integer(-3, 30)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "sum-split",
        equal(
            Sum(f(i), (i, lo, hi)), Sum(f(i), (i, lo, m)) + Sum(f(i), (i, m + 1, hi))
        ),
        "The terms up to m, and those after it.",
        (
            Holds(lo <= m + 1),
            Holds(m <= hi),
            IsInteger(lo),
            IsInteger(hi),
            IsInteger(m),
        ),
        {"lo": integer(-3, 5), "hi": integer(-3, 30), "m": integer(-4, 30)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "sum-scale",
        equal(Sum(c * f(i), (i, lo, hi)), c * Sum(f(i), (i, lo, hi))),
        "A common factor is taken out of every term.",
        (IsInteger(lo), IsInteger(hi)),
        {"lo": integer(-3, 5), "hi": integer(-3, 30), "c": real(-2, 2)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "sum-reverse",
        equal(Sum(f(i), (i, lo, hi)), Sum(f(lo + hi - i), (i, lo, hi))),
        "i -> lo + hi - i maps the range onto itself.",
        (IsInteger(lo), IsInteger(hi)),
        {"lo": integer(-3, 5), "hi": integer(-3, 30)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "guarded-sum",
        equal(
            Piecewise((Sum(f(i), (i, lo, hi)), hi >= lo), (0, True)),
            Sum(f(i), (i, lo, hi)),
        ),
        "A sum over no integers is 0.",
        (IsInteger(lo), IsInteger(hi)),
        {"lo": integer(-3, 5), "hi": integer(-4, 30)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "empty-sum",
        equal(Sum(f(i), (i, lo, hi)), Integer(0)),
        "A sum over no integers is 0.",
        (Holds(hi <= lo - 1), IsInteger(lo), IsInteger(hi)),
        {"lo": integer(-3, 5), "hi": integer(-9, 4)},
        {"f": _EXAMPLE},
    ),
    Rule(
        "convolution-from-end",
        equal(
            Sum(c**i * x ** (hi - i), (i, 0, hi)),
            c**hi * Sum(c ** (-i) * x**i, (i, 0, hi)),
        ),
        "i -> hi - i maps the range onto itself, and c**(hi - i) = c**hi * c**(-i).",
        (Holds(c > 0), IsInteger(hi)),
        {"c": real(0, 2, open_lo=True), "x": real(-1, 2), "hi": integer(-3, 20)},
    ),
    Rule(
        "sum-constant",
        equal(Sum(c, (i, lo, hi)), (hi - lo + 1) * c),
        "There are hi - lo + 1 equal terms.",
        (Holds(hi - lo + 1 >= 0), IsInteger(lo), IsInteger(hi)),
        {"lo": integer(-3, 5), "hi": integer(-4, 30), "c": real(-2, 2)},
    ),
    Rule(
        "gaussian-integral",
        equal(
            Integral(
                exp(k - (v - c) ** 2 / (2 * s**2)) / (s * sqrt(2 * pi)), (v, -oo, oo)
            ),
            exp(k),
        ),
        "A Gaussian density of mean c and standard deviation s integrates to 1.",
        (Holds(s > 0),),
        {"k": real(-5, 5), "c": real(-5, 5), "s": real(0, 5, open_lo=True)},
    ),
)
