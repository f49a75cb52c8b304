"""The control of a search: a right side a little beyond the sharpest point that the search found."""

from __future__ import annotations

import math
from fractions import Fraction

from dpverify.harness.planted import plus, times
from dpverify.harness.search import Findings
from dpverify.ledger.statements import Statement

SHARPER = Fraction(21, 20)
"""How far beyond."""


def sharper_statement(statement: Statement, found: Findings) -> tuple[str, Statement] | None:
    """Move a statement's right side just beyond the sharpest point found, so that the search must refute it.

    Parameters
    ----------
    statement : Statement
        One that the search did not refute.
    found : Findings
        Of that search.

    Returns
    -------
    tuple of str and Statement, or None
        The fault in words and the faulty statement; None where the room is infinite everywhere.
    """
    sharpest = found.sharpest
    if sharpest is None:
        return None
    lhs, rhs = float(sharpest.lhs.float), float(sharpest.rhs.float)
    if statement.relation == "=":
        if rhs != 0.0:
            return "printed*21/20", times(statement, SHARPER)
        return "printed + 1/20", plus(statement, SHARPER - 1)
    sign = 1 if statement.relation in {"<=", "<"} else -1
    if lhs > 0.0 and rhs > 0.0 and 0.0 < sharpest.ratio < math.inf:
        used = Fraction(sharpest.ratio)
        factor = _short(used / SHARPER if sign > 0 else SHARPER / used)
        return f"printed*{factor}", times(statement, factor)
    rooms = [sign * (float(p.rhs.float) - float(p.lhs.float)) for p in found.probes]
    finite = [room for room in rooms if math.isfinite(room)]
    if not finite:
        return None
    term = -sign * _short(Fraction(max(0.0, min(finite))) * SHARPER + SHARPER - 1)
    return f"printed + ({term})", plus(statement, term)


def _short(exact: Fraction) -> Fraction:
    """Round to few digits; the control needs no more."""
    return exact.limit_denominator(10**6) if exact > Fraction(1, 10**3) else exact
