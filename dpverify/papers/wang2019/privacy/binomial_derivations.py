"""Derivations of appendix C's bound on a binomial, and of the bound on the sum that follows from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy import Lambda, Sum, Symbol, exp

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import RANGES, one_chain
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.derive.induction import Hypothesis, by_induction
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE, Binomial
from dpverify.symbolic.expressions.ranges import integer
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols

ORDER = Symbol("order", integer=True, positive=True)
K = Symbol("k", integer=True, positive=True)


def written_out(count: int) -> Derivation:
    """A binomial of a small number as a product, factor by factor: n(n-1)/2 for 2."""
    factors: Any = 1
    steps: list[Step] = []
    for k in range(count - 1, -1, -1):
        factors *= (ORDER - k) / (k + 1)
        steps.append(Step(Binomial(ORDER, k) * factors, "=", "binomial-next", {"n": ORDER, "k": k}))
    steps.append(Step(factors, "=", "binomial-zero", {"n": ORDER}))
    start = Binomial(ORDER, count)
    return Derivation(f"choose {count}", "ours", {"order": RANGES["order"]}, (ORDER >= 2,), start, tuple(steps))


def derive_binomial(statement: Statement) -> Derivation:
    """Derive alpha^j/3! by induction on j >= 3: the next binomial is (alpha - j)/(j + 1) <= alpha times as large."""
    start, end = sympy_sides(statement)
    j = sympy_symbols(statement)["chosen"]
    cube = written_out(3)
    base = replace(cube, name="three", steps=(*cube.steps, Step.order(HOLE, cube.last, ORDER**3 / 6)))
    now = Binomial(ORDER, K)
    bound = ORDER**K / 6
    step = Derivation(
        "one more",
        "ours",
        {"order": RANGES["order"], "k": integer(3, 9)},
        (ORDER >= 2,),
        Binomial(ORDER, K + 1),
        (
            Step(now * (ORDER - K) / (K + 1), "=", "binomial-next", {"n": ORDER, "k": K}),
            Step.order(now * HOLE, (ORDER - K) / (K + 1), ORDER),
            Step(bound * ORDER, "<=", "premise", {}, ("hypothesis",), context=HOLE * ORDER),
            Step(ORDER ** (K + 1) / 6, "="),
        ),
        {"hypothesis": Hypothesis(now, "<=", bound, letter=K)},
    )
    induction = by_induction(K, 3, base=base, step=step)
    chain = one_chain(statement, start, Step(ORDER**j / 6, "<=", "premise", {"k": j}, ("induction",)), Step(end, "="))
    return replace(chain, premises={"induction": induction})


def derive_terms(statement: Statement) -> Derivation:
    """Derive the sum's first bound: each binomial is below alpha^j/6, and alpha^2/3 below alpha (alpha - 1)/2."""
    start, end = sympy_sides(statement)
    order, tau, sigma = (sympy_symbols(statement)[name] for name in ("order", "tau", "sigma"))
    (terms,), (last,) = start.atoms(Sum), end.atoms(Sum)
    ((j, lo, hi),) = terms.limits
    around = (j, lo, hi)
    weight = 2 * tau**j
    loss = j / (2 * sigma**2)
    bound = order**2 * order ** (j - 2) / 6
    pair = order * (order - 1) / 2
    summand = tau**2 * last.function
    steps = (
        Step(terms, "=", "guarded-sum", {"f": Lambda(j, terms.function), "lo": lo, "hi": hi}),
        Step.within(Sum(weight * HOLE * exp((j - 1) * loss), around), bound, "premise", premises=("binomial",)),
        Step.order(Sum(weight * bound * exp(HOLE * loss), around), j - 1, order - 1),
        Step(Sum(order**2 / 3 * summand, around), "="),
        # With j, since 3 <= order is known inside the sum alone.
        Step.order(Sum((HOLE + j) * summand, around), order**2 / 3 - j, pair - j),
        Step(
            tau**2 * pair * last,
            "=",
            "sum-scale",
            {"c": tau**2 * pair, "f": Lambda(j, last.function), "lo": lo, "hi": hi},
        ),
        Step(tau**2 * Binomial(order, 2) * last, "=", "premise", {}, ("pair",), context=tau**2 * HOLE * last),
        Step(end, "=", "guarded-sum", {"f": Lambda(j, last.function), "lo": lo, "hi": hi}),
    )
    premises = {"binomial": refer(statement, "lemma-3-7-binomial", chosen=j), "pair": cite(written_out(2), order=order)}
    return replace(one_chain(statement, start, *steps), premises=premises)
