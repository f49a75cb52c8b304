"""Theorem 8's families and their sum: how far the nodes move that Algorithm 4 reads, against the noise of the proof.

On level b the squared weights of nodes of at most N steps add up to the visits where 2^b divides N, and to twice that
elsewhere; in r nodes a visit counts by its place. Longer nodes occur in the family r only (NOTES_privacy.md, 3).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Lambda, Max, Min, Mod, Rational, Sum, Symbol, exp, floor

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.privacy.level_derivations import (
    ALPHA,
    COMPOSITION,
    LONG,
    MOVED,
    PER,
    RANGES,
    RATIO,
    TOP,
    VISITS,
    N,
    T,
    j,
    lemma,
)
from dpverify.papers.tran2022.sensitivity.visits_derivations import levels_above
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.define import define, known_fact
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_symbols
from dpverify.symbolic.expressions.whole_functions import FunctionOf

b = Symbol("b", integer=True)
REST = Symbol("rest", integer=True, nonnegative=True)  # Steps of the last epoch, if it is not a whole one
LOG = Log2(N)
FAR = ((N - 1) / N) ** 2
LATER = floor((T - 1) / N)
NODES = Sum(1 + Min(1, Mod(N, 2**b)), (b, 0, TOP))  # Squares of weights on short levels, for one visit
MOST = 1 + 2 * TOP
SERIES = Sum(RATIO**j, (j, 0, VISITS - 1))
PLACES = floor(PER) * FAR + (Max(T - N * floor(PER) - 1, 0) / N) ** 2  # Squares of (place - 1)/N over all visits
LONGER = Sum(floor(T / 2**j), (j, TOP + 1, floor(Log2(T))))  # All nodes of more than N steps
SQUARE: Final = Rational(2503, 1000)  # above 1/(1 - 1/e)^2
FLAT = FAR * (NODES + SQUARE * N / 2**TOP) / (4 * LOG)  # What r nodes add up to, over the noise's 4 T/N log2(N)
LEVELS = "short levels"
VISITED = "places of the visits"
HEAVY = "long nodes of r"
ROOM_FOR_R = "room for r nodes"


def levels() -> Derivation:
    """Derive that a visit counts at most once on level 0 and twice on the others."""
    count = Lambda(b, 1 + Min(1, Mod(N, 2**b)))
    steps = (
        Step(1 + Sum(count(b), (b, 1, TOP)), "=", "sum-split-first", {"f": count, "lo": 0, "hi": TOP}),
        Step.within(1 + HOLE, 2 * TOP, "sum-at-most", {"f": count, "lo": 1, "hi": TOP, "c": 2}),
        Step(MOST, "="),
    )
    return lemma(LEVELS, (), NODES, steps)


def last_epoch() -> Derivation:
    """Derive that the last epoch, which may be cut short, counts by its steps at most."""
    bound = REST * (N - 1) ** 2 / N**3
    nonempty = (
        Step(((REST - 1) / N) ** 2, "="),
        Step(bound, "<=", "drop-nonnegative", {"a": ((REST - 1) / N) ** 2, "b": (N - REST) * (N * REST - 1) / N**3}),
    )
    none = (Step(Integer(0), "="), Step(bound, "<=", "order", {"a": 0, "b": bound}, context=HOLE))
    split = Cases(bound, "<=", (Case(REST >= 1, nonempty), Case(REST <= 0, none)))
    ranges: dict[str, Variable] = {"N": integer(1, 60), "rest": integer(0, N)}
    start = (Max(REST - 1, 0) / N) ** 2
    return Derivation("last epoch", "ours", ranges, (REST <= N,), start, (split,))


def places() -> Derivation:
    """Derive that the squares of (place - 1)/N add up to at most T/N times the largest."""
    remainder = T - N * floor(PER)
    citation = cite(last_epoch(), rest=remainder)
    steps = (
        Step.within(floor(PER) * FAR + HOLE, citation.rhs, "premise", {}, ("last epoch",)),
        Step(PER * FAR, "="),
    )
    return lemma(VISITED, (), PLACES, steps, **{"last epoch": citation})


def heavy() -> Derivation:
    """Derive the largest square of a long node's weight in the family r."""
    least = 1 / (1 - exp(-1))
    steps = (
        Step(FAR / (1 - RATIO) ** 2, "<=", "geometric-sum-bound", {"x": RATIO, "m": VISITS - 1}),
        Step(FAR / (1 - exp(-ALPHA * N)) ** 2, "<=", "one-minus-exp", {"x": ALPHA}),
        Step(FAR * least**2, "<=", "exp-monotone", {"a": -ALPHA * N, "b": -Integer(1)}),
        Step.order(FAR * HOLE, least**2, SQUARE),
    )
    return lemma(HEAVY, (ALPHA <= 1, ALPHA * N >= 1), ((N - 1) / N * SERIES) ** 2, steps)


def _at(expr: Any, value: int) -> Step:
    """Put a number in the place of N."""
    i = Symbol("i", integer=True)
    where = {"f": Lambda(i, expr.xreplace({N: i})), "m": N, "n": value}
    return Step(expr.xreplace({N: Integer(value)}), "=", "equal-arguments", where, context=HOLE)


def _to(expr: Any, value: int, bound: Any) -> tuple[Step, ...]:
    """Compare a number, an expression in N at a value, with a bound."""
    number = expr.xreplace({N: Integer(value)})
    return _at(expr, value), Step(bound, "<=", "order", {"a": number, "b": bound}, context=HOLE)


def first() -> Derivation:
    """Derive the ratio of G and Delta inside [1, 2N]: two visits, and one."""
    start = (NODES / 2 + TOP + 1) / (3 * LOG)
    simple = (Rational(3, 2) + 2 * TOP) / (3 * LOG)
    large = (
        Step.order((HOLE + 2 * TOP) / (3 * LOG), Rational(3, 2), Integer(2)),
        Step.within((floor(HOLE) + 2 * TOP) / (3 * LOG), LOG, "log2-monotone", {"a": 4, "b": N}),
        Step.within(HOLE / LOG, LOG, "floor-below", {"x": LOG}),
    )
    several = (
        Step.within((HOLE / 2 + TOP + 1) / (3 * LOG), MOST, "premise", {}, (LEVELS,)),
        Step(simple, "="),
        Cases(Integer(1), "<=", (Case(N <= 3, _to(simple, 3, Integer(1))), Case(N >= 4, large))),
    )
    split = Cases(Integer(1), "<=", (Case(N <= 2, _to(start, 2, Integer(1))), Case(N >= 3, several)))
    return lemma("family first", (N >= 2,), start, (split,), **{LEVELS: cite(levels())})


def later() -> Derivation:
    """Derive the ratio of G and Delta elsewhere: one visit in each epoch but the first."""
    half = Rational(5, 16)
    steps = (
        Step.within(half * HOLE * NODES / (PER * LOG), (T - 1) / N, "floor-below", {"x": (T - 1) / N}),
        Step.order(half * HOLE / N * NODES / (PER * LOG), T - 1, T),
        Step(half * NODES / LOG, "="),
        Step.within(half * HOLE / LOG, MOST, "premise", {}, (LEVELS,)),
        Step.within(half * (floor(HOLE) + 2 * TOP) / LOG, LOG, "log2-monotone", {"a": 2, "b": N}),
        Step.within(3 * half * HOLE / LOG, LOG, "floor-below", {"x": LOG}),
        Step(Integer(1), "<=", "order", {"a": 3 * half, "b": 1}, context=HOLE),
    )
    return lemma("family later", (N >= 2,), half * LATER * NODES / (PER * LOG), steps, **{LEVELS: cite(levels())})


def read() -> Derivation:
    """Derive the ratio of all nodes that Algorithm 4 reads: from 16 examples on by log2(N) >= 4, below one by one."""
    low = NODES / (6 * LOG)
    level_noise = 4 * PER * LOG
    weight = (N - 1) / N * SERIES
    start = low + (Rational(5, 4) * LATER * NODES + NODES * PLACES + LONG * weight**2) / level_noise
    sides = low + (Rational(5, 4) * LATER * NODES + HOLE) / level_noise
    size = T / 2 ** (TOP + 1)
    later = low + (Rational(5, 4) * HOLE * NODES + NODES * PER * FAR + size * FAR * SQUARE) / level_noise
    flat = low + 5 * NODES / (16 * LOG) + FAR * (NODES + SQUARE * N / 2 ** (TOP + 1)) / (4 * LOG)
    simple = MOST * Rational(23, 48) / LOG + FAR * (MOST + SQUARE * N / 2 ** (TOP + 1)) / (4 * LOG)
    limit = Rational(7, 4)
    steps = (
        Step.within(sides.xreplace({HOLE: NODES * HOLE + LONG * weight**2}), PER * FAR, "premise", {}, (VISITED,)),
        Step.within(sides.xreplace({HOLE: NODES * PER * FAR + LONG * HOLE}), FAR * SQUARE, "premise", {}, (HEAVY,)),
        Step.within(sides.xreplace({HOLE: NODES * PER * FAR + HOLE * FAR * SQUARE}), size, "floor-below", {"x": size}),
        Step.within(later, (T - 1) / N, "floor-below", {"x": (T - 1) / N}),
        Step.order(later.xreplace({HOLE: HOLE / N}), T - 1, T),
        Step(flat, "="),
        Step.within(flat.xreplace({NODES: HOLE}), MOST, "premise", {}, (LEVELS,)),
        Step(simple, "="),
        _one_by_one(simple, limit, 2, 15, _many_examples(limit)),
    )
    cited = {LEVELS: cite(levels()), VISITED: cite(places()), HEAVY: cite(heavy())}
    return lemma("all that is read", (N >= 2, ALPHA <= 1, ALPHA * N >= 1), start, steps, **cited)


def room() -> Derivation:
    """Derive that the noise has room for all r nodes: from 8 examples on by log2(N) >= 3, below one by one."""
    simple = FLAT.xreplace({NODES: MOST})
    over = LOG - TOP
    unit = Integer(1)
    around = (MOST + SQUARE * HOLE) / (4 * LOG)
    large = (
        Step.order(HOLE * (MOST + SQUARE * N / 2**TOP) / (4 * LOG), FAR, unit),
        Step(around.xreplace({HOLE: 2**over}), "="),
        Step.within(around, 1 + over, "power-chord", {"x": 2, "y": over, "d": 1}),
        Step(((2 - SQUARE) * TOP + SQUARE * LOG + 1 + SQUARE) / (4 * LOG), "="),
        Step.within(((2 - SQUARE) * HOLE + SQUARE * LOG + 1 + SQUARE) / (4 * LOG), LOG - 1, "floor-above", {"x": LOG}),
        Step.within((2 * LOG + (2 * SQUARE - 1) / 3 * HOLE) / (4 * LOG), LOG, "log2-monotone", {"a": 8, "b": N}),
        Step(unit, "<=", "order", {"a": (2 + (2 * SQUARE - 1) / 3) / 4, "b": 1}, context=HOLE),
    )
    steps = (
        Step.within(FLAT.xreplace({NODES: HOLE}), MOST, "premise", {}, (LEVELS,)),
        _one_by_one(simple, unit, 2, 7, large),
    )
    return lemma(ROOM_FOR_R, (N >= 2,), FLAT, steps, **{LEVELS: cite(levels())})


def drift() -> Derivation:
    """Derive the ratio of all r nodes, read or not: what they add up to, and the noise's room for it."""
    level_noise = 4 * PER * LOG
    unit = Integer(1)
    noise = Max(level_noise, PER)
    weight = ((N - 1) / N * SERIES) ** 2
    citation = cite(levels_above(), T=T, short=TOP, top=floor(Log2(T)))
    several = (
        Step.within((NODES * HOLE + LONGER * weight) / noise, PER * FAR, "premise", {}, (VISITED,)),
        Step.within((NODES * PER * FAR + LONGER * HOLE) / noise, FAR * SQUARE, "premise", {}, (HEAVY,)),
        Step.within((NODES * PER * FAR + HOLE * FAR * SQUARE) / noise, citation.rhs, "premise", {}, ("levels above",)),
        Step(level_noise * FLAT / noise, "="),
        Step.within(level_noise * HOLE / noise, unit, "premise", {}, (ROOM_FOR_R,)),
        Step.within(HOLE / noise, noise, "below-max", {"a": level_noise, "b": PER}),
        Step(unit, "="),
    )
    start = (NODES * PLACES + LONGER * weight) / noise
    split = Cases(unit, "<=", (Case(N <= 1, _to(start, 1, unit)), Case(N >= 2, several)))
    cited = {VISITED: cite(places()), HEAVY: cite(heavy()), "levels above": citation, ROOM_FOR_R: cite(room())}
    return lemma("family r", (ALPHA <= 1, ALPHA * N >= 1), start, (split,), **cited)


def _one_by_one(expr: Any, bound: Any, first: int, last: int, remaining_steps: tuple[Step, ...]) -> Cases:
    """Cases for each number of examples, and one for more."""
    split = Cases(bound, "<=", (Case(last >= N, _to(expr, last, bound)), Case(last + 1 <= N, remaining_steps)))
    for value in range(last - 1, first - 1, -1):
        split = Cases(bound, "<=", (Case(value >= N, _to(expr, value, bound)), Case(value + 1 <= N, (split,))))
    return split


def _many_examples(limit: Any) -> tuple[Step, ...]:
    """From 16 examples on: ``N/2^L <= 1 + log2 N - L`` below a chord, and what is left is linear in L and log2 N."""
    over = LOG - TOP
    around = (MOST * Rational(35, 48) + SQUARE * HOLE / 8) / LOG
    constant = Rational(35, 48) + SQUARE / 8
    slope = Rational(35, 24) - SQUARE / 8
    far = HOLE * (MOST + SQUARE * N / 2 ** (TOP + 1)) / (4 * LOG)
    return (
        Step.order(MOST * Rational(23, 48) / LOG + far, FAR, Integer(1)),
        Step(around.xreplace({HOLE: 2**over}), "="),
        Step.within(around, 1 + over, "power-chord", {"x": 2, "y": over, "d": 1}),
        Step((slope * TOP + SQUARE / 8 * LOG + constant) / LOG, "="),
        Step.within((slope * HOLE + SQUARE / 8 * LOG + constant) / LOG, LOG, "floor-below", {"x": LOG}),
        Step.within((Rational(35, 24) * LOG + constant / 4 * HOLE) / LOG, LOG, "log2-monotone", {"a": 16, "b": N}),
        Step(limit, "<=", "order", {"a": Rational(35, 24) + constant / 4, "b": limit}, context=HOLE),
    )


def derive_family(statement: Statement) -> Derivation:
    """Derive a bound on the divergence of a family of Theorem 8, or of all that is read."""
    builders = {"theorem-8-family-first": first, "theorem-8-family-later": later, "theorem-8-family-r": drift}
    symbols = sympy_symbols(statement)
    citation = cite(builders.get(statement.key.split(":")[1], read)())
    definition = define(statement, MOVED)
    fact = known_fact(statement, COMPOSITION, t=T)
    z = symbols["z"]
    sigma = symbols["sigma"]
    name = citation.derivation.name if citation.derivation else ""
    end = z / (2 * sigma**2)
    steps = (
        Step(z / 2 * definition.lhs, "<=", "premise", {}, (COMPOSITION,)),
        Step(z / 2 * definition.rhs, "=", "premise", {}, (MOVED,)),
        Step.within(end * HOLE, citation.rhs, "premise", {}, (name,)),
    )
    sampled: dict[str, Variable] = {
        **RANGES,
        "L": real(0, 5),
        "z": real(1, 9, open_lo=True),
        "sigma": real(0, 5, open_lo=True),
        "G": real(0, 5, open_lo=True),
        "eta": real(0, 5, open_lo=True),
        "moved": FunctionOf("moved", (T,), definition.rhs),
        "composed": FunctionOf("composed", (T,), fact.rhs),
    }
    premises = {COMPOSITION: fact, MOVED: definition, name: citation}
    granted = tuple(c for c in sympy_conditions(statement) if c.free_symbols <= {ALPHA, N, z, sigma})
    return Derivation("by families", "ours", sampled, granted, fact.lhs, steps, premises)
