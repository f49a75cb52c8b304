"""Lemma 11, corrected, from its terms.

The momentum error is the sum of three vectors: *sampling*, the centred gradients at the anchors; *drift*, their change
from the anchors to the iterates; *lag*, the momentum of full gradients minus the present one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import sympy
from flint import arb, fmpq
from sympy import Symbol, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.momentum.momentum_error_derivations import ranges
from dpverify.symbolic.derive.derivation import Derivation, Premise, Step
from dpverify.symbolic.expressions.data import AnyVector, Vector, numbers_of
from dpverify.symbolic.expressions.from_sympy import compile_expr
from dpverify.symbolic.expressions.functions import Moment
from dpverify.symbolic.expressions.to_sympy import sympy_symbols

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
    """Derive the corrected Lemma 11, for either ordering.

    From E|sampling + drift + lag| by Jensen and Minkowski. Fresh permutations: the centred gradients are taken at the
    anchors of the epochs. One permutation: at w_1, the only anchor that does not depend on the order.
    """
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
