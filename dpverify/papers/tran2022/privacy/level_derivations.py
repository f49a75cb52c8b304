"""Theorem 4's conclusion, level by level: the squares of the released nodes' weights add up to at most 4V.

Nodes of level 0 hold one visit. A node of at most N steps holds no more than it meets epochs, and its weight is at most
its visits, so that on a level the squares add up to at most that number times all visits. Longer nodes are released
floor(T/2^(floor(log2 N) + 1)) times, and have the weight of section 3's sensitivity (NOTES_privacy.md, section 1).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Lambda, Min, Rational, Sum, Symbol, ceiling, exp, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Range, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_definitions, sympy_sides, sympy_symbols

j = Symbol("j", integer=True)
N, T = Symbol("N", integer=True, positive=True), Symbol("T", integer=True, positive=True)
DEPTH, ALPHA = Symbol("depth", integer=True), Symbol("alpha", positive=True)
SPAN = Symbol("span", integer=True, positive=True)  # Steps of a node that is no longer than an epoch
PLACE = Symbol("p", integer=True, positive=True)  # Steps from the last visit but one to the end of a longer node
PER, VISITS, TOP, HEIGHT = T / N, ceiling(T / N), floor(Log2(N)), floor(Log2(T))
LONG = floor(T / 2 ** (TOP + 1))  # Released nodes of more than N steps
RATIO = (1 - ALPHA) ** N
RANGES: Final[dict[str, Range]] = {
    "N": integer(1, 60), "T": integer(1, 400), "depth": integer(HEIGHT, HEIGHT + 1), "alpha": real(1 / N, 1),
    "span": integer(1, N), "p": integer(1, N),
}  # fmt: skip

SERIES = Sum(RATIO**j, (j, 0, VISITS - 2))
HEAVIEST = 1 + (1 - ALPHA) ** PLACE * SERIES  # Weight of the latest visits, as in section 3's sensitivity
HELD = Min(VISITS, ceiling((SPAN - 1) / N) + 1)  # Visits in a node of so many steps: one in each epoch it meets
SQUARES = VISITS + HELD * Min(TOP, HEIGHT) * VISITS + LONG * HEAVIEST**2
ABOVE = Sum(floor(T / 2**j), (j, TOP + 1, DEPTH))
LEVELS = {"f": Lambda(j, floor(T / 2**j)), "lo": TOP + 1, "hi": DEPTH}
V = (Min(DEPTH, TOP) + 1) * PER + ABOVE
ASSUMED = (ALPHA <= 1, ALPHA * N >= 1, 4 * T >= N, DEPTH >= HEIGHT, DEPTH <= HEIGHT + 1)
WORST = SPAN <= N


def few_visits() -> Derivation:
    """Derive that a weight is at most the number of all visits."""
    steps = (
        Step(1 + SERIES, "<=", "power-at-most-one", {"x": 1 - ALPHA, "p": PLACE}),
        Step(VISITS, "<=", "sum-at-most", {"f": Lambda(j, RATIO**j), "c": Integer(1), "lo": 0, "hi": VISITS - 2}),
    )
    return _lemma("weights of few visits", (ALPHA <= 1,), HEAVIEST, steps)


def many_visits() -> Derivation:
    """Derive that the square of a weight is at most 7, for ``alpha >= 1/N``: a geometric series."""
    least = 1 / (1 - exp(-1))
    steps = (
        Step((1 + SERIES) ** 2, "<=", "power-at-most-one", {"x": 1 - ALPHA, "p": PLACE}),
        Step((1 + 1 / (1 - RATIO)) ** 2, "<=", "geometric-sum-bound", {"x": RATIO, "m": VISITS - 2}),
        Step((1 + 1 / (1 - exp(-ALPHA * N))) ** 2, "<=", "one-minus-exp", {"x": ALPHA}),
        Step((1 + least) ** 2, "<=", "exp-monotone", {"a": -ALPHA * N, "b": -Integer(1)}),
        Step(Integer(7), "<=", "order", {"a": (1 + least) ** 2, "b": 7}),
    )
    return _lemma("weights of many visits", (ALPHA <= 1, ALPHA * N >= 1), HEAVIEST**2, steps)


def least_noise() -> Derivation:
    """Derive that V counts the long nodes once at least, whatever the depth is."""
    start = (TOP + 1) * PER + LONG
    rest = Sum(floor(T / 2**j), (j, TOP + 2, DEPTH))
    low = (TOP + 1) * PER
    to_v = Step.order(V.xreplace({Min(DEPTH, TOP): HOLE}), TOP, Min(DEPTH, TOP))
    some = (
        Step(low + LONG + rest, "<=", "drop-nonnegative", {"a": low + LONG, "b": rest}),
        Step(low + ABOVE, "=", "sum-split-first", LEVELS, context=low + HOLE),
        to_v,
    )
    none = (
        Step(low, "=", "floor-of-small", {"x": T, "k": TOP + 1}),
        Step(low + ABOVE, "<=", "drop-nonnegative", {"a": low, "b": ABOVE}),
        to_v,
    )
    cases = Cases(V, "<=", (Case(DEPTH >= TOP + 1, some), Case(DEPTH <= TOP, none)))
    return _lemma("least noise", (T >= N, DEPTH >= HEIGHT), start, (cases,))


def _lemma(name: str, assumed: tuple[Any, ...], start: Any, steps: Any, **premises: Any) -> Derivation:
    used = {s.name for e in (start, *assumed, *(step.expr for step in steps)) for s in e.free_symbols}
    ranges = {n: RANGES[n] for n in RANGES if n in used | {"N"}}
    return Derivation(name, "ours", ranges, assumed, start, tuple(steps), premises)


def short_runs() -> Derivation:
    """Derive ``4V`` for runs of one epoch at most: one visit."""
    level = 1 + VISITS * Min(TOP, HEIGHT)
    first = Min(HEIGHT, TOP)
    steps = (
        Step(VISITS * level + LONG * HEAVIEST**2, "<=", "above-min", {"a": VISITS, "b": ceiling((SPAN - 1) / N) + 1}),
        Step(VISITS * level, "=", "floor-of-small", {"x": T, "k": TOP + 1}),
        Step.order(ceiling(HOLE) * (1 + ceiling(HOLE) * Min(TOP, HEIGHT)), PER, Integer(1)),
        Step(1 + HEIGHT, "<=", "above-min", {"a": HEIGHT, "b": TOP}),
        Step.order(1 + HOLE, HEIGHT, Min(DEPTH, TOP)),
        Step.order((1 + Min(DEPTH, TOP)) * HOLE, Integer(1), 4 * PER),
        Step(4 * V, "<=", "drop-nonnegative", {"a": 4 * (Min(DEPTH, TOP) + 1) * PER, "b": 4 * ABOVE}, context=HOLE),
    )
    return _lemma("one epoch", (*ASSUMED, WORST, T <= N), SQUARES, steps)


FEW, MANY, NOISE = "weights of few visits", "weights of many visits", "least noise"
ALL: Final = "squares of the weights"


def two_epochs() -> Derivation:
    """Derive ``4V`` for runs of two epochs at most: nodes of N steps, and long ones, hold two visits."""
    most = VISITS + VISITS * TOP * VISITS
    tops = {"a": TOP, "b": HEIGHT}
    steps = (
        Step.within(VISITS + HELD * Min(TOP, HEIGHT) * VISITS + LONG * HOLE**2, VISITS, "premise", {}, (FEW,)),
        Step(
            VISITS + VISITS * Min(TOP, HEIGHT) * VISITS + LONG * VISITS**2, "<=", "above-min",
            {"a": VISITS, "b": ceiling((SPAN - 1) / N) + 1},
        ),
        Step(most + LONG * VISITS**2, "<=", "above-min", tops),
        Step.order(ceiling(HOLE) + ceiling(HOLE) ** 2 * TOP + LONG * ceiling(HOLE) ** 2, PER, Integer(2)),
        Step(4 * (TOP + 1) + 4 * LONG, "<=", "order", {"a": 2 + 4 * TOP, "b": 4 * (TOP + 1)}, context=HOLE + 4 * LONG),
        Step.order(4 * (TOP + 1) * HOLE + 4 * LONG, Integer(1), PER),
        Step.within(4 * HOLE, V, "premise", {}, (NOISE,)),
    )  # fmt: skip
    cited = {FEW: cite(few_visits()), NOISE: cite(least_noise())}
    return _lemma("two epochs", (*ASSUMED, WORST, N <= T, T <= 2 * N), SQUARES, steps, **cited)


def long_runs() -> Derivation:
    """Derive ``4V`` for longer runs: nodes of N steps hold two visits, and there is room for heavy long nodes."""
    visits, low = VISITS * (1 + 2 * TOP), 4 * (TOP + 1) * PER
    tops = {"a": TOP, "b": HEIGHT}
    power = {"x": 2, "p": Log2(N), "q": TOP + 1}
    one = (
        Step.order(ceiling(HOLE) * (1 + 2 * TOP) + 7 * LONG, PER, T),
        Step.within(T * (1 + 2 * TOP) + 4 * LONG + 3 * HOLE, T / 2 ** (TOP + 1), "floor-below", {"x": T / 2 ** (TOP + 1)}),
        Step.order(T * (1 + 2 * TOP) + 4 * LONG + 3 * T * HOLE, 1 / Integer(2) ** (TOP + 1), Rational(1, 2)),
        Step.order(4 * LONG + HOLE, T * (1 + 2 * TOP) + 3 * T / 2, 4 * (TOP + 1) * T),
        Step.order(4 * LONG + 4 * (TOP + 1) * HOLE, T, PER),
    )
    more = (
        Step.order(HOLE * (1 + 2 * TOP) + 7 * LONG, VISITS, PER + 1),
        Step.within((PER + 1) * (1 + 2 * TOP) + 4 * LONG + 3 * HOLE, T / 2 ** (TOP + 1), "floor-below", {"x": T / 2 ** (TOP + 1)}),
        Step.within((PER + 1) * (1 + 2 * TOP) + 4 * LONG + 3 * T / HOLE, N, "power-increasing", power),
        Step.within(4 * LONG + floor(HOLE) + 2 * TOP + (2 * TOP + 4) * PER, Log2(N), "log2-monotone", {"a": 2, "b": N}),
        Step.order(4 * LONG + TOP * HOLE + (2 * TOP + 4) * PER, Integer(3), 2 * PER),
    )
    steps = (
        Step.within(VISITS + HELD * Min(TOP, HEIGHT) * VISITS + LONG * HOLE, 7, "premise", {}, (MANY,)),
        Step(
            VISITS + (ceiling((SPAN - 1) / N) + 1) * Min(TOP, HEIGHT) * VISITS + 7 * LONG, "<=", "above-min",
            {"b": VISITS, "a": ceiling((SPAN - 1) / N) + 1},
        ),
        Step.order(VISITS + (ceiling(HOLE) + 1) * Min(TOP, HEIGHT) * VISITS + 7 * LONG, (SPAN - 1) / N, Integer(1)),
        Step(visits + 7 * LONG, "<=", "above-min", tops),
        Cases(low + 4 * LONG, "<=", (Case(N <= 1, one), Case(N >= 2, more))),
        Step.within(4 * HOLE, V, "premise", {}, (NOISE,)),
    )
    cited = {MANY: cite(many_visits()), NOISE: cite(least_noise())}
    return _lemma("more epochs", (*ASSUMED, WORST, T >= 2 * N), SQUARES, steps, **cited)


def squares() -> Derivation:
    """Derive that the squared weights of the released nodes add up to at most 4V."""
    one, two, more = short_runs(), two_epochs(), long_runs()
    ends = {chain.name: (Step(4 * V, "<=", "premise", {}, (chain.name,)),) for chain in (one, two, more)}
    later = Cases(4 * V, "<=", (Case(T <= 2 * N, ends[two.name]), Case(T >= 2 * N, ends[more.name])))
    split = Cases(4 * V, "<=", (Case(T <= N, ends[one.name]), Case(T >= N, (later,))))
    cited = {chain.name: cite(chain) for chain in (one, two, more)}
    return _lemma(ALL, (*ASSUMED, WORST), SQUARES, (split,), **cited)


def derive_theorem_4(statement: Statement) -> Derivation:
    """Derive the corrected Theorem 4: the divergence of Gaussians that move by 2 alpha G times the weights."""
    symbols, given = sympy_symbols(statement), cite(squares())
    noise, scale = sympy_definitions(statement)["V"], symbols["z"] / (8 * symbols["sigma"] ** 2)
    steps = (
        Step(scale * given.lhs / V, "=", "guarded-sum", LEVELS),
        Step.within(scale * HOLE / V, given.rhs, "premise", {}, (ALL,)),
        Step(sympy_sides(statement)[1], "="),
    )
    ranges = RANGES | {"z": real(1, 9, open_lo=True), "sigma": real(0, 5, open_lo=True)}
    start = scale * given.lhs / noise
    return Derivation("level by level", "ours", ranges, (*ASSUMED, WORST, V > 0), start, steps, {ALL: given}, ("span", "p"))
