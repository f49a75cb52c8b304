"""The (epsilon, delta) forms of Theorems 4 and 8, from their Renyi divergences by the conversion after Theorem 10.

At the order ``1 + c r sigma``, r^2 = log(1/delta), a divergence of ``k z/sigma^2`` leaves the exponent ``c k r/sigma +
c^2 k r^2 - c r epsilon sigma``, which falls with sigma; at the least sigma it is a multiple of log(1/delta).
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Rational, Symbol, exp, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.events import CONVERSION, DIVERGENCE, converted, sampled
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE, Log2
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_symbols

NODES: Final = Symbol("count", positive=True)  # Nodes of a tree that hold one vector


def derive_theorem_4_dp(statement: Statement) -> Derivation:
    """Derive the corrected (epsilon, delta) form of Theorem 4."""
    return _at_an_order(statement, "theorem-4", Rational(1, 2), Rational(7, 5), Integer(2), Rational(7, 3))


def derive_theorem_8_dp(statement: Statement) -> Derivation:
    """Derive the corrected (epsilon, delta) form of Theorem 8."""
    return _at_an_order(statement, "theorem-8", Rational(7, 8), Integer(1), Integer(4), Integer(9))


def derive_tree_private(statement: Statement) -> Derivation:
    """Derive that section 2's tree is private with a constant of 7, at the order ``1 + 3 log(1/delta)/epsilon``."""
    full = sympy_definitions(statement)
    epsilon, delta, rho, t = (full[name] for name in ("epsilon", "delta", "rho", "t"))
    ell = log(1 / delta)
    levels = Log2(t)
    z = 1 + 3 * ell / epsilon
    rule = converted(statement, z, epsilon)
    nodes = refer(statement, "section-2-ancestors", NODES)
    bound = refer(statement, "theorem-10", DIVERGENCE, V=NODES, z=z, rho=rho)

    def around(count: Any) -> Any:
        return exp((z - 1) * (count * z * rho**2 / 2 - epsilon))

    over = exp(18 * epsilon / (49 * HOLE) + 54 * ell / (49 * HOLE) - 3 * ell)
    two = {"a": Integer(2), "b": t}  # 1 = log2(2) <= log2(t)
    steps = (
        Step(rule.rhs, "<=", "premise", {}, (CONVERSION,)),
        Step.within(exp((z - 1) * (HOLE - epsilon)), bound.rhs, "premise", {}, ("theorem-10",)),
        Step.within(around(HOLE), nodes.rhs, "premise", {}, ("section-2-ancestors",)),
        Step.order(around(HOLE), nodes.rhs, levels + 2),
        Step.within(around(levels + 2 * HOLE), levels, "log2-monotone", two),
        Step(over.xreplace({HOLE: levels}), "="),
        Step(over.xreplace({HOLE: Integer(1)}), "<=", "log2-monotone", two, context=over),
        Step.order(exp(18 * HOLE / 49 + 54 * ell / 49 - 3 * ell), epsilon, 2 * ell),
        Step.order(exp(ell * HOLE), Rational(90, 49) - 3, -Integer(1)),
        Step(delta, "="),
    )
    variables: dict[str, Variable] = {
        "t": integer(2, 400),
        "G": real(0, 5, open_lo=True),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "epsilon": real(0, 2 * ell, open_lo=True),
        "count": real(0, nodes.rhs, open_lo=True),
        **sampled(z, bound.rhs),
    }
    premises = {CONVERSION: rule, "theorem-10": bound, "section-2-ancestors": nodes}
    return Derivation(
        "a vector's nodes in the tree",
        "ours",
        variables,
        sympy_conditions(statement),
        rule.lhs,
        steps,
        premises,
        local=("D", "chance", "ratio", "count"),
    )


def _at_an_order(statement: Statement, theorem: str, k: Any, c: Any, least: Any, share: Any) -> Derivation:
    """Of a divergence of ``k z/sigma^2``, sigma at least ``least r/epsilon`` and epsilon at most ``share r^2``."""
    epsilon, delta, sigma = (sympy_symbols(statement)[name] for name in ("epsilon", "delta", "sigma"))
    ell = log(1 / delta)
    r = sqrt(ell)
    z = 1 + c * r * sigma
    rule = converted(statement, z, epsilon)
    bound = refer(statement, theorem, DIVERGENCE, variant="amended", z=z)
    around = exp((z - 1) * (HOLE - epsilon))
    over = exp(c * k * r / HOLE + c**2 * k * ell - c * r * epsilon * HOLE)
    below = exp(c * k * HOLE / least + (c**2 * k - c * least) * ell)
    smallest = least * r / epsilon
    steps = (
        Step(rule.rhs, "<=", "premise", {}, (CONVERSION,)),
        Step.within(around, bound.rhs, "premise", {}, (theorem,)),
        Step(over.xreplace({HOLE: sigma}), "="),
        Step(over.xreplace({HOLE: smallest}), "<=", "order", {"a": smallest, "b": sigma}, context=over),
        Step(below.xreplace({HOLE: epsilon}), "="),
        Step.order(below, epsilon, share * ell),
        Step.order(exp(ell * HOLE), c * k * share / least + c**2 * k - c * least, -Integer(1)),
        Step(delta, "="),
    )
    ranges: dict[str, Variable] = {
        "N": integer(2, 60),
        "T": integer(30, 400),
        "alpha": real(1 / sympy_symbols(statement)["N"], 1),
        "depth": integer(4, 9),
        "eta": real(0, 5, open_lo=True),
        "L": real(0, 5),
        "G": real(0, 5, open_lo=True),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "epsilon": real(0, 9, open_lo=True),
        "sigma": real(0, 99, open_lo=True),
        **sampled(z, bound.rhs),
    }
    premises = {CONVERSION: rule, theorem: bound}
    granted = sympy_conditions(statement)
    used = {s.name for e in (*granted, *(step.expr for step in steps), rule.lhs) for s in e.free_symbols}
    return Derivation(
        "an order put in",
        "ours",
        {n: v for n, v in ranges.items() if n in used},
        granted,
        rule.lhs,
        steps,
        premises,
        local=("D", "chance", "ratio"),
    )
