"""Derivation of Lemma 3.7 for whole orders, as amended: C.1, and then appendix C line by line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Integer, Min, Symbol, log

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.binomial_derivations import written_out
from dpverify.papers.wang2019.privacy.derivations import one_chain
from dpverify.papers.wang2019.privacy.sum_derivations import ratio_below_one
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE, Binomial
from dpverify.symbolic.expressions.ranges import real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols

DIVERGENCE = Symbol("D", real=True)


def derive_lemma(statement: Statement) -> Derivation:
    """Derive the bound on the divergence, in units of the sensitivity: sigma/Delta in the place of sigma."""
    order, tau, sigma, sensitivity = (sympy_symbols(statement)[name] for name in ("whole", "tau", "sigma", "Delta"))
    unit = sigma / sensitivity
    letters = {"c-1": DIVERGENCE}
    lines = {
        line: refer(
            statement, f"lemma-3-7-{line}", letters.get(line), sigma=unit, **({} if line == "min" else {"order": order})
        )
        for line in ("c-1", "min", "sum-terms", "sum-geometric", "c-2", "last")
    }
    pairs = tau**2 * Binomial(order, 2)
    factor = 1 / (order - 1)
    c_1 = lines["c-1"].statement
    pair = pairs.subs(order, sympy_symbols(c_1)["order"])
    (least,), (tail, _) = sympy_sides(c_1)[1].atoms(Min), sympy_sides(lines["sum-terms"].statement)
    terms = one_chain(
        c_1, Integer(0), Step.order(pair * HOLE, Integer(0), least), Step.order(pair * least + HOLE, Integer(0), tail)
    )
    below_one = replace(ratio_below_one(lines["c-2"].statement), name="the ratio")

    def inside(first: Any, rest: Any) -> Any:
        return factor * log(1 + pairs * first + rest)

    def by(line: str, context: Any) -> Step:
        return Step.within(context, lines[line].rhs, "premise", premises=(line,))

    steps = (
        by("c-1", HOLE),
        by("min", inside(HOLE, lines["sum-terms"].lhs)),
        by("sum-terms", inside(lines["min"].rhs, HOLE)),
        by("sum-geometric", inside(lines["min"].rhs, pairs * HOLE)),
        by("c-2", inside(lines["min"].rhs, pairs * HOLE)),
        Step(
            lines["last"].lhs,
            "=",
            "premise",
            {},
            ("pair",),
            context=factor * log(1 + tau**2 * HOLE * (lines["min"].rhs + lines["c-2"].rhs)),
        ),
        by("last", HOLE),
        Step(sympy_sides(statement)[1], "="),
    )
    chain = one_chain(statement, DIVERGENCE, *steps)
    citations = {"pair": cite(written_out(2), order=order), "the ratio": cite(below_one, sigma=unit, order=order)}
    citations["what C.1 adds to 1"] = cite(replace(terms, name="what C.1 adds to 1"), sigma=unit, order=order)
    return replace(
        chain,
        variables={**chain.variables, "D": real(0, lines["c-1"].rhs)},
        premises={**lines, **citations},
        shown=("the ratio", "what C.1 adds to 1"),
        local=("D",),
    )
