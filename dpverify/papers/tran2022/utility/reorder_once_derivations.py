"""One permutation: the sampling error at one iterate, ``alpha N/((N-1)(2-alpha)) G^2``.

The example drawn p steps ago has the weight ``w_p = alpha (beta^p - beta^e)/(1-B)``, beta = 1 - alpha, B = beta^N, e =
p + N times its visits, one of t .. t + N - 1. Letters: ``power`` beta^p, ``end`` beta^e, ``last`` beta^(t+N-1), the
smallest of the ends, ``first`` beta^t, the largest, ``oldest`` beta^(N-1), the smallest of the powers, ``block`` B;
``centre`` c, any number; ``sum1`` and ``sum2``, the sums of the w_p and of their squares; ``own``, the mean square of
one example's centred gradient; ``square``, that of the sampling error (NOTES_identities.md).
"""

from __future__ import annotations

from typing import Final

from sympy import Eq, Integer, Max, Sum, Symbol, sqrt

from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, integer, real

POWER, END, LAST, FIRST, OLDEST, BLOCK, OWN, SQUARE, SUM2 = (
    Symbol(name, nonnegative=True)
    for name in ("power", "end", "last", "first", "oldest", "block", "own", "square", "sum2")
)
N: Final = Symbol("N", integer=True, positive=True)
G: Final = Symbol("G", positive=True)
SAMPLING: Final = Symbol("sampling", nonnegative=True)
RANGES: Final[dict[str, Variable]] = {"N": integer(1, 60), "G": real(0, 3, open_lo=True)}
CENTRE = Symbol("centre", real=True)
SUM1 = Symbol("sum1", real=True)
GAP: Final = Symbol("gap", real=True)
p: Final = Symbol("p", integer=True, nonnegative=True)
BETA: Final = 1 - 1 / N
JENSEN: Final = "Jensen at the worst step"
WITHOUT: Final = "one order: every example once in an epoch"
EVERY: Final = "near c, for every example; c = alpha (B - beta^(t+N-1))/(1-B), or 0 for t < N"


CONDITIONS: Final = (
    POWER <= 1,
    POWER >= OLDEST,
    OLDEST >= BLOCK,
    OLDEST <= 1,
    BLOCK <= 1,
    FIRST <= BLOCK,
    Eq(LAST, FIRST * OLDEST),
    END >= LAST,
    END <= FIRST,
)
PLACES: Final[dict[str, Variable]] = {
    "block": real(0, 1),
    "oldest": real(BLOCK, 1),
    "power": real(OLDEST, 1),
    "first": real(0, BLOCK),
    "last": real(FIRST * OLDEST, FIRST * OLDEST),
    "end": real(LAST, FIRST),
}


def above() -> Derivation:
    """Derive ``w_p - c <= alpha beta^p``, times ``(1-B)/alpha``: the end is at least ``last``, and beta^p at most 1."""
    gap = POWER - END - (BLOCK - LAST)
    bound = (1 - BLOCK) * POWER
    steps = (
        Step(POWER - LAST - (BLOCK - LAST), "<=", "order", {"a": LAST, "b": END}, context=POWER - HOLE - BLOCK + LAST),
        Step(POWER - BLOCK * POWER, "<=", "order", {"a": POWER, "b": Integer(1)}, context=POWER - BLOCK * HOLE),
        Step(bound, "="),
    )
    return Derivation("not above", "ours", PLACES, CONDITIONS, gap, steps, local=tuple(PLACES))


def below() -> Derivation:
    """Derive ``c - w_p <= alpha beta^p``, times ``(1-B)/alpha``, for t >= N."""
    gap = POWER - END - (BLOCK - LAST)
    bound = (1 - BLOCK) * POWER
    steps = (
        Step(
            FIRST + BLOCK - FIRST * OLDEST - POWER,
            "<=",
            "order",
            {"a": END - LAST, "b": FIRST * (1 - OLDEST)},
            context=HOLE + BLOCK - POWER,
        ),
        Step(
            BLOCK * (1 - OLDEST) + BLOCK - POWER,
            "<=",
            "order",
            {"a": FIRST, "b": BLOCK},
            context=HOLE * (1 - OLDEST) + BLOCK - POWER,
        ),
        Step(
            BLOCK * (1 - OLDEST) + OLDEST - POWER,
            "<=",
            "order",
            {"a": BLOCK, "b": OLDEST},
            context=BLOCK * (1 - OLDEST) + HOLE - POWER,
        ),
        Step(bound, "<=", "order", {"a": BLOCK * (1 - OLDEST) + OLDEST - POWER, "b": bound}),
    )
    return Derivation("not below", "ours", PLACES, CONDITIONS, -gap, steps, local=tuple(PLACES))


def near() -> Derivation:
    """Derive ``(w_p - c)^2 <= alpha^2 beta^(2p)``: both signs are at most ``alpha beta^p``; ``gap`` is ``w_p - c``."""
    most = BETA**p / N
    steps = (Step(most**2, "<=", "order", {"a": GAP**2, "b": most**2}, note="(most - gap)(most + gap) >= 0"),)
    variables: dict[str, Variable] = {"N": integer(1, 12), "p": integer(0, N - 1), "gap": real(-most, most)}
    signs = {"not above": cite(above()), "not below": cite(below())}
    return Derivation(
        "near c", "ours", variables, (most - GAP >= 0, most + GAP >= 0), GAP**2, steps, signs, local=("p", "gap")
    )


def around_a_number() -> Derivation:
    """Derive that the squares of weights around their mean are at most those around any number c."""
    shifted_sum = SUM2 - 2 * CENTRE * SUM1 + N * CENTRE**2
    square = N * (CENTRE - SUM1 / N) ** 2
    steps = (
        Step(SUM2 - SUM1**2 / N + square, "<=", "drop-nonnegative", {"a": SUM2 - SUM1**2 / N, "b": square}),
        Step(shifted_sum, "="),
    )
    variables: dict[str, Variable] = {
        "N": integer(1, 60),
        "sum2": real(0, 4),
        "sum1": real(-3, 3),
        "centre": real(-3, 3),
    }
    return Derivation(
        "around a number", "ours", variables, (), SUM2 - SUM1**2 / N, steps, local=("sum1", "sum2", "centre")
    )


def mean_square() -> Derivation:
    """Derive the mean square of the sampling error at one step, alpha = 1/N, from the variance around c."""
    many = N / Max(Integer(1), N - 1)
    varied = cite(around_a_number())
    powers = Sum((BETA**2) ** p, (p, 0, N - 1))
    around = G**2 * many
    steps = (
        Step(OWN * many * varied.lhs, "<=", "premise", {}, (WITHOUT,)),
        Step(OWN * many * varied.rhs, "<=", "premise", {}, ("around a number",), context=OWN * many * HOLE),
        Step(OWN * many * powers / N**2, "<=", "premise", {}, (EVERY,), context=OWN * many * HOLE),
        Step(around * powers / N**2, "<=", "order", {"a": OWN, "b": G**2}, context=HOLE * many * powers / N**2),
        Step(
            around / N**2 / (1 - BETA**2),
            "<=",
            "geometric-sum-bound",
            {"x": BETA**2, "m": N - 1},
            context=around / N**2 * HOLE,
        ),
        Step(around / (2 * N - 1), "="),
    )
    variables: dict[str, Variable] = {
        "N": integer(1, 12),
        "G": RANGES["G"],
        "own": real(0, G**2),
        "sum1": real(0, 1),
        "centre": real(SUM1 / N, SUM1 / N),
        "sum2": real(SUM1**2 / N, SUM1**2 / N),
        "square": FromPremises(),
    }
    premises = {
        WITHOUT: Premise(SQUARE, "<=", OWN * many * varied.lhs),
        "around a number": varied,
        EVERY: Premise(varied.rhs, "<=", powers / N**2),
        "near c": cite(near()),
    }
    return Derivation(
        "one permutation, gradients at one iterate",
        "ours",
        variables,
        (G**2 >= OWN,),
        SQUARE,
        steps,
        premises,
        local=("own", "sum1", "sum2", "centre", "square"),
    )


def sampling() -> Derivation:
    """Derive the sampling error under one permutation: ``G sqrt(N/(max(1, N-1) (2N-1)))``, at every step."""
    divisor = Max(Integer(1), N - 1)
    square = cite(mean_square(), SQUARE)
    steps = (
        Step(sqrt(SQUARE), "<=", "premise", {}, (JENSEN,)),
        Step(sqrt(square.rhs), "<=", "premise", {}, ("the mean square",), context=sqrt(HOLE)),
        Step(G * sqrt(N / (divisor * (2 * N - 1))), "="),
    )
    variables: dict[str, Variable] = {
        "N": RANGES["N"],
        "G": RANGES["G"],
        "square": FromPremises(),
        "sampling": FromPremises(),
    }
    return Derivation(
        "sampling, one permutation",
        "ours",
        variables,
        (),
        SAMPLING,
        steps,
        {JENSEN: Premise(SAMPLING, "<=", sqrt(SQUARE)), "the mean square": square},
        local=("square", "sampling"),
    )
