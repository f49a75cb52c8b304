"""Rules about exponentials, logarithms, powers and roots of scalars."""

from __future__ import annotations

import sympy
from sympy import Abs, Max, Min, Mod, Symbol, exp, floor, log, sqrt

from dpverify.symbolic.expressions.functions import Log2
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.rules.base import Holds, IsInteger, Rule, at_most, equal

a, b, c, k, p, q, x, y = (Symbol(name, real=True) for name in "abckpqxy")
m = Symbol("m", integer=True)
n = Symbol("n", integer=True)

_ANY = real(-20, 20)
_POSITIVE = real(0, 20, open_lo=True)
_NONNEGATIVE = real(0, 20)
_UNIT = real(0, 1)

RULES = (
    Rule(
        "order",
        at_most(a, b),
        "The condition itself: a <= b is proven from the assumptions.",
        (Holds(a <= b),),
        {"a": _ANY, "b": _ANY},
    ),
    Rule(
        "one-minus-exp",
        at_most(1 - x, exp(-x)),
        "exp is convex, and 1 - x is its tangent at 0.",
        (),
        {"x": _ANY},
    ),
    Rule(
        "exp-chord",
        at_most(exp(-x), 1 - (1 - exp(-1)) * x),
        "exp(-x) is convex, so on [0, 1] it lies below the chord from (0, 1) to (1, exp(-1)).",
        (Holds(x >= 0), Holds(x <= 1)),
        {"x": _UNIT},
    ),
    Rule(
        "exp-cubic",
        at_most(1 + x + x**2 / 2 + x**3 / 6, exp(x)),
        "The Taylor polynomial of an odd degree: the difference has the derivative exp(x) - 1 - x - x**2/2, which has "
        "the sign of x, since its own derivative exp(x) - 1 - x is at least 0.",
        (),
        {"x": _ANY},
    ),
    Rule(
        "exp-pade",
        at_most((2 - x) * exp(x), 2 + x),
        "The difference is 0 at 0 and has the derivative 1 - (1 - x)*exp(x) >= 0, as 1 - x <= exp(-x).",
        (Holds(x >= 0),),
        {"x": _NONNEGATIVE},
    ),
    Rule(
        "bernoulli",
        at_most(1 + n * x, (1 + x) ** n),
        "Induction on n, a whole number: (1 + n*x)*(1 + x) = 1 + (n + 1)*x + n*x**2. False for 0 < n < 1.",
        (Holds(x >= -1), Holds(n >= 0), IsInteger(n)),
        {"x": real(-1, 3), "n": integer(0, 30)},
    ),
    Rule(
        "exp-monotone",
        at_most(exp(a), exp(b)),
        "exp has a positive derivative.",
        (Holds(a <= b),),
        {"a": _ANY, "b": _ANY},
    ),
    Rule(
        "log-monotone",
        at_most(log(a), log(b)),
        "log has a positive derivative on the positive numbers.",
        (Holds(a > 0), Holds(a <= b)),
        {"a": _POSITIVE, "b": _POSITIVE},
    ),
    Rule(
        "log2-monotone",
        at_most(Log2(a), Log2(b)),
        "log2 is log divided by the positive number log(2).",
        (Holds(a > 0), Holds(a <= b)),
        {"a": _POSITIVE, "b": _POSITIVE},
    ),
    Rule(
        "sqrt-monotone",
        at_most(sqrt(a), sqrt(b)),
        "b - a = (sqrt(b) - sqrt(a))*(sqrt(b) + sqrt(a)).",
        (Holds(a >= 0), Holds(a <= b)),
        {"a": _NONNEGATIVE, "b": _NONNEGATIVE},
    ),
    Rule(
        "power-monotone",
        at_most(a**p, b**p),
        "x**p has the derivative p*x**(p - 1) >= 0 for positive x, and 0**p <= b**p, with 0**0 = 1.",
        (Holds(a >= 0), Holds(a <= b), Holds(p >= 0)),
        {"a": _NONNEGATIVE, "b": _NONNEGATIVE, "p": real(0, 5)},
    ),
    Rule(
        "reciprocal-monotone",
        at_most(1 / b, 1 / a),
        "1/a - 1/b = (b - a)/(a*b).",
        (Holds(a > 0), Holds(a <= b)),
        {"a": _POSITIVE, "b": _POSITIVE},
    ),
    Rule(
        "power-decreasing",
        at_most(x**p, x**q),
        "x**p = x**q * x**(p - q), and the second factor is at most 1 for 0 < x <= 1. At x = 0, 0**p is 0 for p > 0, "
        "and for p = 0 both sides are 1.",
        (Holds(x >= 0), Holds(x <= 1), Holds(q >= 0), Holds(q <= p)),
        {"x": _UNIT, "p": real(0, 9), "q": real(0, 9)},
    ),
    Rule(
        "power-increasing",
        at_most(x**p, x**q),
        "x**q = x**p * x**(q - p), and the second factor is at least 1.",
        (Holds(x >= 1), Holds(p <= q)),
        {"x": real(1, 9), "p": real(-5, 5), "q": real(-5, 5)},
    ),
    Rule(
        "power-split",
        equal(x ** (m + n), x**m * x**n),
        "Repeated multiplication, m times and n times.",
        (Holds(m >= 0), Holds(n >= 0), IsInteger(m), IsInteger(n)),
        {"x": _ANY, "m": integer(0, 9), "n": integer(0, 9)},
    ),
    Rule(
        "power-at-most-one",
        at_most(x**p, sympy.Integer(1)),
        "A number in [0, 1] to a nonnegative power is in [0, 1], with 0**0 = 1.",
        (Holds(x >= 0), Holds(x <= 1), Holds(p >= 0)),
        {"x": _UNIT, "p": real(0, 9)},
    ),
    Rule(
        "am-gm",
        at_most(2 * a * b, a**2 + b**2),
        "(a - b)**2 >= 0.",
        (),
        {"a": _ANY, "b": _ANY},
    ),
    Rule(
        "young",
        at_most(a * b, c * a**2 / 2 + b**2 / (2 * c)),
        "(c*a - b)**2/(2*c) >= 0.",
        (Holds(c > 0),),
        {"a": _ANY, "b": _ANY, "c": _POSITIVE},
    ),
    Rule(
        "quadratic-formula",
        at_most(x**2 / 2 + b * x, c),
        "x is at most the positive root sqrt(b**2 + 2*c) - b, and the left side rises with x. Said of reciprocals, "
        "as bounds on the scale of noise are.",
        (
            Holds(x > 0),
            Holds(b >= 0),
            Holds(c > 0),
            Holds(1 / x >= 1 / (sqrt(b**2 + 2 * c) - b)),
        ),
        {"x": real(0, 5, open_lo=True), "b": _NONNEGATIVE, "c": _POSITIVE},
    ),
    Rule(
        "sqrt-subadditive",
        at_most(sqrt(a + b), sqrt(a) + sqrt(b)),
        "The square of the right side is a + b + 2*sqrt(a*b).",
        (Holds(a >= 0), Holds(b >= 0)),
        {"a": _NONNEGATIVE, "b": _NONNEGATIVE},
    ),
    Rule(
        "sqrt-tangent",
        at_most(sqrt(x) + y / (2 * sqrt(x + y)), sqrt(x + y)),
        "sqrt(x + y) - sqrt(x) = y/(sqrt(x + y) + sqrt(x)), and sqrt(x) <= sqrt(x + y).",
        (Holds(x >= 0), Holds(y >= 0), Holds(x + y > 0)),
        {"x": _NONNEGATIVE, "y": _NONNEGATIVE},
    ),
    Rule(
        "log-concave",
        at_most(log(x) + log(y), 2 * log((x + y) / 2)),
        "log is concave (x*y <= ((x + y)/2)**2).",
        (Holds(x > 0), Holds(y > 0)),
        {"x": _POSITIVE, "y": _POSITIVE},
    ),
    Rule(
        "log2-concave",
        at_most(Log2(x) + Log2(y), 2 * Log2((x + y) / 2)),
        "log2 is concave (x*y <= ((x + y)/2)**2).",
        (Holds(x > 0), Holds(y > 0)),
        {"x": _POSITIVE, "y": _POSITIVE},
    ),
    Rule(
        "log-tangent",
        at_most(log(x), x - 1),
        "log is concave, and x - 1 is its tangent at 1.",
        (Holds(x > 0),),
        {"x": _POSITIVE},
    ),
    Rule(
        "below-max",
        at_most(a, Max(a, b)),
        "The maximum is at least each of its arguments.",
        (),
        {"a": _ANY, "b": _ANY},
    ),
    Rule(
        "above-min",
        at_most(Min(a, b), a),
        "The minimum is at most each of its arguments.",
        (),
        {"a": _ANY, "b": _ANY},
    ),
    Rule(
        "min-is",
        equal(Min(a, b), a),
        "The minimum is the smaller argument.",
        (Holds(a <= b),),
        {"a": _ANY, "b": _ANY},
    ),
    Rule(
        "triangle",
        at_most(Abs(a + b), Abs(a) + Abs(b)),
        "a + b <= |a| + |b| and -(a + b) <= |a| + |b|.",
        (),
        {"a": _ANY, "b": _ANY},
    ),
    Rule(
        "drop-nonnegative",
        at_most(a, a + b),
        "The term dropped is nonnegative.",
        (Holds(b >= 0),),
        {"a": _ANY, "b": _NONNEGATIVE},
    ),
    Rule(
        "floor-below",
        at_most(floor(x), x),
        "The definition of floor.",
        (),
        {"x": _ANY},
    ),
    Rule(
        "floor-above",
        at_most(x - 1, floor(x)),
        "The definition of floor: x < floor(x) + 1.",
        (),
        {"x": _ANY},
    ),
    Rule(
        "floor-of-small",
        equal(floor(x / 2**k), sympy.Integer(0)),
        "0 < x < 2**k, as log2(x) < k: no multiple of 2**k is among the numbers from 1 to x.",
        (Holds(x > 0), Holds(Log2(x) < k)),
        {"k": real(-3, 9), "x": real(0, 2**k, open_lo=True, open_hi=True)},
    ),
    Rule(
        "floor-is",
        equal(floor(x), n),
        "The definition of floor: n is the one whole number in (x - 1, x].",
        (Holds(n <= x), Holds(x < n + 1), IsInteger(n)),
        {"x": _ANY, "n": integer(-20, 20)},
    ),
    Rule(
        "remainder",
        equal(Mod(a, b), a - b * floor(a / b)),
        "The definition of the remainder.",
        (Holds(b > 0),),
        {"a": _ANY, "b": _POSITIVE},
    ),
    Rule(
        "divide-by-larger",
        at_most(a / (a + b), sympy.Integer(1)),
        "0 < a <= a + b.",
        (Holds(a > 0), Holds(b >= 0)),
        {"a": _POSITIVE, "b": _NONNEGATIVE},
    ),
)
