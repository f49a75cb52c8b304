"""Where the symbols of Theorems 6 and 9 are sampled."""

from __future__ import annotations

from dpverify.ledger.statements import Statement
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_symbols

_HERE: dict[str, Variable] = {
    "alpha": real(0, 1, open_lo=True),
    "G": real(0, 3, open_lo=True),
    "L": real(0, 3),
    "R": real(0, 9),
    "K": real(0, 40),
    "eta": real(0, 1, open_lo=True),
    "delta": real(0, 1, open_lo=True, open_hi=True),
    "d": integer(1, 40),
    "N": integer(1, 200),
    "T": integer(2, 3000),
    "epsilon": real(0, 30, open_lo=True),
}


def ranges(statement: Statement) -> dict[str, Variable]:
    """Where the symbols of a statement are sampled."""
    symbols = sympy_symbols(statement)
    return {name: _HERE[name] for name in _HERE if name in symbols}
