"""Counts of nodes, and distances of iterates, derived: level by level, and step by step.

On a level b an example contributes to no more nodes than there are epochs, ceil(T/N) = floor((T-1)/N) + 1, and to no
more than there are nodes, floor(T/2^b). The first bound serves where a node is no longer than an epoch, b <=
floor(log2 N), the second above (NOTES_sensitivity.md, section 4).
"""

from __future__ import annotations

from typing import Any

from sympy import Integer, Min, Rational, Sum, Symbol, ceiling, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import guarded_sum, sympy_conditions, sympy_symbols

b, j = Symbol("b", integer=True), Symbol("j", integer=True)
STEPS = Symbol("k", integer=True, nonnegative=True)  # Steps between two iterates
LEVELS = Symbol("k", integer=True, nonnegative=True)  # Levels of nodes that are longer than an epoch
T, N = Symbol("T", integer=True, positive=True), Symbol("N", integer=True, positive=True)
SHORT = floor(Log2(N))  # Highest level whose nodes are no longer than an epoch


def derive_count_first(statement: Statement) -> Derivation:
    """Derive the number of nodes inside [1, 2N]: two on each level of short nodes, and one above (appendix E.1)."""
    both = {"c": Integer(2), "lo": 0, "hi": SHORT}
    steps = (Step(2 * SHORT + 3, "=", "sum-constant", both, context=HOLE + 1),)
    start = Sum(Integer(2), (b, 0, SHORT)) + 1
    return Derivation("level by level", "ours", {"N": integer(1, 3000)}, sympy_conditions(statement), start, steps)


def derive_count_later(statement: Statement) -> Derivation:
    """Derive the number of nodes not inside [1, 2N]: on short levels one per epoch but the first (appendix E.1)."""
    above = guarded_sum(floor(T / 2**j), j, floor(Log2(N) + 1), floor(Log2(T)))
    later = floor((T - 1) / N)
    steps = (
        Step((SHORT + 1) * later + above, "=", "sum-constant", {"c": later, "lo": 0, "hi": SHORT}),
        Step((SHORT + 1) * ((T - 1) / N) + above, "<=", "floor-below", {"x": (T - 1) / N}),
        Step((SHORT + 1) * (T / N) + above, "<=", "order", {"a": T - 1, "b": T}),
    )
    ranges = {"T": integer(1, 300), "N": integer(1, 300)}
    start = Sum(later, (b, 0, SHORT)) + above
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, steps)


def derive_later_simple(statement: Statement) -> Derivation:
    """Derive ``(T/N) (floor(log2 N) + 3)`` for that number: the nodes above are a geometric sum (appendix E.1)."""
    later = floor((T - 1) / N)
    above = Sum(floor(T / 2 ** (SHORT + 1 + j)), (j, 0, LEVELS - 1))
    half = Rational(1, 2)
    low = (SHORT + 1) * (T / N)
    steps = (
        Step((SHORT + 1) * later + above, "=", "sum-constant", {"c": later, "lo": 0, "hi": SHORT}),
        Step((SHORT + 1) * ((T - 1) / N) + above, "<=", "floor-below", {"x": (T - 1) / N}),
        Step(low + above, "<=", "order", {"a": T - 1, "b": T}),
        Step(
            low + Sum(T / 2 ** (SHORT + 1 + j), (j, 0, LEVELS - 1)),
            "<=",
            "floor-below",
            {"x": T / 2 ** (SHORT + 1 + j)},
        ),
        Step(low + T / 2 ** (SHORT + 1) * Sum(half**j, (j, 0, LEVELS - 1)), "="),
        Step(low + T / 2 ** (SHORT + 1) * 2, "<=", "geometric-sum-bound", {"x": half, "m": LEVELS - 1}),
        Step(low + T / 2 ** Log2(N) * 2, "<=", "power-increasing", {"x": 2, "p": Log2(N), "q": SHORT + 1}),
        Step((T / N) * (SHORT + 3), "="),
    )
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "k": integer(0, 9)}
    start = Sum(later, (b, 0, SHORT)) + above
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, steps, local=("k",))


def derive_level_count(statement: Statement) -> Derivation:
    """Derive ``ceil(T/N)`` for one level: no more nodes than epochs, and no more than there are (appendix D.1)."""
    epochs, nodes = ceiling(T / N), floor(T / 2 ** sympy_symbols(statement)["level"])
    steps = (Step(epochs, "<=", "above-min", {"a": epochs, "b": nodes}),)
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "level": integer(0, SHORT)}
    return Derivation("one per epoch", "ours", ranges, sympy_conditions(statement), Min(epochs, nodes), steps)


def derive_v(statement: Statement) -> Derivation:
    """Derive V with whole epochs (D.1). Levels above floor(log2 T) have no node, so both readings of R serve."""
    depth, height, epochs = sympy_symbols(statement)["depth"], floor(Log2(T)), ceiling(T / N)
    above = guarded_sum(floor(T / 2**j), j, floor(Log2(N) + 1), depth)
    if statement.key.endswith("theorem-4-v"):  # the same number, written min(R + 1, floor(log2(N) + 1))
        there, bound = Min(height + 1, SHORT + 1), Min(depth + 1, SHORT + 1)
    else:
        there, bound = Min(height, SHORT) + 1, Min(depth, SHORT) + 1
    steps = (
        Step(there * epochs + above, "=", "sum-constant", {"c": epochs, "lo": 0, "hi": there - 1}),
        Step(bound * epochs + above, "<=", "order", {"a": height, "b": depth}),
    )
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "depth": integer(height, height + 1)}
    start = Sum(epochs, (b, 0, there - 1)) + above
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, steps)


def derive_distance(statement: Statement) -> Derivation:
    """Derive how far apart two iterates, or gradients at them, are: steps of length eta (section 4, appendix E.1)."""
    symbols = sympy_symbols(statement)
    eta = symbols["eta"]
    slope = symbols.get("L", Integer(1))
    most: Any = N
    if statement.quantity == "same_example_distance" and statement.reading["ordering"] == "fresh":
        most = 2 * N - 1
    if statement.quantity == "drift_gradient_distance" and statement.reading["epochs"] != "shifted":
        most = N - 1
    steps = (
        Step(slope * STEPS * eta, "=", "sum-constant", {"c": eta, "lo": 1, "hi": STEPS}, context=slope * HOLE),
        Step(slope * most * eta, "<=", "order", {"a": STEPS, "b": most}),
    )
    ranges = {"N": integer(1, 60), "eta": real(0, 5, open_lo=True), "L": real(0, 5), "k": integer(0, most)}
    used = {symbol.name for symbol in (slope * eta).free_symbols} | {"N", "k"}
    return Derivation(
        "steps of length eta",
        "ours",
        {name: ranges[name] for name in ranges if name in used},
        (*sympy_conditions(statement), most >= STEPS),
        slope * Sum(eta, (j, 1, STEPS)),
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
