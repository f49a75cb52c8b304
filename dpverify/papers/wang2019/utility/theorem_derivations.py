"""Theorems 4.4 and 5.2, corrected: from one step's descent and the estimate's error to a bound with constants.

Letters: ``gradient``, the expected norm at the output.
``estimate`` and ``error`` are the estimate at a step of the run that is
drawn uniformly, and what the gradient is more than it: their moments are means over the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sympy import Integer, Rational, Symbol, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.privacy.derivations import one_chain, ranges
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE, Moment
from dpverify.symbolic.expressions.ranges import BoundedVector, FromPremises, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides, sympy_symbols

GRADIENT = Symbol("gradient", nonnegative=True)
ESTIMATE = Symbol("estimate")
ERROR = Symbol("error")
DESCENT: Final = (
    "the mean over the run of note-descent, whose left sides add up to no less than the minimum less the start"
)
RECURSION: Final = (
    "each step keeps (1 - gamma)^2 of the expected squared error; noise and, by Lemma D.1, a batch of note-sampling add"
)


def derive_utility(statement: Statement) -> Derivation:
    """Derive our bound for any parameters from the mean of the descent and the sum of the errors."""
    names = ("L", "gap", "T", "zeta", "gamma", "G", "b", "b_0", "d", "variance", "variance_0")
    L, gap, T, zeta, gamma, G, b, b_0, d, variance, variance_0 = (sympy_symbols(statement)[name] for name in names)
    first = G**2 / b_0 + d * variance_0
    added = ((1 - gamma) * zeta + gamma * G) ** 2 / b + d * variance
    errors = refer(statement, "note-error", start_error=first, added=added)

    def whole(error: Any) -> Any:
        return L * gap / (T * zeta) + Rational(2, 3) * zeta + 2 * error

    square = errors.rhs
    recursion = Derivation(
        "the recursion over the run",
        "ours",
        {**ranges(statement), "error": BoundedVector(3, sqrt(errors.lhs))},
        sympy_conditions(statement),
        Moment(ERROR, 2),
        (
            Step(errors.lhs, "<=", "premise", {}, (RECURSION,)),
            Step(square, "<=", "premise", {}, ("wang2019:note-error",)),
        ),
        {RECURSION: Premise(Moment(ERROR, 2), "<=", errors.lhs), "wang2019:note-error": errors},
        local=("error",),
    )
    length = Moment(ESTIMATE, 1)
    error = Moment(ERROR, 1)
    descent = refer(statement, "note-descent", length=length, error=error)
    premises = {
        DESCENT: Premise(-gap / T, "<=", descent.rhs),
        recursion.name: cite(recursion),
    }
    steps = (
        Step(length + error, "<=", "moment-triangle", {"u": ESTIMATE, "w": ERROR}),
        Step(2 * error + Rational(2, 3) * zeta - L / zeta * descent.rhs, "="),
        Step.within(2 * error + Rational(2, 3) * zeta - L / zeta * HOLE, -gap / T, "premise", premises=(DESCENT,)),
        Step(whole(error), "="),
        Step.within(whole(HOLE), sqrt(Moment(ERROR, 2)), "jensen-sqrt", {"X": ERROR}),
        Step(whole(sqrt(square)), "<=", "premise", {}, (recursion.name,)),
        Step(sympy_sides(statement)[1], "="),
    )
    chain = _of(statement, Moment(ESTIMATE + ERROR, 1), "descent and error", steps, premises)
    lengths = {"error": BoundedVector(3, sqrt(square)), "estimate": BoundedVector(3, 2 * zeta / 3)}
    variables = {**ranges(statement), **lengths}
    return replace(chain, variables=variables, local=("error", "estimate"))


def derive_choices(statement: Statement) -> Derivation:
    """Derive what the choices give: four parts of the mean squared error, each at most zeta^2."""
    start, end = sympy_sides(statement)
    names = ("L", "gap", "T", "zeta", "G", "b", "b_0", "d", "cost")
    L, gap, T, zeta, G, b, b_0, d, cost = (sympy_symbols(statement)[name] for name in names)
    noise = d * cost
    left = 2 - zeta / G
    least = L * gap / zeta**2

    def whole(square: Any, first: Any = L * gap / (T * zeta)) -> Any:
        return first + Rational(2, 3) * zeta + 2 * sqrt(square)

    def parts(over: Any, times: Any, of_first: Any, of_later: Any) -> Any:
        return G**3 * (of_first + noise * T) / (T * zeta) * over + times * zeta * G * (of_later + noise * T)

    def lost(steps: Any, last: Any) -> Any:
        return 2 * zeta**2 + L * gap / T + noise * G**3 / zeta + 2 * zeta * G * noise * steps + last

    def inverse(context: Any, smaller: Any, larger: Any) -> Step:
        return Step.within(context, 1 / smaller, "reciprocal-monotone", {"a": smaller, "b": larger})

    error_context = whole(3 * zeta**2 + HOLE)
    chain = one_chain(
        statement,
        start,
        Step(whole(parts(1 / left, left, 1 / b_0, 1 / b)), "="),
        Step.order(whole(parts(HOLE, left, 1 / b_0, 1 / b)), 1 / left, 1),
        Step.order(whole(parts(1, HOLE, 1 / b_0, 1 / b)), left, 2),
        inverse(whole(parts(1, 2, HOLE, 1 / b)), G**3 / (zeta * L * gap), b_0),
        Step.order(whole(parts(1, 2, zeta * L * gap / G**3, HOLE)), 1 / b, zeta / G),
        Step(whole(lost(T, 0)), "="),
        Step.order(whole(lost(HOLE, 0)), T, least + 1),
        inverse(whole(lost(least + 1, 0) - L * gap / T + L * gap * HOLE), least, T),
        Step(error_context.xreplace({HOLE: noise * G * (G**2 + 2 * L * gap + 2 * zeta**2) / zeta}), "="),
        Step.order(error_context.xreplace({HOLE: noise * G * (G**2 + 2 * L * gap + 2 * HOLE) / zeta}), zeta**2, G**2),
        Step.order(error_context, noise * G * (3 * G**2 + 2 * L * gap) / zeta, zeta**2),
        inverse(L * gap * HOLE / zeta + Rational(14, 3) * zeta, least, T),
        Step(end, "="),
    )
    where = {
        "G": real(0, 9, open_lo=True),
        "zeta": real(0, G, open_lo=True),
        "L": real(0, 9, open_lo=True),
        "gap": real(0, 9, open_lo=True),
        "T": integer(least, least + 1),
        "b": integer(G / zeta, G / zeta + 9),
        "b_0": integer(G**3 / (zeta * L * gap), G**3 / (zeta * L * gap) + 9),
        "d": integer(1, 9),
        "cost": real(0, zeta**3 / (G * d * (2 * L * gap + 3 * G**2)), open_lo=True),
    }
    return replace(chain, variables=where)


def derive_printed_choices(statement: Statement) -> Derivation:
    """Derive what the printed choices give for G above 1: four parts of the mean squared error."""
    start, end = sympy_sides(statement)
    names = ("L", "gap", "T", "zeta", "G", "b", "b_0", "d", "n", "epsilon", "delta", "beta")
    L, gap, T, zeta, G, b, b_0, d, n, epsilon, delta, beta = (sympy_symbols(statement)[name] for name in names)
    drop, gamma = L * gap, sqrt(2) * zeta
    budget = log(1 / delta) / epsilon
    least = 4 * drop / zeta**2
    step, longest, shares = (1 - gamma) * zeta + gamma * G, (1 + sqrt(2)) * zeta * G, 1 / (beta * (1 - beta))
    noise_bound = 28 * shares * zeta**4 / drop

    def by_order(last: Any) -> Any:
        return 14 * d * G**2 * (budget / (1 - beta) + last) / (beta * n**2 * epsilon)

    def whole(square: Any, first: Any = drop / (T * zeta)) -> Any:
        return first + Rational(2, 3) * zeta + 2 * sqrt(square)

    def parts(
        over: Any, of_first: Any, of_later: Any, later: Any = step, steps: Any = T, noise: Any = noise_bound
    ) -> Any:
        return over / gamma * (G**2 * of_first / T + noise + later**2 * of_later + noise * steps * later**2 / G**2)

    def with_noise(noise: Any) -> Any:
        return whole(parts(1 / (2 - gamma), 1 / b_0, 1 / b, noise=noise))

    def inverse(context: Any, smaller: Any, larger: Any) -> Step:
        return Step.within(context, 1 / smaller, "reciprocal-monotone", {"a": smaller, "b": larger})

    first_batch = zeta**2 * drop / G**2
    later_batch = zeta / G**2
    growth = (1 + sqrt(2)) ** 2 * zeta / sqrt(2) * (least + 1)
    sampled = zeta**3 / (4 * sqrt(2)) + (1 + sqrt(2)) ** 2 * zeta**2 / sqrt(2)
    quarter = zeta / 4
    spent = 28 * shares / sqrt(2)
    of_later, small = (1 + sqrt(2)) ** 2 * zeta**2, Rational(1, 8) + (1 + sqrt(2)) ** 2 / sqrt(2)
    large = spent + spent * (1 + sqrt(2)) ** 2 * (2 * sqrt(2) + Rational(1, 2))

    def by_start(ratio: Any) -> Any:
        return sampled + spent * (ratio * zeta**2 + of_later * (4 * zeta + ratio * zeta**2))

    def by_accuracy(weight: Any) -> Any:
        of_steps = 1 + (1 + sqrt(2)) ** 2 * (2 * sqrt(2) * weight + weight**2 / 2)
        return zeta**2 * (weight / 8 + (1 + sqrt(2)) ** 2 / sqrt(2) + spent * of_steps)

    chain = one_chain(
        statement,
        start,
        Step(with_noise(by_order(1)), "="),
        Step.order(with_noise(by_order(HOLE)), 1, budget / (1 - beta)),
        Step.order(with_noise(HOLE), by_order(budget / (1 - beta)), noise_bound),
        Step.order(whole(parts(HOLE, 1 / b_0, 1 / b)), 1 / (2 - gamma), 1),
        inverse(whole(parts(1, HOLE, 1 / b)), G**2 / (zeta**2 * drop), b_0),
        inverse(whole(parts(1, first_batch, HOLE)), G**2 / zeta, b),
        Step.order(whole(parts(1, first_batch, later_batch, HOLE)), step, longest),
        Step.order(whole(parts(1, first_batch, later_batch, longest, HOLE)), T, least + 1),
        Step(whole(zeta * drop / (sqrt(2) * T) + of_later / sqrt(2) + noise_bound * (1 / gamma + growth)), "="),
        inverse(
            whole(zeta * drop / sqrt(2) * HOLE + of_later / sqrt(2) + noise_bound * (1 / gamma + growth)), least, T
        ),
        inverse(whole(sampled + noise_bound * (1 / gamma + growth), drop / zeta * HOLE), least, T),
        Step(whole(sampled + noise_bound * (1 / gamma + growth), quarter), "="),
        Step(whole(by_start(zeta / drop), quarter), "="),
        Step.order(whole(by_start(HOLE), quarter), zeta / drop, 1),
        Step(whole(by_accuracy(gamma), quarter), "="),
        Step.order(whole(by_accuracy(HOLE), quarter), gamma, 1),
        Step(whole(zeta**2 * (small + large), quarter), "="),
        Step.order(whole(zeta**2 * (small * HOLE + large), quarter), 1, shares / 4),
        Step.order(whole(zeta**2 * HOLE, quarter), small * shares / 4 + large, 405 * shares),
        Step(Rational(11, 24) * zeta * 2 + 18 * sqrt(5) * end / 41, "="),
        Step.within(
            Rational(11, 24) * zeta * HOLE + 18 * sqrt(5) * end / 41,
            sqrt(shares),
            "sqrt-monotone",
            {"a": Integer(4), "b": shares},
        ),
        Step(Rational(11, 24) * end / 41 + 18 * sqrt(5) * end / 41, "="),
        Step.order(end * HOLE, (Rational(11, 24) + 18 * sqrt(5)) / 41, 1),
    )
    enough = G * sqrt(drop * d * log(1 / delta)) / (zeta**2 * epsilon)
    where = {
        "G": real(1, 9, open_lo=True),
        "zeta": real(0, sqrt(2) / 2, open_lo=True),
        "L": real(0, 9, open_lo=True),
        "gap": real(zeta / L, zeta / L + 9),
        "T": integer(least, least + 1),
        "b": integer(G**2 / zeta, G**2 / zeta + 9),
        "b_0": integer(G**2 / (zeta**2 * drop), G**2 / (zeta**2 * drop) + 9),
        "d": integer(1, 9),
        "beta": real(0, 1, open_lo=True, open_hi=True),
        "delta": real(0, 1, open_lo=True, open_hi=True),
        "epsilon": real(0, log(1 / delta), open_lo=True),
        "n": integer(enough, 2 * enough),
    }
    return replace(chain, variables=where)


def derive_theorem(statement: Statement) -> Derivation:
    """Derive the corrected Theorem 4.4, or 5.2: our bound, and our choices put into it."""
    full = sympy_definitions(statement)
    parties = full.get("m", 1)
    n = full["n_party" if parties != 1 else "n"]
    cost = 14 * full["alpha"] / (full["beta"] * (parties * n) ** 2 * full["epsilon"])
    same = {name: full[name] for name in ("L", "gap", "T", "zeta", "G", "b", "b_0", "d")}
    chosen = {name: full[name] for name in ("gamma", "variance", "variance_0")}
    bound = refer(statement, "note-utility", GRADIENT, n=parties * n, **same, **chosen)
    choices = refer(statement, "note-choices", **same, cost=cost)
    premises = {"wang2019:note-utility": bound, "wang2019:note-choices": choices}
    steps = (
        Step(bound.rhs, "<=", "premise", {}, ("wang2019:note-utility",)),
        Step(choices.lhs, "="),
        Step(choices.rhs, "<=", "premise", {}, ("wang2019:note-choices",)),
        Step(sympy_sides(statement)[1], "="),
    )
    G, zeta, gap, L = (full[name] for name in ("G", "zeta", "gap", "L"))
    least = G**3 / (zeta * L * gap)
    steps_least = L * gap / zeta**2
    enough = sqrt(cost * n**2 * G * full["d"] * (2 * L * gap + 3 * G**2) / zeta**3)
    where = {
        **{name: real(Rational(1, 4), 3) for name in ("G", "L", "gap", "epsilon")},
        **{name: real(Rational(1, 10), Rational(9, 10)) for name in ("beta", "delta")},
        "zeta": real(G / 9, G),
        "d": integer(1, 5),
        "m": integer(1, 5),
        str(n): integer(enough, 2 * enough),
        "b": integer(G / zeta, G / zeta + 9),
        "b_0": integer(least, least + 9),
        "T": integer(steps_least, steps_least + 1),
    }
    chain = _of(statement, GRADIENT, "our bound at our choices", steps, premises)
    return replace(chain, variables={**where, "gradient": FromPremises()})


def _of(
    statement: Statement, letter: Any, name: str, steps: tuple[Step, ...], premises: Mapping[str, Premise]
) -> Derivation:
    variables = {**ranges(statement), "gradient": FromPremises()}
    return Derivation(
        name, "ours", variables, sympy_conditions(statement), letter, steps, premises, local=("gradient",)
    )
