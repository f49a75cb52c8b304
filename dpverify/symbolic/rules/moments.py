"""Rules about norms, inner products and moments, which are uninterpreted scalars."""

from __future__ import annotations

from sympy import Symbol, sqrt

from dpverify.symbolic.expressions.functions import Inner, Moment, Norm
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    Variable,
    integer,
    real,
)
from dpverify.symbolic.rules.base import (
    Holds,
    IsGaussianNorm,
    IsInteger,
    IsRandom,
    IsVector,
    Rule,
    at_most,
    equal,
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

RULES = (
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
