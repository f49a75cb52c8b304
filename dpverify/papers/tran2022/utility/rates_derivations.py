"""Rates: the bounds of Theorems 6 and 9, in terms that exponents decide, and the trivial bound for short runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sympy import Expr, Integer, Symbol, exp, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.symbol_ranges import ranges
from dpverify.symbolic.derive.derivation import Case, Cases, Derivation, Premise, Step
from dpverify.symbolic.derive.referenced import Referenced, refer
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import FromPremises
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

GRADIENT: Final = Symbol("gradient", nonnegative=True)
TRIVIAL: Final = "no gradient of F is longer than G"
HALF: Final = Integer(1) / 2


def printed_bound(statement: Statement) -> Derivation:
    """Take the bound as it stands: its terms are those of the rate already."""
    start: Expr = sympy_sides(statement)[0]
    return Derivation("the bound as it stands", "ours", ranges(statement), sympy_conditions(statement), start, ())


def rate_of_theorem_6(statement: Statement) -> Derivation:
    """Derive the rate of Algorithm 1 under fresh permutations; the trivial bound serves for T < N."""
    N, G = (sympy_symbols(statement)[name] for name in ("N", "G"))
    bound = refer(statement, "theorem-6", GRADIENT, "amended", {"ordering": "fresh", "depth": "levels"})
    chain = _Chain(bound)
    chain.put(2 * G / sqrt(2 * N - 1), 2 * G / sqrt(N), "power-monotone", {"a": 1 / (2 * N - 1), "b": 1 / N, "p": HALF})
    return chain.derivation(statement, 1)


def rate_of_theorem_9(statement: Statement) -> Derivation:
    """Derive the rate of Algorithm 2 under fresh permutations; the trivial bound serves for T < 4N."""
    N, T, G, L = (sympy_symbols(statement)[name] for name in ("N", "T", "G", "L"))
    rho = sqrt(N / T)
    chain = _Chain(refer(statement, "theorem-9", GRADIENT, "amended", {"ordering": "fresh"}))
    chain.put(1 / (2 - rho), Integer(1))
    chain.put((1 - rho) ** 2, Integer(1), "power-at-most-one", {"x": 1 - rho, "p": Integer(2)})
    chain.put(1 / (1 - exp(-1)) ** 2, Integer(3))
    for part in (3 * G**2 * Log2(N), 6 * G**2, L**2 * Log2(T + 1)):
        chain.put(part, part / rho)
    return chain.derivation(statement, 4)


class _Chain:
    """A chain from the expected norm to a theorem's bound and on, for runs that are long enough."""

    def __init__(self, bound: Referenced) -> None:
        self.bound = bound
        self.last = bound.rhs
        self.name = bound.reference.claim
        self.steps = [Step(self.last, "<=", "premise", {}, (self.name,))]

    def put(self, small: Any, large: Any, rule: str = "order", where: Mapping[str, Any] | None = None) -> None:
        """Put something larger in the place of a part."""
        context = self.last.subs(small, HOLE)
        self.last = context.subs(HOLE, large)
        self.steps.append(
            Step(self.last, "<=", rule, where or {"a": small, "b": large}, context=context if rule == "order" else None)
        )

    def derivation(self, statement: Statement, epochs: int) -> Derivation:
        """Join the chain with the trivial bound G, which serves for so many epochs."""
        s = sympy_symbols(statement)
        N, T, G = (s[name] for name in ("N", "T", "G"))
        self.put(2 * G * N / T, 2 * G * sqrt(N / T), "power-decreasing", {"x": N / T, "p": Integer(1), "q": HALF})
        last = self.last
        way = sqrt(epochs) * sqrt(N / T)
        short = (
            Step(G, "<=", "premise", {}, (TRIVIAL,)),
            Step.order(G * HOLE, Integer(1), way),
            Step(last, "<=", "drop-nonnegative", {"a": G * way, "b": last - G * way}),
        )
        edge = sqrt(epochs) * sqrt(N)
        cases = Cases(last, "<=", (Case(edge <= sqrt(T), tuple(self.steps)), Case(edge >= sqrt(T), short)))
        premises = {self.name: self.bound, TRIVIAL: Premise(GRADIENT, "<=", G)}
        return Derivation(
            "long runs and short ones",
            "ours",
            {**ranges(statement), "gradient": FromPremises()},
            sympy_conditions(statement),
            GRADIENT,
            (cases,),
            premises,
            local=("gradient",),
        )
