"""Lemma 11, corrected: its terms with explicit constants, and the lemma from them (NOTES_utility_lemmas.md).

The error is *sampling*, the centred gradients at the anchors, plus *drift*, their change from the anchors to the
iterates, plus *lag*, the momentum of full gradients minus the present one.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Integer, Lambda, Symbol, sqrt
from sympy import Sum as SumOf

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.derive.referenced import refer
from dpverify.symbolic.expressions.functions import HOLE, Moment, Norm
from dpverify.symbolic.expressions.ranges import BoundedVector, FromPremises, Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_sides, sympy_symbols

i = Symbol("i", integer=True)
OWN = Symbol("own", nonnegative=True)  # Mean square of one example's centred gradient.
SQUARE = Symbol("square", nonnegative=True)  # Mean square of the weighted sum of the centred gradients.
FAR = Symbol("far", nonnegative=True)  # Largest distance of an iterate from the anchor of its epoch.
MOVED = Symbol("moved", nonnegative=True)

RANGES: dict[str, Variable] = {
    "alpha": real(0, 1, open_lo=True),
    "G": real(0, 3, open_lo=True),
    "L": real(0, 3),
    "eta": real(0, 2, open_lo=True),
    "N": integer(1, 60),
    "T": integer(1, 90),
    "t": integer(1, 90),
}


def ranges(statement: Statement, **local_ranges: Variable) -> dict[str, Variable]:
    """Give the ranges of the statement's symbols, and of local ones. In the order in which they are drawn."""
    symbols = sympy_symbols(statement)
    return {**{name: RANGES[name] for name in RANGES if name in symbols}, **local_ranges}


def _symbol(statement: Statement, name: str) -> Any:
    """A symbol of the statement, or the same one where the statement does not have it."""
    symbol = sympy_symbols(statement).get(name)
    if symbol is not None:
        return symbol
    return Symbol(name, integer=True, positive=True) if name in {"t", "N"} else Symbol(name, positive=True)


def alpha_sum(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-11-alpha-sum``, and its sharper form with 2 - alpha, by the geometric series."""
    symbols = sympy_symbols(statement)
    G, alpha, t = (symbols[name] for name in ("G", "alpha", "t"))
    start, printed = sympy_sides(statement)
    return Derivation(
        "geometric series", "ours", ranges(statement), (alpha <= 1,), start, _series(4 * G**2, alpha, t, printed)
    )


def _series(factor: Any, alpha: Any, t: Any, printed: Any) -> tuple[Step, ...]:
    """From ``factor alpha^2 sum of (1-alpha)^(2(t-i))`` to ``factor alpha/(2-alpha)``, and on to ``factor alpha``."""
    square = (1 - alpha) ** 2
    sharp = factor * alpha / (2 - alpha)
    steps = [
        Step(
            factor * alpha**2 * SumOf(square ** (i - 1), (i, 1, t)),
            "=",
            "sum-reverse",
            {"f": Lambda(i, (1 - alpha) ** (2 * (t - i))), "lo": 1, "hi": t},
            note="count back from t",
        ),
        Step(factor * alpha**2 / (1 - square), "<=", "geometric-sum-bound", {"x": square, "m": t - 1}),
        Step(sharp, "="),
    ]
    if sharp - printed != 0:
        terms = {"a": Integer(1), "b": 1 - alpha}
        steps.append(Step(factor * alpha, "<=", "divide-by-larger", terms, context=factor * alpha * HOLE))
    return tuple(steps)


def sampling(statement: Statement) -> Derivation:
    """Derive ``lemma-11-sampling`` under fresh permutations from the mean square, and a quarter of its constant."""
    G, alpha, t = (_symbol(statement, name) for name in ("G", "alpha", "t"))
    _, printed = sympy_sides(statement)
    weights = SumOf((1 - alpha) ** (2 * (t - i)), (i, 1, t))
    name = "no cross term of two steps of one epoch or of two is above 0"
    bound = alpha**2 * OWN * weights
    steps = [
        Step(bound, "<=", "premise", {}, (name,), note="lemma-11-cross-same-epoch, lemma-11-cross-epochs"),
        Step(alpha**2 * G**2 * weights, "<=", "order", {"a": OWN, "b": G**2}, note="variance <= mean square"),
        *_series(G**2, alpha, t, printed),
    ]
    if printed == 4 * alpha * G**2:
        steps.append(Step(printed, "<=", "order", {"a": alpha * G**2, "b": printed}))
    variables = ranges(statement, t=RANGES["t"], own=real(0, G**2), square=FromPremises())
    return Derivation(
        "no cross terms",
        "ours",
        variables,
        (alpha <= 1, G**2 >= OWN),
        SQUARE,
        tuple(steps),
        {name: Premise(SQUARE, "<=", bound)},
        local=tuple({"own", "square", "t"} - set(sympy_symbols(statement))),
    )


def norm_bound(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-11-norm-bound``: the triangle inequality."""
    G = sympy_symbols(statement)["G"]
    left = Symbol("one")
    right = Symbol("rest")
    steps = (
        Step.within(HOLE**2, Norm(left) + Norm(right), "norm-triangle", {"u": left, "w": right}),
        Step((2 * G) ** 2, "<=", "power-monotone", {"a": Norm(left) + Norm(right), "b": 2 * G, "p": 2}),
        Step(4 * G**2, "="),
    )
    return Derivation(
        "triangle inequality",
        "ours",
        ranges(statement, one=BoundedVector(4, G / 2), rest=BoundedVector(4, G / 2)),
        (Norm(left) <= G, Norm(right) <= G),
        Norm(left + right) ** 2,
        steps,
        local=("one", "rest"),
    )


def anchor_drift(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-11-anchor-drift`` in every reading: each distance is at most eta N."""
    eta, N, smooth = (sympy_symbols(statement)[name] for name in ("eta", "N", "L"))
    alpha = _symbol(statement, "alpha")
    t = _symbol(statement, "t")
    weights = SumOf((1 - alpha) ** i, (i, 0, t - 1))
    distance = refer(statement, "section-4-distance", FAR)
    steps = (
        Step(smooth * eta * N * alpha * weights, "<=", "premise", {}, ("tran2022:section-4-distance",)),
        Step(smooth * eta * N * alpha / alpha, "<=", "geometric-sum-bound", {"x": 1 - alpha, "m": t - 1}),
        Step(eta * N * smooth, "="),
    )
    variables = ranges(statement, alpha=RANGES["alpha"], t=RANGES["t"], far=FromPremises())
    return Derivation(
        "weights that add up to at most 1",
        "ours",
        variables,
        (alpha <= 1,),
        smooth * FAR * alpha * weights,
        steps,
        {"tran2022:section-4-distance": distance},
        local=("alpha", "t", "far"),
    )


def lag(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-11-drift`` from the first gradient and its weighted changes over steps."""
    G, alpha, eta, smooth, t = (sympy_symbols(statement)[name] for name in ("G", "alpha", "eta", "L", "t"))
    beta = 1 - alpha
    first = Symbol("first", nonnegative=True)
    weights = SumOf(beta**i, (i, 0, t - 2))
    steps = (
        Step(beta**t * G + beta * MOVED * weights, "<=", "order", {"a": first, "b": G}),
        Step(
            beta**t * G + beta * smooth * eta * weights,
            "<=",
            "order",
            {"a": MOVED, "b": smooth * eta},
            note="smoothness, over one step of length eta",
        ),
        Step(beta**t * G + beta * smooth * eta / alpha, "<=", "geometric-sum-bound", {"x": beta, "m": t - 2}),
        Step(sympy_sides(statement)[1], "="),
    )
    variables = ranges(statement, first=real(0, G), moved=real(0, smooth * eta))
    return Derivation(
        "unrolled, with m_0 = 0",
        "ours",
        variables,
        (alpha <= 1, first <= G, eta * smooth - MOVED >= 0),
        beta**t * first + beta * MOVED * weights,
        steps,
        local=("first", "moved"),
    )


ALPHA, LIPSCHITZ, ETA = (Symbol(name, positive=True) for name in ("alpha", "G", "eta"))
SMOOTH = Symbol("L", nonnegative=True)
N = Symbol("N", integer=True, positive=True)
SPREAD = Symbol("spread", real=True)
CHANGED = Symbol("changed", nonnegative=True)
SUM1, OLDEST, FARTHEST = (Symbol(name, nonnegative=True) for name in ("sum1", "oldest", "farthest"))
MANY = N / sympy.Max(Integer(1), N - 1)
KEPT = "the weights' spread: 0 at t = 0, and every step keeps it at alpha/(2-alpha) at most"
WITHOUT = "one order: two positions draw different examples, and the centred gradients at w_1 add up to 0"
CHANGES = "smoothness: a centred gradient changes by 2 (N-1)/N L times the way"


def spread_step() -> Derivation:
    """Derive one step of an induction over t: the spread of the examples' weights stays below ``alpha/(2-alpha)``.

    Under one permutation each example has one weight in m_t, its visits together; ``spread`` is the sum of the squares
    of the weights less the square of their sum ``sum1``, over N. A step takes all of them times 1 - alpha and adds
    alpha to that of the example drawn N steps ago, ``oldest``: the least of the N, for each has as many visits or more.
    """
    beta = 1 - ALPHA
    bound = ALPHA / (2 - ALPHA)
    after = (beta * SUM1 + ALPHA) ** 2 / N
    grown = beta**2 * (SPREAD + SUM1**2 / N)
    decayed = beta**2 * SPREAD + ALPHA**2
    steps = (
        Step(
            grown + 2 * ALPHA * beta * (SUM1 / N) + ALPHA**2 - after,
            "<=",
            "order",
            {"a": OLDEST, "b": SUM1 / N},
            context=grown + 2 * ALPHA * beta * HOLE + ALPHA**2 - after,
        ),
        Step(decayed - ALPHA**2 / N, "="),
        Step(decayed, "<=", "drop-nonnegative", {"a": decayed - ALPHA**2 / N, "b": ALPHA**2 / N}),
        Step(beta**2 * bound + ALPHA**2, "<=", "order", {"a": SPREAD, "b": bound}, context=beta**2 * HOLE + ALPHA**2),
        Step(bound, "="),
    )
    variables: dict[str, Variable] = {
        "alpha": RANGES["alpha"],
        "N": RANGES["N"],
        "sum1": real(0, 1),
        "oldest": real(0, SUM1 / N),
        "spread": real(-1, bound),
    }
    return Derivation(
        "one step of the weights",
        "ours",
        variables,
        (ALPHA <= 1, N * OLDEST <= SUM1, bound >= SPREAD),
        grown + 2 * ALPHA * beta * OLDEST + ALPHA**2 - after,
        steps,
        local=("sum1", "oldest", "spread"),
    )


def sampling_once() -> Derivation:
    """Derive the sampling error under one permutation, the centred gradients at w_1: ``2 alpha G^2/(2-alpha)``."""
    bound = ALPHA / (2 - ALPHA)
    square = LIPSCHITZ**2
    steps = (
        Step(OWN * MANY * SPREAD, "<=", "premise", {}, (WITHOUT,)),
        Step(OWN * MANY * bound, "<=", "premise", {}, (KEPT,), context=OWN * MANY * HOLE),
        Step(
            square * MANY * bound,
            "<=",
            "order",
            {"a": OWN, "b": square},
            note="variance <= mean square",
            context=HOLE * MANY * bound,
        ),
        Step(square * 2 * bound, "<=", "order", {"a": MANY, "b": Integer(2)}, context=square * HOLE * bound),
    )
    variables: dict[str, Variable] = {
        "alpha": RANGES["alpha"],
        "N": RANGES["N"],
        "G": RANGES["G"],
        "own": real(0, LIPSCHITZ**2),
        "spread": real(0, bound),
        "square": FromPremises(),
    }
    premises = {
        WITHOUT: Premise(SQUARE, "<=", OWN * MANY * SPREAD),
        KEPT: Premise(SPREAD, "<=", bound),
        "one step of the weights": cite(spread_step()),
    }
    return Derivation(
        "sampling at the first iterate",
        "ours",
        variables,
        (ALPHA <= 1, square >= OWN),
        SQUARE,
        steps,
        premises,
        local=("own", "spread", "square"),
    )


def changes() -> Derivation:
    """Derive how far the centred gradients move from their anchors, ``farthest`` away at most, in the weighted sum."""
    share = 2 * ((N - 1) / N) * SMOOTH * FARTHEST
    t = Symbol("t", integer=True, positive=True)
    weights = SumOf((1 - ALPHA) ** i, (i, 0, t - 1))
    steps = (
        Step(share * ALPHA * weights, "<=", "premise", {}, (CHANGES,)),
        Step(share * ALPHA / ALPHA, "<=", "geometric-sum-bound", {"x": 1 - ALPHA, "m": t - 1}),
        Step(share, "="),
    )
    variables: dict[str, Variable] = {
        "alpha": RANGES["alpha"],
        "N": RANGES["N"],
        "L": RANGES["L"],
        "t": RANGES["t"],
        "farthest": real(0, 9),
        "changed": FromPremises(),
    }
    return Derivation(
        "change from the anchors",
        "ours",
        variables,
        (ALPHA <= 1,),
        CHANGED,
        steps,
        {CHANGES: Premise(CHANGED, "<=", share * ALPHA * weights)},
        local=("t", "changed"),
    )


SAMPLING = Symbol("sampling")
DRIFT = Symbol("drift")
LAG = Symbol("lag")


def lemma_11(statement: Statement) -> Derivation:
    """Derive the corrected Lemma 11 from E|sampling + drift + lag| by Jensen and Minkowski, for either ordering."""
    # Fresh permutations: the centred gradients are taken at the epochs' anchors, at most N - 1 steps away. One
    # permutation: at w_1, the only anchor that does not depend on the order, at most t - 1 steps away.
    G, alpha, eta, smooth, n, t = (sympy_symbols(statement)[name] for name in ("G", "alpha", "eta", "L", "N", "t"))
    once = statement.reading["ordering"] == "once"
    of_sampling = (2 if once else 1) * alpha * G**2 / (2 - alpha)
    of_drift = 2 * eta * smooth * ((n - 1) / n) * ((t - 1) if once else (n - 1))
    of_lag = eta * smooth * (1 - alpha) / alpha + (1 - alpha) ** t * G
    later_terms = sqrt(Moment(DRIFT, 2)) + sqrt(Moment(LAG, 2))
    way = eta * ((t - 1) if once else (n - 1))
    moved = cite(changes(), sqrt(Moment(DRIFT, 2)), alpha=alpha, N=n, L=smooth, farthest=way)
    sampled: Premise
    if once:
        source = "sampling at w_1"
        sampled = cite(sampling_once(), Moment(SAMPLING, 2), alpha=alpha, G=G, N=n)
    else:
        source = "tran2022:lemma-11-sampling"
        sampled = refer(statement, source, Moment(SAMPLING, 2), "amended")
    premises = {
        source: sampled,
        "change from the anchors": moved,
        "tran2022:lemma-11-drift": refer(statement, "lemma-11-drift", sqrt(Moment(LAG, 2)), "amended"),
    }
    root = sqrt(Moment(SAMPLING, 2))
    steps = (
        Step(sqrt(Moment(SAMPLING + DRIFT + LAG, 2)), "<=", "jensen-sqrt", {"X": SAMPLING + DRIFT + LAG}),
        Step(root + sqrt(Moment(DRIFT + LAG, 2)), "<=", "minkowski", {"u": SAMPLING, "w": DRIFT + LAG}),
        Step(root + later_terms, "<=", "minkowski", {"u": DRIFT, "w": LAG}),
        Step(sqrt(of_sampling) + later_terms, "<=", "premise", {}, (source,), context=sqrt(HOLE) + later_terms),
        Step(sqrt(of_sampling) + of_drift + sqrt(Moment(LAG, 2)), "<=", "premise", {}, ("change from the anchors",)),
        Step(sqrt(of_sampling) + of_drift + of_lag, "<=", "premise", {}, ("tran2022:lemma-11-drift",)),
    )
    variables = ranges(
        statement,
        sampling=BoundedVector(4, sqrt(of_sampling)),
        drift=BoundedVector(4, of_drift),
        lag=BoundedVector(4, of_lag),
    )
    return Derivation(
        "Jensen and Minkowski",
        "ours",
        variables,
        sympy_conditions(statement),
        Moment(SAMPLING + DRIFT + LAG, 1),
        steps,
        premises,
        local=("sampling", "drift", "lag"),
    )
