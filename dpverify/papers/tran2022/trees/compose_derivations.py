"""Steps of Propositions 16 and 18 that other chains use: both count the set bits of a number.

For Proposition 18 the number of nodes is, in closed form, ``popcount(p) + popcount(v)`` with ``p + v = b - a + 1`` and
``p >= 1`` (NOTES.md, "COMPOSE in closed form").
"""

from __future__ import annotations

from typing import Any

from sympy import Symbol

from dpverify.symbolic.derive.derivation import Step
from dpverify.symbolic.expressions.functions import Log2, PopCount

i, j, k = (Symbol(name, integer=True) for name in "ijk")
UP = Symbol("p", integer=True, positive=True)  # Steps from a to the multiple of 2^j inside the interval: p of NOTES.md
DOWN = Symbol("v", integer=True, nonnegative=True)  # Steps from there to b: v of NOTES.md


def by_concavity(n: Any) -> tuple[Step, ...]:
    """A number with c set bits is at least 2^c - 1, and log2 is concave."""
    return (
        Step(Log2(UP + 1) + PopCount(DOWN), "<=", "popcount-log2", {"n": UP}),
        Step(Log2(UP + 1) + Log2(DOWN + 1), "<=", "popcount-log2", {"n": DOWN}),
        Step(2 * Log2((UP + DOWN) / 2 + 1), "<=", "log2-concave", {"x": UP + 1, "y": DOWN + 1}),
        Step(2 * Log2(1 + n / 2), "="),
    )
