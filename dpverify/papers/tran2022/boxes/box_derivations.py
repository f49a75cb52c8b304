"""Lines of the boxes, derived: loops, windows and indices in whole numbers, and what single nodes and terms are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from sympy import Abs, Max, Mod, Pow, Rational, Sum, Symbol, floor, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import root_of_quotient
from dpverify.symbolic.derive.define import meant_by
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.steps import Link
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Range, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

j = Symbol("j", integer=True)
N = Symbol("N", integer=True, positive=True)
ETA = Symbol("eta", positive=True)
L = Symbol("L", nonnegative=True)
HALF: Final = Rational(1, 2)
APART = Symbol("apart", integer=True, nonnegative=True)
_REAL = real(0, 9, open_lo=True)
RANGES: dict[str, Range] = {
    "N": integer(1, 30),
    "t": integer(1, 300),
    "T": integer(1, 300),
    "q": integer(0, 9),
    "r": integer(0, 30),
    "a": integer(1, 300),
    "b": integer(1, 300),
    "level": integer(0, 6),
    "left": integer(0, N - 1),
    "window": integer(1, 9),
    "turn": integer(0, 9),
    "query": integer(2, 40),
    "queries": integer(1, 40),
    "x": real(0, 9),
    "y": _REAL,
    "alpha": real(0, 1, open_lo=True),
    "G": _REAL,
    "sigma": _REAL,
    "V": _REAL,
    "eta": _REAL,
    "L": real(0, 9),
    "rho": _REAL,
    "z": real(1, 9, open_lo=True),
    "query_sensitivity": _REAL,
    "depth": integer(0, 9),
    "back": integer(0, 9),
    "shift": integer(0, 60),
    "more": integer(0, 3),
    "place": integer(1, N),
    "last": integer(1, N),
    "apart": integer(0, N),
    "own": real(-9, 9),
    "other": real(-9, 9),
    "node_end": integer(1, 99),
    "grad_norm": real(0, 9),
    "error_norm": real(0, 9),
    "inner": real(-20, 20),
    "d": integer(1, 9),
    "delta": real(0, 1, open_lo=True, open_hi=True),
    "epsilon": _REAL,
    "total": real(0, 0),
    "weight_i": real(0, 9),
    "weight_j": real(0, 9),
    "spread": real(0, 9),
    "k": integer(0, 9),
}


def derive_directly(statement: Statement) -> Derivation:
    """Derive what one step says: both sides are equal, or their order follows from the conditions."""
    start, end = sides(statement)
    if statement.relation == "=":
        return chain(statement, Step(end, "="))
    up = statement.relation == "<="
    where = {"a": start, "b": end} if up else {"a": end, "b": start}
    return chain(statement, Step(end, "<=" if up else ">=", "order", where))


def derive_longest_sum(statement: Statement) -> Derivation:
    """Derive that no partial sum has more than T terms."""
    a, b, top = (sympy_symbols(statement)[name] for name in ("a", "b", "T"))
    return chain(statement, Step(sides(statement)[1], "<=", "sqrt-monotone", {"a": b - a + 1, "b": top}))


def derive_full_batch_gain(statement: Statement) -> Derivation:
    """Derive the quotient of the two bounds that section 1 prints."""
    symbols = sympy_symbols(statement)
    log_ratio = log(symbols["N"] / symbols["delta"])
    roots = "the roots of two bounds"
    gain = chain(statement, Step(log_ratio ** Rational(1, 4), "=", "premise", {}, (roots,)))
    return replace(gain, premises={roots: root_of_quotient(log_ratio, log(1 / symbols["delta"]))})


def derive_first_window(statement: Statement) -> Derivation:
    """Derive that there is a whole epoch behind the remainder."""
    t = sympy_symbols(statement)["t"]
    behind = N + t - N * floor(t / N)
    return chain(
        statement, Step(behind, "=", "remainder", {"a": t, "b": N}), Step(t, "<=", "order", {"a": behind, "b": t})
    )


def derive_number_of_step(statement: Statement) -> Derivation:
    """Derive which number a step of the loops has: each pass before its own has N steps."""
    symbols = sympy_symbols(statement)
    q, r, steps = (symbols[name] for name in ("q", "r", "T"))
    return chain(
        statement,
        Step(Sum(N, (j, 0, q - 1)) + r, "=", "sum-constant", {"c": N, "lo": 0, "hi": q - 1}),
        Step(sides(statement)[1], "=", "min-is", {"a": N, "b": steps - j * N}),
    )


def derive_largest_k(statement: Statement) -> Derivation:
    """Derive that ``k <= 2**k - 1`` bounds the k of Algorithm 3, and that k = 0 is one."""
    symbols = sympy_symbols(statement)
    a, b, level = (symbols[name] for name in ("a", "b", "level"))
    largest = Max(a, a + 2**level - 1)
    return chain(
        statement,
        Step(largest, "<=", "power-of-two-grows", {"k": level}),
        Step(b, "<=", "order", {"a": largest, "b": b}),
    )


def derive_cover(statement: Statement) -> Derivation:
    """Derive that an interval of Algorithm 3 is dyadic, for 2**k divides a - 1, and that the rest is behind it."""
    start, end = sides(statement)
    symbols = sympy_symbols(statement)
    a = symbols["a"]
    width = 2 ** symbols["level"]
    recursion, _ = start.args if start.args[0].has(floor) is False else start.args[::-1]
    maximum = Max(recursion, end + Abs(Mod(a - 1, width)))
    return chain(
        statement,
        Step(maximum, "=", "remainder", {"a": a - 1, "b": width}, context=Max(recursion, end + Abs(HOLE))),
        Step(end, "<=", "order", {"a": maximum, "b": end}),
    )


def derive_turn(statement: Statement) -> Derivation:
    """Derive that a node above level floor(log2 N) has at least N steps."""
    level = sympy_symbols(statement)["level"]
    return chain(
        statement,
        Step(2 ** Log2(N), "="),
        Step(2**level, "<=", "power-increasing", {"x": 2, "p": Log2(N), "q": level}),
    )


def derive_decay(statement: Statement) -> Derivation:
    """Derive that a visit at least so many steps before the end has no more than their weight."""
    start, end = sides(statement)
    alpha = sympy_symbols(statement)["alpha"]
    exponents = [(side / alpha).as_base_exp()[1] for side in (start, end)]
    where = {"x": 1 - alpha, "p": exponents[0], "q": exponents[1]}
    return chain(statement, Step(end, "<=", "power-decreasing", where))


def derive_term(statement: Statement) -> Derivation:
    """Derive that the gradients of both examples move by ``L eta`` a step, for at most N steps."""
    start, end = sides(statement)
    near = 2 * L * ETA * APART
    return chain(
        statement,
        Step(near, "<=", "order", {"a": start, "b": near}),
        Step(end, "<=", "order", {"a": APART, "b": N}),
    )


def derive_norm_shift(statement: Statement) -> Derivation:
    """Derive the triangle inequality, both ways, from the square of the norm."""
    start, end = sides(statement)
    symbols = sympy_symbols(statement)
    g = symbols["grad_norm"]
    e = symbols["error_norm"]
    (length,) = (part for part in start.atoms(Pow) if part.exp == HALF)
    square = length**2
    shortest = Max(e, g - sqrt((g - e) ** 2))
    return chain(
        statement,
        Step(Max(length - g, g - length), "="),
        Step(
            Max(e, g - length),
            "<=",
            "sqrt-monotone",
            {"a": square, "b": (g + e) ** 2},
            context=Max(HOLE - g, g - length),
        ),
        Step(shortest, "<=", "sqrt-monotone", {"a": (g - e) ** 2, "b": square}, context=Max(e, g - HOLE)),
        Step(end, "<=", "order", {"a": shortest, "b": end}),
    )


def sides(statement: Statement) -> tuple[Any, Any]:
    """Give both sides; on the left what the quantity is by its definition."""
    definition = meant_by(statement)
    start, end = sympy_sides(statement)
    return (start if definition is None else definition.formula), end


def chain(statement: Statement, *steps: Link) -> Derivation:
    """Make the derivation of a statement with its conditions and the letters of its definition."""
    definition = meant_by(statement)
    letters, defining_conditions = ({}, ()) if definition is None else (definition.letters, definition.conditions)
    names = sympy_symbols(statement).keys() | letters.keys()
    ranges = {name: RANGES[name] for name in RANGES if name in names}
    conditions = (*sympy_conditions(statement), *defining_conditions)
    start = sides(statement)[0]
    return Derivation("step by step", "ours", ranges, conditions, start, steps, local=tuple(letters))
