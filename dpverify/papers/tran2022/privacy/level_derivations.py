"""Theorem 4's conclusion, level by level: the squares of the released nodes' weights add up to at most 4V.

Nodes of level 0 hold one visit. A node of at most N steps holds no more than it meets epochs, and its weight is at most
its visits, so that on a level the squares add up to at most that number times all visits. Longer nodes are released
floor(T/2^(floor(log2 N) + 1)) times, and have the weight of section 3's sensitivity (NOTES_privacy.md, section 1).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Lambda, Min, Sum, Symbol, ceiling, exp, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.define import define, known_fact
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Range, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import guarded_sum, sympy_symbols
from dpverify.symbolic.expressions.whole_functions import FunctionOf

j = Symbol("j", integer=True)
N = Symbol("N", integer=True, positive=True)
T = Symbol("T", integer=True, positive=True)
DEPTH = Symbol("depth", integer=True)
ALPHA = Symbol("alpha", positive=True)
PER = T / N
VISITS = ceiling(T / N)
TOP = floor(Log2(N))
HEIGHT = floor(Log2(T))
LONG = floor(T / 2 ** (TOP + 1))  # Released nodes of more than N steps
RATIO = (1 - ALPHA) ** N
RANGES: Final[dict[str, Range]] = {
    "N": integer(1, 60),
    "T": integer(1, 400),
    "depth": integer(HEIGHT, HEIGHT + 1),
    "alpha": real(1 / N, 1),
}

SERIES = Sum(RATIO**j, (j, 0, VISITS - 2))
HEAVIEST = 1 + (1 - ALPHA) * SERIES  # Weight of the latest visits, as in section 3's sensitivity
HELD = Min(VISITS, ceiling((N - 1) / N) + 1)  # Visits in a node of so many steps: one in each epoch it meets
FEWER: Final = {"a": VISITS, "b": ceiling((N - 1) / N) + 1}  # HELD is at most the first
LOW = VISITS + HELD * Min(TOP, HEIGHT) * VISITS  # Nodes of N steps at most
SQUARES = LOW + LONG * HEAVIEST**2
ABOVE = Sum(floor(T / 2**j), (j, TOP + 1, DEPTH))
LEVELS = {"f": Lambda(j, floor(T / 2**j)), "lo": TOP + 1, "hi": DEPTH}
V = (Min(DEPTH, TOP) + 1) * PER + ABOVE
ASSUMED = (ALPHA <= 1, ALPHA * N >= 1, 4 * T >= N, DEPTH >= HEIGHT, DEPTH <= HEIGHT + 1)


FEW = "weights of few visits"
MANY = "weights of many visits"
NONE = "no long nodes"
ONE = "one visit"
NOISE = "least noise"
ROOM = "room for long nodes"


def few_visits() -> Derivation:
    """Derive that a weight is at most the number of all visits."""
    steps = (
        Step.order(1 + HOLE * SERIES, 1 - ALPHA, Integer(1)),
        Step(VISITS, "<=", "sum-at-most", {"f": Lambda(j, RATIO**j), "c": Integer(1), "lo": 0, "hi": VISITS - 2}),
    )
    return lemma("weights of few visits", (ALPHA <= 1,), HEAVIEST, steps)


def many_visits() -> Derivation:
    """Derive that the square of a weight is at most 7, for ``alpha >= 1/N``: a geometric series."""
    least = 1 / (1 - exp(-1))
    steps = (
        Step.order((1 + HOLE * SERIES) ** 2, 1 - ALPHA, Integer(1)),
        Step((1 + 1 / (1 - RATIO)) ** 2, "<=", "geometric-sum-bound", {"x": RATIO, "m": VISITS - 2}),
        Step((1 + 1 / (1 - exp(-ALPHA * N))) ** 2, "<=", "one-minus-exp", {"x": ALPHA}),
        Step((1 + least) ** 2, "<=", "exp-monotone", {"a": -ALPHA * N, "b": -Integer(1)}),
        Step(Integer(7), "<=", "order", {"a": (1 + least) ** 2, "b": 7}),
    )
    return lemma("weights of many visits", (ALPHA <= 1, ALPHA * N >= 1), HEAVIEST**2, steps)


def no_long_nodes() -> Derivation:
    """Derive that a run of one epoch at most has no nodes of more than N steps."""
    width = 2 ** (TOP + 1)
    steps = (
        Step.order(floor(HOLE / width), T, N),
        Step(Integer(0), "=", "floor-of-small", {"x": N, "k": TOP + 1}),
    )
    return lemma("no long nodes", (T <= N,), LONG, steps)


def least_noise() -> Derivation:
    """Derive that V counts the long nodes once at least, whatever the depth is."""
    start = (TOP + 1) * PER + LONG
    later_levels = Sum(floor(T / 2**j), (j, TOP + 2, DEPTH))
    low = (TOP + 1) * PER
    deep = (
        Step(low + LONG + later_levels, "<=", "drop-nonnegative", {"a": low + LONG, "b": later_levels}),
        Step(low + ABOVE, "=", "sum-split-first", LEVELS, context=low + HOLE),
    )
    none = (
        Step(low, "=", "floor-of-small", {"x": T, "k": TOP + 1}),
        Step(low + ABOVE, "<=", "drop-nonnegative", {"a": low, "b": ABOVE}),
    )
    levels = (Min(HOLE, TOP) + 1) * PER + ABOVE
    steps = (
        Cases(low + ABOVE, "<=", (Case(DEPTH >= TOP + 1, deep), Case(DEPTH <= TOP, none))),
        Step.order(levels, TOP, HEIGHT),
        Step.order(levels, HEIGHT, DEPTH),
    )
    return lemma("least noise", (T >= N, DEPTH >= HEIGHT), start, steps)


def lemma(name: str, assumed: tuple[Any, ...], start: Any, steps: Any, **premises: Any) -> Derivation:
    """Make a derivation about runs of Algorithm 1."""
    used = {s.name for e in (start, *assumed, *(step.expr for step in steps)) for s in e.free_symbols}
    ranges = {n: RANGES[n] for n in RANGES if n in used | {"N"}}
    return Derivation(name, "ours", ranges, assumed, start, tuple(steps), premises)


def one_visit() -> Derivation:
    """Derive that in a run of one epoch at most each level adds at most 1: a node holds one visit."""
    levels = Min(TOP, HEIGHT)
    steps = (
        Step.within(VISITS + HOLE * levels * VISITS, VISITS, "above-min", FEWER),
        Step.order(ceiling(HOLE) + VISITS * levels * VISITS, PER, Integer(1)),
        Step.order(1 + ceiling(HOLE) * levels * VISITS, PER, Integer(1)),
        Step.order(1 + levels * ceiling(HOLE), PER, Integer(1)),
        Step.order(1 + Min(TOP, HOLE), HEIGHT, DEPTH),
    )
    return lemma("one visit", (T <= N, DEPTH >= HEIGHT), LOW, steps)


def one_epoch() -> Derivation:
    """Derive the bound of runs of one epoch at most: one visit."""
    counted = Min(DEPTH, TOP) + 1
    steps = (
        Step.within(LOW + HOLE * HEAVIEST**2, Integer(0), "premise", {}, (NONE,)),
        Step(counted, "<=", "premise", {}, (ONE,)),
        Step.order(counted * HOLE, Integer(1), 4 * PER),
        Step(4 * V, "<=", "drop-nonnegative", {"a": 4 * counted * PER, "b": 4 * ABOVE}, context=HOLE),
    )
    premises = {NONE: cite(no_long_nodes()), ONE: cite(one_visit())}
    return lemma("one epoch", (ALPHA <= 1, T <= N, 4 * T >= N, DEPTH >= HEIGHT), SQUARES, steps, **premises)


def two_epochs() -> Derivation:
    """Derive the bound of runs of two epochs at most: nodes of N steps, and long ones, hold two visits."""
    tops = {"a": TOP, "b": HEIGHT}
    steps = (
        Step.within(VISITS + HELD * Min(TOP, HEIGHT) * VISITS + LONG * HOLE**2, VISITS, "premise", {}, (FEW,)),
        Step.within(VISITS + HOLE * Min(TOP, HEIGHT) * VISITS + LONG * VISITS**2, VISITS, "above-min", FEWER),
        Step.within(VISITS + VISITS * HOLE * VISITS + LONG * VISITS**2, TOP, "above-min", tops),
        Step.order(ceiling(HOLE) + ceiling(HOLE) ** 2 * TOP + LONG * ceiling(HOLE) ** 2, PER, Integer(2)),
        Step(4 * (TOP + 1) + 4 * LONG, "<=", "order", {"a": 2 + 4 * TOP, "b": 4 * (TOP + 1)}, context=HOLE + 4 * LONG),
        Step.order(4 * (TOP + 1) * HOLE + 4 * LONG, Integer(1), PER),
        Step.within(4 * HOLE, V, "premise", {}, (NOISE,)),
    )
    premises = {FEW: cite(few_visits()), NOISE: cite(least_noise())}
    return lemma("two epochs", (ALPHA <= 1, T >= N, T <= 2 * N, DEPTH >= HEIGHT), SQUARES, steps, **premises)


def long_nodes() -> Derivation:
    """Derive that from two epochs on V has room for heavy long nodes, where nodes of N steps hold two visits."""
    half = T / 2 ** (TOP + 1)
    levels = 1 + 2 * TOP
    power = {"x": 2, "p": Log2(N), "q": TOP + 1}
    single = (
        Step.order(ceiling(HOLE) * levels + 7 * LONG, PER, T),
        Step.within(T * levels + 4 * LONG + 3 * HOLE, half, "floor-below", {"x": half}),
        Step.within(T * levels + 4 * LONG + 3 * T / HOLE, Integer(2), "power-increasing", power | {"p": 1}),
        Step.order(4 * LONG + HOLE, T * levels + 3 * T / 2, 4 * (TOP + 1) * T),
        Step.order(4 * LONG + 4 * (TOP + 1) * HOLE, T, PER),
    )
    several = (
        Step.order(HOLE * levels + 7 * LONG, VISITS, PER + 1),
        Step.within((PER + 1) * levels + 4 * LONG + 3 * HOLE, half, "floor-below", {"x": half}),
        Step.within((PER + 1) * levels + 4 * LONG + 3 * T / HOLE, N, "power-increasing", power),
        Step.within(4 * LONG + floor(HOLE) + 2 * TOP + (2 * TOP + 4) * PER, Log2(N), "log2-monotone", {"a": 2, "b": N}),
        Step.order(4 * LONG + TOP * HOLE + (2 * TOP + 4) * PER, Integer(3), 2 * PER),
    )
    split = Cases(4 * (TOP + 1) * PER + 4 * LONG, "<=", (Case(N <= 1, single), Case(N >= 2, several)))
    return lemma(ROOM, (T >= 2 * N,), VISITS * levels + 7 * LONG, (split,))


def more_epochs() -> Derivation:
    """Derive the bound of longer runs."""
    levels = Min(TOP, HEIGHT)
    twice = ceiling((N - 1) / N) + 1
    steps = (
        Step.within(VISITS + HELD * levels * VISITS + LONG * HOLE, 7, "premise", {}, (MANY,)),
        Step.within(VISITS + HOLE * levels * VISITS + 7 * LONG, twice, "above-min", {"a": twice, "b": VISITS}),
        Step.order(VISITS + (ceiling(HOLE) + 1) * levels * VISITS + 7 * LONG, (N - 1) / N, Integer(1)),
        Step(VISITS * (1 + 2 * TOP) + 7 * LONG, "<=", "above-min", {"a": TOP, "b": HEIGHT}),
        Step(4 * (TOP + 1) * PER + 4 * LONG, "<=", "premise", {}, (ROOM,)),
        Step.within(4 * HOLE, V, "premise", {}, (NOISE,)),
    )
    premises = {MANY: cite(many_visits()), ROOM: cite(long_nodes()), NOISE: cite(least_noise())}
    assumed = ALPHA <= 1, ALPHA * N >= 1, T >= 2 * N, DEPTH >= HEIGHT
    return lemma("more epochs", assumed, SQUARES, steps, **premises)


ALL: Final = "squares of the weights"
RATIO_OF_ALL: Final = "squares of the weights over 4V"
MOVED = "moved"
COMPOSITION = "gaussian-composition"


def squares() -> Derivation:
    """Derive that the squared weights of the released nodes add up to at most 4V."""
    lemmas = one_epoch(), two_epochs(), more_epochs()
    short, medium, long = ((Step(4 * V, "<=", "premise", {}, (epoch_lemma.name,)),) for epoch_lemma in lemmas)
    later = Cases(4 * V, "<=", (Case(T <= 2 * N, medium), Case(T >= 2 * N, long)))
    split = Cases(4 * V, "<=", (Case(T <= N, short), Case(T >= N, (later,))))
    return lemma(ALL, ASSUMED, SQUARES, (split,), **{epoch_lemma.name: cite(epoch_lemma) for epoch_lemma in lemmas})


def ratio() -> Derivation:
    """Derive that the squared weights over 4V, as the box prints it, are at most 1."""
    citation = cite(squares())
    printed = 4 * V.xreplace({ABOVE: guarded_sum(floor(T / 2**j), j, TOP + 1, DEPTH)})
    steps = (
        Step(SQUARES / (4 * V), "=", "guarded-sum", LEVELS, context=SQUARES / (4 * V.xreplace({ABOVE: HOLE}))),
        Step.within(HOLE / (4 * V), 4 * V, "premise", {}, (ALL,)),
        Step(Integer(1), "="),
    )
    return lemma(RATIO_OF_ALL, (*ASSUMED, V > 0), SQUARES / printed, steps, **{ALL: citation})


def derive_theorem_4(statement: Statement) -> Derivation:
    """Derive the corrected Theorem 4: the divergence of Gaussians that move by 2 alpha G times the weights."""
    symbols = sympy_symbols(statement)
    citation = cite(ratio())
    definition = define(statement, MOVED)
    fact = known_fact(statement, COMPOSITION, t=T)
    z = symbols["z"]
    sigma = symbols["sigma"]
    end = z / (2 * sigma**2)
    steps = (
        Step(z / 2 * definition.lhs, "<=", "premise", {}, (COMPOSITION,)),
        Step(z / 2 * definition.rhs, "=", "premise", {}, (MOVED,)),
        Step.within(end * HOLE, citation.rhs, "premise", {}, (RATIO_OF_ALL,)),
    )
    sampled: dict[str, Variable] = {
        **RANGES,
        "z": real(1, 9, open_lo=True),
        "sigma": real(0, 5, open_lo=True),
        "G": real(0, 5, open_lo=True),
        "moved": FunctionOf("moved", (T,), definition.rhs),
        "composed": FunctionOf("composed", (T,), fact.rhs),
    }
    premises = {COMPOSITION: fact, MOVED: definition, RATIO_OF_ALL: citation}
    return Derivation("level by level", "ours", sampled, (*ASSUMED, V > 0, z > 1), fact.lhs, steps, premises)
