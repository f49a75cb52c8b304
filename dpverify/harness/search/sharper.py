"""The control of a search: a right side beyond the sharpest point that the search found."""

from __future__ import annotations

import math
from fractions import Fraction

from dpverify.harness.planted import plus, times
from dpverify.harness.search.search import Findings
from dpverify.ledger.statements import Statement

FACTORS = tuple(Fraction(text) for text in ("1.05", "1.25", "2", "10", "100"))
"""How far beyond. The first is tried first; where the sharpest point is a needle, only a larger one is found again."""


def sharper_statement(statement: Statement, found: Findings, factor: Fraction) -> tuple[str, Statement] | None:
    """Move the right side beyond the sharpest point, to be refuted; None where the room is infinite everywhere."""
    sharpest = found.sharpest
    if sharpest is None:
        return None
    lhs, rhs = float(sharpest.lhs.float), float(sharpest.rhs.float)
    if statement.relation == "=":
        if rhs != 0.0:
            return f"printed*{factor}", times(statement, factor)
        return f"printed + {factor - 1}", plus(statement, factor - 1)
    sign = 1 if statement.relation in {"<=", "<"} else -1
    if lhs > 0.0 and rhs > 0.0 and 0.0 < sharpest.ratio < math.inf:
        used = Fraction(sharpest.ratio)
        moved = _short(used / factor if sign > 0 else factor / used)
        return f"printed*{moved}", times(statement, moved)
    rooms = [sign * (float(p.rhs.float) - float(p.lhs.float)) for p in found.probes]
    finite = [room for room in rooms if math.isfinite(room)]
    if not finite:
        return None
    term = -sign * _short(Fraction(max(0.0, min(finite))) * factor + factor - 1)
    return f"printed + ({term})", plus(statement, term)


def _short(exact: Fraction) -> Fraction:
    """Round to few digits; the control needs no more."""
    return exact.limit_denominator(10**6) if exact > Fraction(1, 10**3) else exact
