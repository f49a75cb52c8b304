"""Two sums over levels against a logarithm: what Theorems 6 and 8 make of the number of nodes that an example is in.

A level j has at most T/2^j nodes, and the levels above s = floor(log2 N) together fewer than 2 T/N; s + 3 is at most
4 log2 of what is at least 2^max(s, 1).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Lambda, Min, Rational, Sum, Symbol, floor

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derivation import Case, Cases, Derivation, Step
from dpverify.symbolic.functions import HOLE, Log2
from dpverify.symbolic.ranges import integer
from dpverify.symbolic.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

j: Final = Symbol("j", integer=True)
HALF: Final = Rational(1, 2)


def _above(low: Any, steps: Any, n: Any, top: Any) -> tuple[Step, ...]:
    """From ``low`` and the nodes of the levels above floor(log2 N) to ``low + 2 T/N``."""
    short = floor(Log2(n))
    return (
        Step(low + Sum(steps / 2**j, (j, short + 1, top)), "<=", "floor-below", {"x": steps / 2**j}),
        Step(low + steps / 2 ** (short + 1) * Sum(HALF**j, (j, 0, top - short - 1)), "="),
        Step(low + steps / 2 ** (short + 1) * 2, "<=", "geometric-sum-bound", {"x": HALF, "m": top - short - 1}),
        Step(low + steps / 2 ** Log2(n) * 2, "<=", "power-increasing", {"x": 2, "p": Log2(n), "q": short + 1}),
        Step(low + 2 * steps / n, "="),
    )


def _levels(steps: Any, short: Any, top: Any) -> dict[str, Any]:
    """Instance of a rule about the sum of ``floor(T/2^j)`` over the levels above ``short``."""
    return {"f": Lambda(j, floor(steps / 2**j)), "lo": short + 1, "hi": top}


def derive_count_later_log(statement: Statement) -> Derivation:
    """Derive the bound ``4 (T/N) log2 N`` on the nodes that are not inside [1, 2N].

    Parameters
    ----------
    statement : Statement
        ``tran2022:theorem-8-count-later-log``, amended: N >= 2.

    Returns
    -------
    Derivation
        To ``(T/N) (log2 N + 3)``, and 3 is at most ``3 log2 N``.

    Notes
    -----
    Source: appendix E.1.
    """
    symbols = sympy_symbols(statement)
    steps, n = symbols["T"], symbols["N"]
    start, end = sympy_sides(statement)
    short = floor(Log2(n))
    low = (steps / n) * (short + 1)
    (above,) = start.atoms(Sum)
    top = above.limits[0][2]
    chain = (
        Step(low + above, "=", "guarded-sum", _levels(steps, short, top)),
        *_above(low, steps, n, top),
        Step((steps / n) * (Log2(n) + 3), "<=", "floor-below", {"x": Log2(n)}),
        Step(end, "<=", "log2-monotone", {"a": Integer(2), "b": n}, context=(steps / n) * (Log2(n) + 3 * HOLE)),
    )
    ranges = {"T": integer(1, 300), "N": integer(2, 300)}
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, chain)


def derive_6_v(statement: Statement) -> Derivation:
    """Derive the bound ``4 (T/N) log2 T`` on Theorem 6's V, in both readings of the depth.

    Parameters
    ----------
    statement : Statement
        ``tran2022:theorem-6-v``, amended: T >= 2.

    Returns
    -------
    Derivation
        With levels above floor(log2 N), to ``(T/N) (s + 3)``, and s is below the depth; without, to ``(T/N) (R + 1)``.

    Notes
    -----
    Source: appendix D.2.
    """
    symbols = sympy_symbols(statement)
    steps, n, depth = symbols["T"], symbols["N"], symbols["depth"]
    start, end = sympy_sides(statement)
    short, height = floor(Log2(n)), floor(Log2(steps))
    (above,) = start.atoms(Sum)
    per = steps / n
    to_log = (
        Step(per * (Log2(steps) + 3), "<=", "floor-below", {"x": Log2(steps)}),
        Step(end, "<=", "log2-monotone", {"a": Integer(2), "b": steps}, context=per * (Log2(steps) + 3 * HOLE)),
    )
    low = per * (Min(depth, short) + 1)
    some = (
        Step(per * (short + 1) + above, "="),
        *_above(per * (short + 1), steps, n, depth),
        Step(per * (height + 3), "<=", "order", {"a": short, "b": height}),
        *to_log,
    )
    none = (
        Step(low, "=", "empty-sum", _levels(steps, short, depth)),
        Step(per * (depth + 1), "<=", "above-min", {"a": depth, "b": short}),
        Step(per * (height + 2), "<=", "order", {"a": depth, "b": height + 1}),
        Step(per * (height + 3), "<=", "drop-nonnegative", {"a": per * (height + 2), "b": per}),
        *to_log,
    )
    cases = Cases(end, "<=", (Case(depth >= short + 1, some), Case(depth <= short, none)))
    bare = Step(low + above, "=", "guarded-sum", _levels(steps, short, depth))
    ranges = {"T": integer(2, 300), "N": integer(1, 300), "depth": integer(height, height + 1)}
    return Derivation("level by level", "ours", ranges, sympy_conditions(statement), start, (bare, cases))
