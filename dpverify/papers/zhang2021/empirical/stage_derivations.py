"""The derivation of the step from a stage to the next; the other steps of a stage are proved in proofs.toml."""

from __future__ import annotations

from sympy import Rational

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols


def next_stage(statement: Statement) -> Derivation:
    """Derive the step from a stage to the next: 2 r times the first excess is at most that excess."""
    start, end = sympy_sides(statement)
    K, left, added, gap = (sympy_symbols(statement)[name] for name in ("K", "left", "added", "gap"))
    added_term = added / (1 - 2 * left)
    half = Rational(1, 2) / 2**K
    steps = (
        Step((2 * left * gap + added_term) * half, "="),
        Step.order((HOLE * gap + added_term) * half, 2 * left, 1),
        Step(end, "="),
    )
    positive = real(0, 9, open_lo=True)
    ranges = {name: integer(1, 9) if name == "K" else positive for name in statement.free}
    return Derivation("algebra", "ours", ranges, sympy_conditions(statement), start, steps)
