"""Lemma 1, derived: a prefix of t steps has a node for each set bit of t, and t has few of them."""

from __future__ import annotations

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import Log2, PopCount
from dpverify.symbolic.expressions.ranges import integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_symbols


def derive_lemma_1(statement: Statement) -> Derivation:
    """Derive Lemma 1: from the number of nodes to ``sigma^2 log2(t + 1)``."""
    symbols = sympy_symbols(statement)
    t, sigma = symbols["t"], symbols["sigma"]
    ranges = {"t": integer(1, 5000), "sigma": real(0, 100, open_lo=True)}
    few = Step(sigma**2 * Log2(t + 1), "<=", "popcount-log2", {"n": t}, note="t is at least 2^k - 1 for k set bits")
    return Derivation("set bits", "ours", ranges, (), sigma**2 * PopCount(t), (few,))
