"""Rules about functions: the binary expansion of an integer, and norms, inner products and moments.

Norms, inner products and moments are uninterpreted scalars.
"""

from __future__ import annotations

from sympy import (
    Dummy,
    Function,
    Integer,
    Lambda,
    Mod,
    Rational,
    Sum,
    Symbol,
    floor,
    sqrt,
)

from dpverify.symbolic.expressions.functions import (
    Bit,
    Inner,
    Log2,
    Moment,
    Norm,
    PopCount,
)
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    SetBits,
    Variable,
    integer,
    real,
)
from dpverify.symbolic.rules.base import (
    AreSetBits,
    Holds,
    IsGaussianNorm,
    IsInteger,
    IsRandom,
    IsVector,
    Rule,
    at_most,
    equal,
)

s, n, R, k = (Symbol(name, integer=True) for name in "snRk")
x = Symbol("x", real=True)
i = Dummy("i", integer=True)
j = Dummy("j", integer=True)
f = Function("f", real=True)
pos = Function("pos", integer=True, nonnegative=True)

_SOME = integer(0, 3000)
_WIDE = integer(12, 20)
_WIDTH = (Holds(s >= 0), Holds(s <= 2 ** (R + 1) - 1), IsInteger(s), IsInteger(R))

BIT_RULES = (
    Rule(
        "popcount-log2",
        at_most(PopCount(n), Log2(n + 1)),
        "A number with k set bits is at least 1 + 2 + ... + 2**(k - 1) = 2**k - 1.",
        (Holds(n >= 0), IsInteger(n)),
        {"n": _SOME},
    ),
    Rule(
        "popcount-width",
        at_most(PopCount(n), 1 + floor(Log2(n))),
        "n has 1 + floor(log2(n)) binary digits.",
        (Holds(n >= 1), IsInteger(n)),
        {"n": integer(1, 3000)},
    ),
    Rule(
        "below-next-power",
        at_most(n + 1, 2 ** (floor(Log2(n)) + 1)),
        "log2(n) is below floor(log2(n)) + 1, and both sides are whole.",
        (Holds(n >= 1), IsInteger(n)),
        {"n": integer(1, 3000)},
    ),
    Rule(
        "popcount-digits",
        at_most(PopCount(s), R + 1),
        "s has at most R + 1 binary digits.",
        _WIDTH,
        {"s": _SOME, "R": _WIDE},
    ),
    Rule(
        "bits-sum",
        equal(Sum(Bit(s, i), (i, 0, R)), PopCount(s)),
        "The definition of the popcount; all set bits are among the first R + 1.",
        _WIDTH,
        {"s": _SOME, "R": _WIDE},
    ),
    Rule(
        "bit-times",
        at_most(Bit(s, k) * x, x),
        "A bit is 0 or 1.",
        (Holds(x >= 0), Holds(s >= 0), Holds(k >= 0), IsInteger(s), IsInteger(k)),
        {"s": _SOME, "k": integer(0, 12), "x": real(0, 9)},
    ),
    Rule(
        "set-bits",
        equal(Sum(Bit(s, i) * f(i), (i, 0, R)), Sum(f(pos(i)), (i, 1, PopCount(s)))),
        "Only the set bits contribute; they are listed in increasing order.",
        (*_WIDTH, AreSetBits(pos(k), s)),
        {"s": _SOME, "R": _WIDE, "pos": SetBits(s)},
        {"f": Lambda(i, Rational(1, 2) ** i + i)},
    ),
    Rule(
        "remainder-below-set-bit",
        equal(Mod(s, 2 ** pos(k)), Sum(2 ** pos(j), (j, 1, k - 1))),
        "The remainder modulo 2**p is the number that the bits below p make; those set are the k - 1 earlier ones.",
        (
            AreSetBits(pos(k), s),
            Holds(s >= 0),
            Holds(k >= 1),
            Holds(k <= PopCount(s)),
            IsInteger(s),
            IsInteger(k),
        ),
        {"s": _SOME, "k": integer(1, 12), "pos": SetBits(s)},
    ),
    Rule(
        "remainder-all-ones",
        equal(Mod(2**n - 1, 2**k), 2**k - 1),
        "2**n - 1 = (2**(n - k) - 1)*2**k + (2**k - 1), and the last term is at least 0 and below 2**k.",
        (Holds(k >= 0), Holds(k <= n), IsInteger(k), IsInteger(n)),
        {"n": integer(0, 40), "k": integer(0, 40)},
    ),
    Rule(
        "set-bits-apart",
        at_most(k - 1, pos(k)),
        "The positions are integers, at least 0, and increase by at least 1 from one to the next.",
        (
            AreSetBits(pos(k), s),
            Holds(s >= 0),
            Holds(k >= 1),
            Holds(k <= PopCount(s)),
            IsInteger(s),
            IsInteger(k),
        ),
        {"s": _SOME, "k": integer(1, 12), "pos": SetBits(s)},
    ),
    Rule(
        "power-of-two-grows",
        at_most(k + 1, Integer(2) ** k),
        "Induction: 2**(k + 1) = 2*2**k >= 2*k + 2 >= k + 2.",
        (Holds(k >= 0), IsInteger(k)),
        {"k": integer(0, 40)},
    ),
)

X = Symbol("X")
u = Symbol("u")
w = Symbol("w")
d = Symbol("d", integer=True)
v = Symbol("v", real=True)

_LAW = (IsGaussianNorm(X, d, v), Holds(d >= 1), Holds(v >= 0), IsInteger(d))
_GAUSSIAN: dict[str, Variable] = {
    "d": integer(1, 40),
    "v": real(0, 9),
    "X": GaussianNorm(d, v),
}

MOMENT_RULES = (
    Rule(
        "jensen-sqrt",
        at_most(Moment(X, 1), sqrt(Moment(X, 2))),
        "Jensen: the square is convex, so (E|X|)**2 <= E|X|**2.",
        (IsRandom(X),),
        {"X": AnyVector(4)},
    ),
    Rule(
        "gaussian-second-moment",
        equal(Moment(X, 2), d * v),
        "Each of the d coordinates has mean 0 and variance v.",
        _LAW,
        _GAUSSIAN,
    ),
    Rule(
        "chi-mean",
        at_most(Moment(X, 1), sqrt(d * v)),
        "Jensen, with E||X||**2 = d*v.",
        _LAW,
        _GAUSSIAN,
    ),
    Rule(
        "minkowski",
        at_most(sqrt(Moment(u + w, 2)), sqrt(Moment(u, 2)) + sqrt(Moment(w, 2))),
        "The triangle inequality of the space of square-integrable random variables.",
        (IsVector(u), IsVector(w)),
        {"u": AnyVector(4), "w": AnyVector(4)},
    ),
    Rule(
        "moment-triangle",
        at_most(Moment(u + w, 1), Moment(u, 1) + Moment(w, 1)),
        "The triangle inequality at every value, and the mean is linear and monotone.",
        (IsVector(u), IsVector(w)),
        {"u": AnyVector(4), "w": AnyVector(4)},
    ),
    Rule(
        "norm-triangle",
        at_most(Norm(u + w), Norm(u) + Norm(w)),
        "Cauchy-Schwarz, after squaring.",
        (IsVector(u), IsVector(w)),
        {"u": AnyVector(4), "w": AnyVector(4)},
    ),
    Rule(
        "cauchy-schwarz",
        at_most(Inner(u, w), Norm(u) * Norm(w)),
        "The discriminant of the nonnegative quadratic ||u + t*w||**2 in t is not positive.",
        (IsVector(u), IsVector(w)),
        {"u": AnyVector(4), "w": AnyVector(4)},
    ),
    Rule(
        "norm-square",
        equal(Norm(u + w) ** 2, Norm(u) ** 2 + 2 * Inner(u, w) + Norm(w) ** 2),
        "The inner product is bilinear.",
        (IsVector(u), IsVector(w)),
        {"u": AnyVector(4), "w": AnyVector(4)},
    ),
    Rule(
        "inner-of-sum",
        equal(Inner(u, u + w), Norm(u) ** 2 + Inner(u, w)),
        "The inner product is linear, and that of a vector with itself is the square of its norm.",
        (IsVector(u), IsVector(w)),
        {"u": AnyVector(4), "w": AnyVector(4)},
    ),
    Rule(
        "norm-difference",
        at_most(Norm(u) - Norm(w), Norm(u + w)),
        "The triangle inequality for u = (u + w) - w.",
        (IsVector(u), IsVector(w)),
        {"u": AnyVector(4), "w": AnyVector(4)},
    ),
)

RULES = (*BIT_RULES, *MOMENT_RULES)
