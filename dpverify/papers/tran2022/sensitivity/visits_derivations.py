"""Counts of nodes, and distances of iterates, derived: level by level, and step by step.

On a level b an example contributes to no more nodes than there are epochs, ceil(T/N) = floor((T-1)/N) + 1, and to no
more than there are nodes, floor(T/2^b). The first bound serves where a node is no longer than an epoch, b <=
floor(log2 N), the second above (NOTES_sensitivity.md, section 4): the levels above s = floor(log2 N) have fewer than 2
T/N nodes together. Theorems 6 and 8 make a logarithm of these sums: s + 3 is at most 4 log2 of what is at least
2^max(s, 1). The corrected Theorem 6 keeps ``(T/N) (log2 N + 3)``.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Lambda, Min, Piecewise, Rational, Sum, Symbol, ceiling, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import guarded_sum, sympy_conditions, sympy_sides, sympy_symbols

b = Symbol("b", integer=True)
j = Symbol("j", integer=True)
APART = Symbol("k", integer=True, nonnegative=True)  # Steps between two iterates
LEVELS = Symbol("k", integer=True, nonnegative=True)  # Levels of nodes that are longer than an epoch
FROM = Symbol("short", integer=True, nonnegative=True)
TOP = Symbol("top", integer=True, nonnegative=True)
T = Symbol("T", integer=True, positive=True)
N = Symbol("N", integer=True, positive=True)
SHORT = floor(Log2(N))  # Highest level whose nodes are no longer than an epoch
HALF: Final = Rational(1, 2)
ABOVE: Final = "levels above"


def derive_count_first(statement: Statement) -> Derivation:
    """Derive the number of nodes inside [1, 2N]: two on each level of short nodes, and one above (appendix E.1)."""
    limits = {"c": Integer(2), "lo": 0, "hi": SHORT}
    steps = (
        *_one_per_epoch(j, Sum(HOLE, (j, 0, SHORT)) + 1, 2 * N),
        Step(2 * SHORT + 3, "=", "sum-constant", limits, context=HOLE + 1),
    )
    start = Sum(_of_level(j, 2 * N), (j, 0, SHORT)) + 1
    return Derivation("level by level", "ours", {"N": integer(1, 3000)}, sympy_conditions(statement), start, steps)


def derive_count_later(statement: Statement) -> Derivation:
    """Derive the number of nodes not inside [1, 2N]: on short levels one per epoch but the first (appendix E.1)."""
    above = guarded_sum(floor(T / 2**j), j, floor(Log2(N) + 1), floor(Log2(T)))
    start, steps = _later(above)
    ranges = {"T": integer(1, 300), "N": integer(1, 300)}
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, steps)


def derive_later_simple(statement: Statement) -> Derivation:
    """Derive ``(T/N) (floor(log2 N) + 3)`` for that number: the nodes above are a geometric sum (appendix E.1)."""
    start, short = _later(Sum(floor(T / 2 ** (SHORT + 1 + j)), (j, 0, LEVELS - 1)))
    low = (SHORT + 1) * (T / N)
    steps = (
        *short,
        Step(
            low + Sum(T / 2 ** (SHORT + 1 + j), (j, 0, LEVELS - 1)),
            "<=",
            "floor-below",
            {"x": T / 2 ** (SHORT + 1 + j)},
        ),
        Step(low + T / 2 ** (SHORT + 1) * Sum(HALF**j, (j, 0, LEVELS - 1)), "="),
        Step(low + T / 2 ** (SHORT + 1) * 2, "<=", "geometric-sum-bound", {"x": HALF, "m": LEVELS - 1}),
        Step(low + T / 2 ** Log2(N) * 2, "<=", "power-increasing", {"x": 2, "p": Log2(N), "q": SHORT + 1}),
        Step((T / N) * (SHORT + 3), "="),
    )
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "k": integer(0, 9)}
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, steps, local=("k",))


def _later(above: Any) -> tuple[Any, tuple[Step, ...]]:
    """Nodes not inside [1, 2N], ``above`` of them on long levels, and the steps that count those on short ones."""
    later = floor((T - 1) / N)
    return Sum(later, (b, 0, SHORT)) + above, (
        Step((SHORT + 1) * later + above, "=", "sum-constant", {"c": later, "lo": 0, "hi": SHORT}),
        Step((SHORT + 1) * ((T - 1) / N) + above, "<=", "floor-below", {"x": (T - 1) / N}),
        Step((SHORT + 1) * (T / N) + above, "<=", "order", {"a": T - 1, "b": T}),
    )


def _of_level(level: Any, steps: Any = T) -> Any:
    """Nodes of a level that one example reaches: all of them, or one for each epoch that they meet."""
    nodes = floor(steps / 2**level)
    return Min(nodes, ceiling(2**level * nodes / N))


def _one_per_epoch(level: Any, around: Any, steps: Any = T) -> tuple[Step, Step]:
    """From the nodes of a level to the epochs, in the place of ``HOLE``."""
    nodes = floor(steps / 2**level)
    all_of_them = steps / 2**level
    met = ceiling(2**level * nodes / N)
    return (
        Step.within(around, met, "above-min", {"a": met, "b": nodes}),
        Step.within(
            around.xreplace({HOLE: ceiling(2**level * HOLE / N)}), all_of_them, "floor-below", {"x": all_of_them}
        ),
    )


def derive_level_count(statement: Statement) -> Derivation:
    """Derive ``ceil(T/N)`` for one level: no more nodes than epochs (appendix D.1)."""
    level = sympy_symbols(statement)["level"]
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "level": integer(0, SHORT)}
    steps = _one_per_epoch(level, HOLE)
    return Derivation("one per epoch", "ours", ranges, sympy_conditions(statement), _of_level(level), steps)


def derive_v(statement: Statement) -> Derivation:
    """Derive V with whole epochs (D.1): one node for each on short levels, and all nodes of the others."""
    depth = sympy_symbols(statement)["depth"]
    epochs = ceiling(T / N)
    _, end = sympy_sides(statement)
    (guarded,) = end.atoms(Piecewise)
    (least,) = end.atoms(Min)
    offset = 1 if statement.key.endswith("theorem-4-v") else 0  # inside the minimum or outside
    low = end - guarded
    above = Sum(floor(T / 2**j), (j, SHORT + 1, depth))
    long_levels = Sum(_of_level(j), (j, SHORT + 1, depth))
    deep = (
        Step(
            Sum(_of_level(j), (j, 0, SHORT)) + long_levels,
            "=",
            "sum-split",
            {"f": Lambda(j, _of_level(j)), "lo": 0, "hi": depth, "m": SHORT},
        ),
        *_one_per_epoch(j, Sum(HOLE, (j, 0, SHORT)) + long_levels),
        Step((SHORT + 1) * epochs + long_levels, "=", "sum-constant", {"c": epochs, "lo": 0, "hi": SHORT}),
        Step.within(
            (SHORT + 1) * epochs + Sum(HOLE, (j, SHORT + 1, depth)),
            floor(T / 2**j),
            "above-min",
            {"a": floor(T / 2**j), "b": ceiling(2**j * floor(T / 2**j) / N)},
        ),
        Step(low + above, "="),
    )
    none = (
        *_one_per_epoch(j, Sum(HOLE, (j, 0, depth))),
        Step((depth + 1) * epochs, "=", "sum-constant", {"c": epochs, "lo": 0, "hi": depth}),
        Step(low, "=", "min-is", {"a": depth + offset, "b": SHORT + offset}, context=low.xreplace({least: HOLE})),
        Step(low + above, "=", "empty-sum", _levels(T, SHORT, depth), context=low + HOLE),
    )
    cases = Cases(low + above, "<=", (Case(depth >= SHORT + 1, deep), Case(depth <= SHORT, none)))
    last_step = Step(end, "=", "guarded-sum", _levels(T, SHORT, depth), context=low + HOLE)
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "depth": integer(floor(Log2(T)), floor(Log2(T)) + 1)}
    start = Sum(_of_level(j), (j, 0, depth))
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, (cases, last_step))


def derive_distance(statement: Statement) -> Derivation:
    """Derive how far apart two iterates, or gradients at them, are: steps of length eta (section 4, appendix E.1)."""
    symbols = sympy_symbols(statement)
    eta = symbols["eta"]
    slope = symbols.get("L", Integer(1))
    distance: Any = N
    if statement.quantity == "same_example_distance" and statement.reading["ordering"] == "fresh":
        distance = 2 * N - 1
    if statement.quantity == "drift_gradient_distance" and statement.reading["epochs"] != "shifted":
        distance = N - 1
    steps = (
        Step(slope * APART * eta, "=", "sum-constant", {"c": eta, "lo": 1, "hi": APART}, context=slope * HOLE),
        Step(slope * distance * eta, "<=", "order", {"a": APART, "b": distance}),
    )
    ranges = {"N": integer(1, 60), "eta": real(0, 5, open_lo=True), "L": real(0, 5), "k": integer(0, distance)}
    used = {symbol.name for symbol in (slope * eta).free_symbols} | {"N", "k"}
    return Derivation(
        "steps of length eta",
        "ours",
        {name: ranges[name] for name in ranges if name in used},
        (*sympy_conditions(statement), distance >= APART),
        slope * Sum(eta, (j, 1, APART)),
        steps,
        local=("k",),
    )


def derive_ancestors(statement: Statement) -> Derivation:
    """Derive the number of nodes above a leaf, with the leaf: one on each level."""
    t = sympy_symbols(statement)["t"]
    height = ceiling(Log2(t))
    steps = (Step(height + 1, "=", "sum-constant", {"c": Integer(1), "lo": 0, "hi": height}),)
    start = Sum(Integer(1), (b, 0, height))
    return Derivation("one on each level", "ours", {"t": integer(1, 3000)}, sympy_conditions(statement), start, steps)


def levels_above() -> Derivation:
    """Derive that the levels ``short + 1 .. top`` have at most ``T/2^short`` nodes, by a geometric sum."""
    first = T / 2 ** (FROM + 1)
    steps = (
        Step.within(Sum(HOLE, (j, FROM + 1, TOP)), T / 2**j, "floor-below", {"x": T / 2**j}),
        Step(first * Sum(HALF**j, (j, 0, TOP - FROM - 1)), "="),
        Step.within(first * HOLE, 2, "geometric-sum-bound", {"x": HALF, "m": TOP - FROM - 1}),
        Step(T / 2**FROM, "="),
    )
    ranges = {"T": integer(1, 300), "short": integer(0, 9), "top": integer(0, 12)}
    start = Sum(floor(T / 2**j), (j, FROM + 1, TOP))
    return Derivation("levels above", "ours", ranges, (), start, steps)


def _above(steps: Any, n: Any, top: Any) -> Cited:
    """Premise about the levels above floor(log2 N)."""
    return cite(levels_above(), T=steps, short=floor(Log2(n)), top=top)


def _to_ratio(low: Any, steps: Any, n: Any) -> tuple[Step, ...]:
    """From ``low + T/2^floor(log2 N)`` to ``low + 2 T/N``."""
    short = floor(Log2(n))
    half = low + 2 * steps / 2 ** (short + 1)
    return (
        Step(half, "="),
        Step.within(low + 2 * steps / HOLE, 2 ** Log2(n), "power-increasing", {"x": 2, "p": Log2(n), "q": short + 1}),
    )


def count() -> Derivation:
    """Derive ``(T/N) (log2 N + 3)`` as a bound on Theorem 6's V, whatever the depth of the tree is (appendix D.2)."""
    steps = T
    n = N
    depth = TOP
    short = floor(Log2(n))
    per = steps / n
    citation = _above(steps, n, depth)
    low = per * (Min(depth, short) + 1)
    bound = per * (Log2(n) + 3)
    deep = (
        Step(per * (short + 1) + citation.lhs, "="),
        Step(per * (short + 1) + citation.rhs, "<=", "premise", {}, (ABOVE,), context=per * (short + 1) + HOLE),
        *_to_ratio(per * (short + 1), steps, n),
        Step(per * (short + 3), "="),
        Step(bound, "<=", "floor-below", {"x": Log2(n)}, context=per * (HOLE + 3)),
    )
    none = (
        Step(low, "=", "empty-sum", _levels(steps, short, depth), context=low + HOLE),
        Step(per * (short + 1), "<=", "above-min", {"a": short, "b": depth}, context=per * (HOLE + 1)),
        Step(per * (short + 3), "<=", "drop-nonnegative", {"a": per * (short + 1), "b": 2 * per}, context=HOLE),
        Step(bound, "<=", "floor-below", {"x": Log2(n)}, context=per * (HOLE + 3)),
    )
    cases = Cases(bound, "<=", (Case(depth >= short + 1, deep), Case(depth <= short, none)))
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "top": integer(0, 12)}
    return Derivation(
        "level by level",
        "ours",
        ranges,
        (),
        low + citation.lhs,
        (cases,),
        {ABOVE: citation},
        local=("top",),
        letters={"top": "R"},
    )


def _levels(steps: Any, short: Any, top: Any) -> dict[str, Any]:
    """Instance of a rule about the sum of ``floor(T/2^j)`` over the levels above ``short``."""
    return {"f": Lambda(j, floor(steps / 2**j)), "lo": short + 1, "hi": top}


def derive_count_later_log(statement: Statement) -> Derivation:
    """Derive ``4 (T/N) log2 N`` for the nodes not inside [1, 2N]: 3 is at most ``3 log2 N`` (appendix E.1)."""
    symbols = sympy_symbols(statement)
    steps = symbols["T"]
    n = symbols["N"]
    start, end = sympy_sides(statement)
    short = floor(Log2(n))
    low = (steps / n) * (short + 1)
    (above,) = start.atoms(Sum)
    top = above.limits[0][2]
    citation = _above(steps, n, top)
    chain = (
        Step(low + above, "=", "guarded-sum", _levels(steps, short, top)),
        Step(low + citation.rhs, "<=", "premise", {}, (ABOVE,), context=low + HOLE),
        *_to_ratio(low, steps, n),
        Step((steps / n) * (short + 3), "="),
        Step((steps / n) * (Log2(n) + 3), "<=", "floor-below", {"x": Log2(n)}),
        Step(end, "<=", "log2-monotone", {"a": Integer(2), "b": n}, context=(steps / n) * (Log2(n) + 3 * HOLE)),
    )
    ranges = {"T": integer(1, 300), "N": integer(2, 300)}
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, chain, {ABOVE: citation})


def derive_6_v(statement: Statement) -> Derivation:
    """Derive the bound ``4 (T/N) log2 T`` on Theorem 6's V, in both readings of the depth (appendix D.2)."""
    symbols = sympy_symbols(statement)
    steps = symbols["T"]
    n = symbols["N"]
    depth = symbols["depth"]
    start, end = sympy_sides(statement)
    short = floor(Log2(n))
    height = floor(Log2(steps))
    (above,) = start.atoms(Sum)
    per = steps / n
    to_log = (
        Step(per * (Log2(steps) + 3), "<=", "floor-below", {"x": Log2(steps)}, context=per * (HOLE + 3)),
        Step(end, "<=", "log2-monotone", {"a": Integer(2), "b": steps}, context=per * (Log2(steps) + 3 * HOLE)),
    )
    low = per * (Min(depth, short) + 1)
    citation = _above(steps, n, depth)
    deep = (
        Step(per * (short + 1) + above, "="),
        Step(per * (short + 1) + citation.rhs, "<=", "premise", {}, (ABOVE,), context=per * (short + 1) + HOLE),
        *_to_ratio(per * (short + 1), steps, n),
        Step(per * (short + 3), "="),
        Step(per * (height + 3), "<=", "order", {"a": short, "b": height}),
        *to_log,
    )
    none = (
        Step(low, "=", "empty-sum", _levels(steps, short, depth), context=low + HOLE),
        Step(per * (depth + 1), "<=", "above-min", {"a": depth, "b": short}),
        Step(per * (height + 2), "<=", "order", {"a": depth, "b": height + 1}),
        Step(per * (height + 3), "<=", "drop-nonnegative", {"a": per * (height + 2), "b": per}),
        *to_log,
    )
    cases = Cases(end, "<=", (Case(depth >= short + 1, deep), Case(depth <= short, none)))
    (guarded,) = start.atoms(Piecewise)
    bare = Step(low + above, "=", "guarded-sum", _levels(steps, short, depth), context=start.xreplace({guarded: HOLE}))
    ranges = {"T": integer(2, 300), "N": integer(1, 300), "depth": integer(height, height + 1)}
    return Derivation(
        "level by level", "ours", ranges, sympy_conditions(statement), start, (bare, cases), {ABOVE: citation}
    )
