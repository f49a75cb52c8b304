"""Roots of products whose factors sympy does not know to be positive."""

from __future__ import annotations

from typing import Any

from sympy import Rational, Symbol

from dpverify.symbolic.derive.cited import Cited, cite
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.ranges import real


def root_of_quotient(first: Any, second: Any) -> Cited:
    """Cite that ``(first*second)**(1/4)/second**(1/4)`` is ``first**(1/4)``; both must be proven to be positive."""
    u = Symbol("u", real=True)
    v = Symbol("v", real=True)
    fourth = Rational(1, 4)
    above = real(0, 9, open_lo=True)
    start = (u * v) ** fourth / v**fourth
    steps = (Step(u**fourth, "="),)
    for_all = Derivation("of two positive numbers", "ours", {"u": above, "v": above}, (u > 0, v > 0), start, steps)
    return cite(for_all, u=first, v=second)
