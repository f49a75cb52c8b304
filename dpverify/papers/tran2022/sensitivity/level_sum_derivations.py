"""Sums over levels against a logarithm: what Theorems 6 and 8 make of the number of nodes that an example is in.

A level j has at most T/2^j nodes, and the levels above s = floor(log2 N) together fewer than 2 T/N; s + 3 is at most
4 log2 of what is at least 2^max(s, 1). The corrected Theorem 6 keeps ``(T/N) (log2 N + 3)``.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Lambda, Min, Piecewise, Rational, Sum, Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import integer
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

j: Final = Symbol("j", integer=True)
HALF: Final = Rational(1, 2)


STEPS: Final = Symbol("T", integer=True, positive=True)
EXAMPLES: Final = Symbol("N", integer=True, positive=True)
SHORT, TOP = Symbol("short", integer=True, nonnegative=True), Symbol("top", integer=True, nonnegative=True)
COUNT: Final = Symbol("count", nonnegative=True)
ABOVE: Final = "levels above"


def levels_above() -> Derivation:
    """Derive that the levels ``short + 1 .. top`` have at most ``T/2^short`` nodes, by a geometric sum."""
    first = STEPS / 2 ** (SHORT + 1)
    steps = (
        Step.within(Sum(HOLE, (j, SHORT + 1, TOP)), STEPS / 2**j, "floor-below", {"x": STEPS / 2**j}),
        Step(first * Sum(HALF**j, (j, 0, TOP - SHORT - 1)), "="),
        Step.within(first * HOLE, 2, "geometric-sum-bound", {"x": HALF, "m": TOP - SHORT - 1}),
        Step(STEPS / 2**SHORT, "="),
    )  # fmt: skip
    ranges = {"T": integer(1, 300), "short": integer(0, 9), "top": integer(0, 12)}
    start = Sum(floor(STEPS / 2**j), (j, SHORT + 1, TOP))
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
    )  # fmt: skip


def count() -> Derivation:
    """Derive ``(T/N) (log2 N + 3)`` as a bound on Theorem 6's V, whatever the depth of the tree is (appendix D.2)."""
    steps, n, depth = STEPS, EXAMPLES, TOP
    short, per = floor(Log2(n)), steps / n
    given = _above(steps, n, depth)
    low = per * (Min(depth, short) + 1)
    most = per * (Log2(n) + 3)
    some = (
        Step(per * (short + 1) + given.lhs, "="),
        Step(per * (short + 1) + given.rhs, "<=", "premise", {}, (ABOVE,), context=per * (short + 1) + HOLE),
        *_to_ratio(per * (short + 1), steps, n),
        Step(per * (short + 3), "="),
        Step(most, "<=", "floor-below", {"x": Log2(n)}, context=per * (HOLE + 3)),
    )
    none = (
        Step(low, "=", "empty-sum", _levels(steps, short, depth), context=low + HOLE),
        Step(per * (short + 1), "<=", "above-min", {"a": short, "b": depth}, context=per * (HOLE + 1)),
        Step(per * (short + 3), "<=", "drop-nonnegative", {"a": per * (short + 1), "b": 2 * per}, context=HOLE),
        Step(most, "<=", "floor-below", {"x": Log2(n)}, context=per * (HOLE + 3)),
    )
    cases = Cases(most, "<=", (Case(depth >= short + 1, some), Case(depth <= short, none)))
    ranges = {"T": integer(1, 300), "N": integer(1, 300), "top": integer(0, 12)}
    return Derivation(
        "level by level", "ours", ranges, (), low + given.lhs, (cases,), {ABOVE: given}, local=("top",),
        letters={"top": "R"},
    )  # fmt: skip


def _levels(steps: Any, short: Any, top: Any) -> dict[str, Any]:
    """Instance of a rule about the sum of ``floor(T/2^j)`` over the levels above ``short``."""
    return {"f": Lambda(j, floor(steps / 2**j)), "lo": short + 1, "hi": top}


def derive_count_later_log(statement: Statement) -> Derivation:
    """Derive ``4 (T/N) log2 N`` for the nodes not inside [1, 2N]: 3 is at most ``3 log2 N`` (appendix E.1)."""
    symbols = sympy_symbols(statement)
    steps, n = symbols["T"], symbols["N"]
    start, end = sympy_sides(statement)
    short = floor(Log2(n))
    low = (steps / n) * (short + 1)
    (above,) = start.atoms(Sum)
    top = above.limits[0][2]
    given = _above(steps, n, top)
    chain = (
        Step(low + above, "=", "guarded-sum", _levels(steps, short, top)),
        Step(low + given.rhs, "<=", "premise", {}, (ABOVE,), context=low + HOLE),
        *_to_ratio(low, steps, n),
        Step((steps / n) * (short + 3), "="),
        Step((steps / n) * (Log2(n) + 3), "<=", "floor-below", {"x": Log2(n)}),
        Step(end, "<=", "log2-monotone", {"a": Integer(2), "b": n}, context=(steps / n) * (Log2(n) + 3 * HOLE)),
    )
    ranges = {"T": integer(1, 300), "N": integer(2, 300)}
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, chain, {ABOVE: given})


def derive_6_v(statement: Statement) -> Derivation:
    """Derive the bound ``4 (T/N) log2 T`` on Theorem 6's V, in both readings of the depth (appendix D.2)."""
    symbols = sympy_symbols(statement)
    steps, n, depth = symbols["T"], symbols["N"], symbols["depth"]
    start, end = sympy_sides(statement)
    short, height = floor(Log2(n)), floor(Log2(steps))
    (above,) = start.atoms(Sum)
    per = steps / n
    to_log = (
        Step(per * (Log2(steps) + 3), "<=", "floor-below", {"x": Log2(steps)}, context=per * (HOLE + 3)),
        Step(end, "<=", "log2-monotone", {"a": Integer(2), "b": steps}, context=per * (Log2(steps) + 3 * HOLE)),
    )
    low, given = per * (Min(depth, short) + 1), _above(steps, n, depth)
    some = (
        Step(per * (short + 1) + above, "="),
        Step(per * (short + 1) + given.rhs, "<=", "premise", {}, (ABOVE,), context=per * (short + 1) + HOLE),
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
    cases = Cases(end, "<=", (Case(depth >= short + 1, some), Case(depth <= short, none)))
    (guarded,) = start.atoms(Piecewise)
    bare = Step(low + above, "=", "guarded-sum", _levels(steps, short, depth), context=start.xreplace({guarded: HOLE}))
    ranges = {"T": integer(2, 300), "N": integer(1, 300), "depth": integer(height, height + 1)}
    return Derivation(
        "level by level", "ours", ranges, sympy_conditions(statement), start, (bare, cases), {ABOVE: given}
    )
