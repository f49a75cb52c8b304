"""Lemma 11 part by part: what is attained on the worst problem known for a term stays below it, at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from flint import arb

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.search.rule_check import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.tree_noise.scale import levels, printed_v
from dpverify.papers.tran2022.momentum.error_parts_bounds import (
    LEMMA_11,
    PARTS,
    ErrorRun,
    Part,
    error_parts,
    printed_parts,
)
from dpverify.symbolic.exact.numbers import Exact, nearest_float, to_ball, to_exact, to_value
from dpverify.symbolic.exact.statements import evaluate_statement

CHECKS = PaperChecks("tran2022", __name__)

N, STEPS = 16, 160
RUN = ErrorRun(
    n_examples=N,
    steps=STEPS,
    alpha=Fraction(1, N),
    gamma=Fraction(1, 4),
    eta=Fraction(1, 4 * N),
    sigma=Fraction(1, 10),
    v=printed_v(N, STEPS, levels(STEPS)),
)
"""Ten epochs with alpha = 1/N and gamma = eta N, G = L = 1; sigma so small that all parts fit on one axis."""

TOO_SMALL = 4
"""Every part comes within this factor of its bound."""

Factors = dict[str, Fraction]


@lru_cache(maxsize=512)
def _parts(t: int) -> dict[str, Part]:
    return error_parts(t, RUN)


def _steps(_: Budget) -> Iterable[dict[str, int | Fraction | str]]:
    fixed: dict[str, int | Fraction | str] = {
        "N": N,
        "T": STEPS,
        "alpha": RUN.alpha,
        "eta": RUN.eta,
        "G": RUN.lipschitz,
        "L": RUN.smoothness,
    }
    return ({**fixed, "t": t} for t in range(1, STEPS + 1))


def _within(factors: Factors | None = None) -> Callable[[Point, Statement], Outcome]:
    """Rule at a step: the bounds add up to the lemma's, no part is above its own; ``factors`` of bounds are faults."""

    def holds(point: Point, statement: Statement) -> Outcome:
        parts = _parts(int(point["t"]))
        total = sum((to_ball(to_value(parts[name].bound)) for name in LEMMA_11), arb(0))
        _, right = evaluate_statement(statement, point)
        if not total.overlaps(to_ball(to_value(right))):
            return Outcome(False, to_exact(total), right, "the bounds of the parts are not those of the lemma")
        for name, (attained, bound) in parts.items():
            factor = (factors or {}).get(name, Fraction(1))
            allowed = to_exact(to_value(bound) * to_value(factor))
            if not _at_most(attained, allowed):
                return Outcome(False, attained, allowed, f"{name} is above its bound")
        return Outcome(True)

    return holds


def _at_most(left: Exact, right: Exact) -> bool:
    """Whether it is certain that left <= right."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left <= right
    return bool(to_ball(to_value(left)) <= to_ball(to_value(right)))


def error_figure() -> dict[str, dict[str, list[float]]]:
    """Columns of "error-parts": each part over the steps, as attained, corrected and, where there is one, printed."""
    steps = range(1, STEPS + 1)
    columns: dict[str, list[float]] = {"x": [float(t) for t in steps]}
    for name in PARTS:
        columns[f"attained-{name}"] = [nearest_float(_parts(t)[name].attained) for t in steps]
        columns[f"corrected-{name}"] = [nearest_float(_parts(t)[name].bound) for t in steps]
    for name, bound in printed_parts(RUN).items():
        columns[f"printed-{name}"] = [nearest_float(bound)] * STEPS
    fixed = {"N": Fraction(N), "alpha": RUN.alpha, "gamma": RUN.gamma, "eta": RUN.eta, "sigma": RUN.sigma}
    return {"error-parts": {**columns, **{f"at:{name}": [float(value)] for name, value in fixed.items()}}}


CHECKS.add(
    RuleCheck(
        "lemma-11",
        "error-parts",
        points=_steps,
        holds=_within(),
        readings={"ordering": "fresh"},
        variants=("amended",),
        planted=[
            Planted("no start-up term, as printed", holds=_within({"start-up": Fraction(0)})),
            *(
                Planted(
                    f"the bound of {name} {TOO_SMALL} times too small", holds=_within({name: Fraction(1, TOO_SMALL)})
                )
                for name in PARTS
            ),
        ],
        figures=error_figure,
        about_kernel=True,
        region="N = 16, ten epochs, alpha = 1/N, eta N = gamma = 1/4, G = L = 1; the worst problem known for each part",
        leaves_out="how the parts add up on one problem",
        seconds=0.4,
    )
)
