"""Lines of the boxes, derived: loops, windows and indices in whole numbers."""

from __future__ import annotations

from sympy import Max, Sum, Symbol

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.divided import divided
from dpverify.symbolic.derive.steps import Division
from dpverify.symbolic.expressions.ranges import Range, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

j, N = Symbol("j", integer=True), Symbol("N", integer=True, positive=True)
RANGES: dict[str, Range] = {
    "N": integer(1, 30), "t": integer(1, 300), "T": integer(1, 300), "q": integer(0, 9), "r": integer(0, 30),
    "a": integer(1, 300), "b": integer(1, 300), "level": integer(0, 6), "whole": integer(0, 40),
    "left": integer(0, N - 1), "window": integer(1, 9), "turn": integer(0, 9), "query": integer(2, 40),
    "queries": integer(1, 40), "alpha": real(0, 1, open_lo=True), "G": real(0, 9, open_lo=True),
    "sigma": real(0, 9, open_lo=True), "V": real(0, 9, open_lo=True),
}  # fmt: skip


def derive_directly(statement: Statement, division: Division | None = None) -> Derivation:
    """Derive what one step says: both sides are equal, or their order follows from the conditions."""
    start, end = sympy_sides(divided(statement, division))
    if statement.relation == "=":
        return _chain(statement, (Step(end, "="),), division)
    up = statement.relation == "<="
    where = {"a": start, "b": end} if up else {"a": end, "b": start}
    return _chain(statement, (Step(end, "<=" if up else ">=", "order", where),), division)


def derive_by_epochs(statement: Statement) -> Derivation:
    """Derive it with ``t = whole N + left``; where ``t >= N`` is a condition, there is a whole epoch."""
    first = any(str(condition) == "t >= N" for condition in sympy_conditions(statement))
    return derive_directly(statement, Division("t", "N", "whole", "left", least=int(first)))


def derive_number_of_step(statement: Statement) -> Derivation:
    """Derive which number a step of the loops has: each pass before its own has N steps."""
    symbols = sympy_symbols(statement)
    n, q, r, steps = (symbols[name] for name in ("N", "q", "r", "T"))
    full = {"c": n, "lo": 0, "hi": q - 1}
    return _chain(
        statement,
        (
            Step(Sum(n, (j, 0, q - 1)) + r, "=", "sum-constant", full),
            Step(sympy_sides(statement)[1], "=", "min-is", {"a": n, "b": steps - j * n}),
        ),
    )


def derive_largest_k(statement: Statement) -> Derivation:
    """Derive that ``k <= 2**k - 1`` bounds the k of Algorithm 3, and that k = 0 is one."""
    symbols = sympy_symbols(statement)
    a, b, level = (symbols[name] for name in ("a", "b", "level"))
    steps = (
        Step(Max(a, a + 2**level - 1), "<=", "power-of-two-grows", {"k": level}),
        Step(b, "<=", "order", {"a": Max(a, a + 2**level - 1), "b": b}),
    )
    return _chain(statement, steps)


def _chain(statement: Statement, steps: tuple[Step, ...], division: Division | None = None) -> Derivation:
    parts = divided(statement, division)
    ranges = {name: RANGES[name] for name in RANGES if name in sympy_symbols(parts)}
    start, _ = sympy_sides(parts)
    return Derivation("step by step", "ours", ranges, sympy_conditions(parts), start, steps, division=division)
