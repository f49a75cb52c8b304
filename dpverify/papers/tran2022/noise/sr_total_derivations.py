"""Where the symbols of Lemma 7 are sampled.

A letter of ours: ``several``, 0 or 1, whether N and T may be more than 1 at a sample point.
"""

from __future__ import annotations

from typing import Final

from sympy import Rational, Symbol

from dpverify.ledger.statements import Statement
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_symbols

NOISE: Final = Symbol("noise")
SEVERAL: Final = Symbol("several", integer=True, nonnegative=True)


def ranges(statement: Statement) -> dict[str, Variable]:
    """Where symbols are sampled; N = T = 1, where logarithms are 0, comes first, so a false sign is seen at once."""
    all_ranges: dict[str, Variable] = {
        "alpha": real(0, 1, open_lo=True),
        "gamma": real(0, Rational(1, 2), open_lo=True),
        **{name: real(0, 3, open_lo=True) for name in ("G", "sigma", "epsilon", "delta_G", "delta_Delta")},
        "L": real(0, 3),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "d": integer(1, 40),
        "N": integer(1, 1 + 199 * SEVERAL),
        "T": integer(1, 1 + 599 * SEVERAL),
        "t": integer(1, 600),
        "variance": real(0, 9),
    }
    symbols = sympy_symbols(statement)
    selected = {"several": integer(0, 1), **{name: all_ranges[name] for name in all_ranges if name in symbols}}
    if "eta" in symbols:
        selected["eta"] = real(0, 1 / (2 * symbols["N"]), open_lo=True)
    return selected
