"""Lemma 11, corrected: its terms with explicit constants, and the lemma from them (NOTES_utility_lemmas.md).

The error is *sampling*, the centred gradients at the anchors, plus *drift*, their change from the anchors to the
iterates, plus *lag*, the momentum of full gradients minus the present one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import sympy
from flint import arb, fmpq
from sympy import Integer, Lambda, Symbol, sqrt
from sympy import Sum as SumOf

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.from_sympy import compile_expr
from dpverify.symbolic.expressions.functions import HOLE, Moment
from dpverify.symbolic.expressions.ranges import AnyVector, FromPremises, Variable, Vector, integer, numbers_of, real
from dpverify.symbolic.expressions.to_sympy import sympy_sides, sympy_symbols

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


def ranges(statement: Statement, **more: Variable) -> dict[str, Variable]:
    """Give the ranges of the statement's symbols, and of local ones. In the order in which they are drawn."""
    symbols = sympy_symbols(statement)
    return {**{name: RANGES[name] for name in RANGES if name in symbols}, **more}


def _symbol(statement: Statement, name: str) -> Any:
    """A symbol of the statement, or the same one where the statement does not have it."""
    found = sympy_symbols(statement).get(name)
    if found is not None:
        return found
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
        one = {"a": Integer(1), "b": 1 - alpha}
        steps.append(Step(factor * alpha, "<=", "divide-by-larger", one, context=factor * alpha * HOLE))
    return tuple(steps)


def sampling(statement: Statement) -> Derivation:
    """Derive ``lemma-11-sampling`` under fresh permutations from the mean square, and a quarter of its constant."""
    G, alpha, t = (_symbol(statement, name) for name in ("G", "alpha", "t"))
    _, printed = sympy_sides(statement)
    weights = SumOf((1 - alpha) ** (2 * (t - i)), (i, 1, t))
    name = "tran2022:lemma-11-cross-same-epoch"
    bound = alpha**2 * OWN * weights
    steps = [
        Step(bound, "<=", "premise", {}, (name,), note="and lemma-11-cross-epochs: no cross term is above 0"),
        Step(alpha**2 * G**2 * weights, "<=", "order", {"a": OWN, "b": G**2}, note="variance <= mean square"),
        *_series(G**2, alpha, t, printed),
    ]
    if printed == 4 * alpha * G**2:
        steps.append(Step(printed, "<=", "order", {"a": alpha * G**2, "b": printed}))
    variables = ranges(statement, t=RANGES["t"], own=real(0, G**2), square=FromPremises())
    return Derivation(
        "no cross terms", "ours", variables, (alpha <= 1, G**2 >= OWN), SQUARE, tuple(steps),
        {name: Premise(SQUARE, "<=", bound)}, local=tuple({"own", "square", "t"} - set(sympy_symbols(statement))),
    )  # fmt: skip


def norm_bound(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-11-norm-bound``: the triangle inequality. From ``(|grad f| + |grad F|)^2``."""
    G = sympy_symbols(statement)["G"]
    one, mean = Symbol("one", nonnegative=True), Symbol("all", nonnegative=True)
    steps = (
        Step((G + mean) ** 2, "<=", "power-monotone", {"a": one + mean, "b": G + mean, "p": 2}),
        Step((2 * G) ** 2, "<=", "power-monotone", {"a": G + mean, "b": 2 * G, "p": 2}),
        Step(4 * G**2, "="),
    )
    return Derivation(
        "triangle inequality", "ours", ranges(statement, one=real(0, G), all=real(0, G)), (one <= G, mean <= G),
        (one + mean) ** 2, steps, local=("one", "all"),
    )  # fmt: skip


def anchor_drift(statement: Statement) -> Derivation:
    """Derive ``tran2022:lemma-11-anchor-drift`` in every reading: each distance is at most eta N."""
    eta, N, smooth = (sympy_symbols(statement)[name] for name in ("eta", "N", "L"))
    alpha, t = _symbol(statement, "alpha"), _symbol(statement, "t")
    weights = SumOf((1 - alpha) ** i, (i, 0, t - 1))
    steps = (
        Step(
            smooth * eta * N * alpha * weights,
            "<=",
            "order",
            {"a": FAR, "b": eta * N},
            ("tran2022:section-4-distance",),
        ),
        Step(smooth * eta * N * alpha / alpha, "<=", "geometric-sum-bound", {"x": 1 - alpha, "m": t - 1}),
        Step(eta * N * smooth, "="),
    )
    variables = ranges(statement, alpha=RANGES["alpha"], t=RANGES["t"], far=real(0, eta * N))
    return Derivation(
        "weights that add up to at most 1", "ours", variables, (alpha <= 1, eta * N >= FAR),
        smooth * FAR * alpha * weights, steps, local=("alpha", "t", "far"),
    )  # fmt: skip


def lag(statement: Statement) -> Derivation:
    """Derive the corrected ``tran2022:lemma-11-drift`` from the first gradient and its weighted changes over steps."""
    G, alpha, eta, smooth, t = (sympy_symbols(statement)[name] for name in ("G", "alpha", "eta", "L", "t"))
    beta = 1 - alpha
    first = Symbol("first", nonnegative=True)
    weights = SumOf(beta**i, (i, 0, t - 2))
    steps = (
        Step(beta**t * G + beta * MOVED * weights, "<=", "order", {"a": first, "b": G}),
        Step(
            beta**t * G + beta * smooth * eta * weights, "<=", "order", {"a": MOVED, "b": smooth * eta},
            note="smoothness, over one step of length eta",
        ),
        Step(beta**t * G + beta * smooth * eta / alpha, "<=", "geometric-sum-bound", {"x": beta, "m": t - 2}),
        Step(sympy_sides(statement)[1], "="),
    )  # fmt: skip
    variables = ranges(statement, first=real(0, G), moved=real(0, smooth * eta))
    return Derivation(
        "unrolled, with m_0 = 0", "ours", variables, (alpha <= 1, first <= G, eta * smooth - MOVED >= 0),
        beta**t * first + beta * MOVED * weights, steps, local=("first", "moved"),
    )  # fmt: skip


SAMPLING, DRIFT, LAG = Symbol("sampling"), Symbol("drift"), Symbol("lag")


@dataclass(frozen=True)
class BoundedVector(AnyVector):
    """An arbitrary random variable whose values are at most a bound."""

    bound: Any = sympy.S.One  # at least 0; may use the numbers that are declared before

    def draw(self, rng: Random, point: Mapping[str, Any]) -> Vector:
        """Draw as the base does, and shrink to the bound."""
        drawn = super().draw(rng, point)
        value = compile_expr(self.bound)(dict(numbers_of(point)), 64)
        bound = fmpq(int((value * 2**40).floor().unique_fmpz() or 0), 2**40) if isinstance(value, arb) else value
        largest = max((abs(entry) for entry in drawn.entries), default=fmpq(0))
        return drawn if largest <= bound else drawn * (bound / largest)


def lemma_11(statement: Statement) -> Derivation:
    """Derive the corrected Lemma 11 from E|sampling + drift + lag| by Jensen and Minkowski, for either ordering."""
    # Fresh permutations: the centred gradients are taken at the epochs' anchors. One permutation: at w_1, the only
    # anchor that does not depend on the order.
    G, alpha, eta, smooth, n, t = (sympy_symbols(statement)[name] for name in ("G", "alpha", "eta", "L", "N", "t"))
    once = statement.reading["ordering"] == "once"
    of_sampling = (2 if once else 1) * alpha * G**2 / (2 - alpha)
    of_drift = 2 * eta * smooth * ((n - 1) / n) * ((t - 1) if once else (n - 1))
    of_lag = eta * smooth * (1 - alpha) / alpha + (1 - alpha) ** t * G
    of_changes = "tran2022:lemma-11-anchor-drift"
    rest = sqrt(Moment(DRIFT, 2)) + sqrt(Moment(LAG, 2))
    premises = {
        "tran2022:lemma-11-sampling": Premise(sqrt(Moment(SAMPLING, 2)), "<=", sqrt(of_sampling)),
        of_changes: Premise(sqrt(Moment(DRIFT, 2)), "<=", of_drift),
        "tran2022:lemma-11-drift": Premise(sqrt(Moment(LAG, 2)), "<=", of_lag),
    }
    root = sqrt(Moment(SAMPLING, 2))
    steps = (
        Step(sqrt(Moment(SAMPLING + DRIFT + LAG, 2)), "<=", "jensen-sqrt", {"X": SAMPLING + DRIFT + LAG}),
        Step(root + sqrt(Moment(DRIFT + LAG, 2)), "<=", "minkowski", {"u": SAMPLING, "w": DRIFT + LAG}),
        Step(
            root + rest, "<=", "minkowski", {"u": DRIFT, "w": LAG}
        ),
        Step(sqrt(of_sampling) + rest, "<=", "premise", {}, ("tran2022:lemma-11-sampling",)),
        Step(sqrt(of_sampling) + of_drift + sqrt(Moment(LAG, 2)), "<=", "premise", {}, (of_changes,)),
        Step(sqrt(of_sampling) + of_drift + of_lag, "<=", "premise", {}, ("tran2022:lemma-11-drift",)),
    )  # fmt: skip
    variables = ranges(
        statement,
        sampling=BoundedVector(4, sqrt(of_sampling)),
        drift=BoundedVector(4, of_drift),
        lag=BoundedVector(4, of_lag),
    )
    return Derivation(
        "Jensen and Minkowski", "ours", variables, (alpha <= 1,), Moment(SAMPLING + DRIFT + LAG, 1), steps, premises,
        local=("sampling", "drift", "lag"),
    )  # fmt: skip
