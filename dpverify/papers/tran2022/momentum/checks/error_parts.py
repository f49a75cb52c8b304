"""Check Lemma 11 part by part on the worst known problems, and as a whole in runs of Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from dpverify.harness import (
    Budget,
    Control,
    MeanBound,
    MonteCarloCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    TrueNeighbour,
)
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.scales import levels, printed_v
from dpverify.papers.tran2022.momentum import momentum_error_bounds as bounds
from dpverify.papers.tran2022.momentum.checks.error_runs import (
    ANTIPODES,
    ERRORS,
    WITH_MEMORY,
    antipodes,
    as_computed,
    forgets,
    plan,
    with_memory,
)
from dpverify.symbolic.exact.evaluate import decide, evaluate_statement
from dpverify.symbolic.exact.numbers import nearest_float, to_ball, to_exact, to_value

CHECKS = PaperChecks("tran2022", __name__)

N = 16
STEPS = 160
RUN = bounds.ErrorRun(
    n_examples=N,
    steps=STEPS,
    alpha=Fraction(1, N),
    gamma=Fraction(1, 4),
    eta=Fraction(1, 4 * N),
    sigma=Fraction(1, 10),
    v=printed_v(N, STEPS, levels(STEPS)),
)
"""Ten epochs with alpha = 1/N and gamma = eta N, G = L = 1; sigma so small that all parts fit on one axis."""

TOO_SMALL = 4  # Every part comes within this factor of its bound.

Factors = dict[str, Fraction]


@lru_cache(maxsize=512)
def _parts(t: int) -> dict[str, bounds.Part]:
    return bounds.error_parts(t, RUN)


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
    """Return the rule that the bounds add up to the lemma's and no part exceeds its bound; ``factors`` plant faults."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        parts = _parts(int(point["t"]))
        total = sum(
            (to_ball(to_value(parts[name].bound)) for name in bounds.LEMMA_11), arb(0)
        )
        _, right = evaluate_statement(statement, point)
        if not total.overlaps(to_ball(to_value(right))):
            return Outcome(
                False,
                to_exact(total),
                right,
                "the bounds of the parts are not those of the lemma",
            )
        for name, (attained, bound) in parts.items():
            factor = (factors or {}).get(name, Fraction(1))
            allowed = to_exact(to_value(bound) * to_value(factor))
            if decide(attained, "<=", allowed) is not True:
                return Outcome(False, attained, allowed, f"{name} is above its bound")
        return Outcome(True)

    return is_satisfied


def error_figure() -> dict[str, dict[str, list[float]]]:
    """Return the columns of figure "error-parts": attained, corrected and (if it exists) printed value per part."""
    steps = range(1, STEPS + 1)
    columns: dict[str, list[float]] = {"x": [float(t) for t in steps]}
    for name in bounds.PARTS:
        columns[f"attained-{name}"] = [
            nearest_float(_parts(t)[name].attained) for t in steps
        ]
        columns[f"corrected-{name}"] = [
            nearest_float(_parts(t)[name].bound) for t in steps
        ]
    for name, bound in bounds.printed_parts(RUN).items():
        columns[f"printed-{name}"] = [nearest_float(bound)] * STEPS
    fixed = {
        "N": Fraction(N),
        "alpha": RUN.alpha,
        "gamma": RUN.gamma,
        "eta": RUN.eta,
        "sigma": RUN.sigma,
    }
    return {
        "error-parts": {
            **columns,
            **{f"at:{name}": [float(value)] for name, value in fixed.items()},
        }
    }


CHECKS.add(
    RuleCheck(
        "lemma-11",
        "error-parts",
        points=_steps,
        is_satisfied=_within(),
        readings={"ordering": "fresh"},
        variants=("amended",),
        planted=[
            Planted(
                "no start-up term, as printed",
                is_satisfied=_within({"start-up": Fraction(0)}),
            ),
            *(
                Planted(
                    f"the bound of {name} {TOO_SMALL} times too small",
                    is_satisfied=_within({name: Fraction(1, TOO_SMALL)}),
                )
                for name in bounds.PARTS
            ),
        ],
        figures=lambda _: error_figure(),
        about_kernel=True,
        region="N = 16, ten epochs, alpha = 1/N, eta N = gamma = 1/4, G = L = 1; the worst problem known for each part",
        leaves_out="how the parts add up on one problem",
        seconds=0.4,
    )
)


def _identical(_: Budget) -> Iterable[dict[str, Any]]:
    """Yield runs on identical examples: far from the minimum (a slope), and down to it (a ramp)."""
    for n, t, alpha in ((1, 1, "1/2"), (3, 8, "1/5"), (5, 64, "1/32")):
        for slope in (1, 0):
            yield {
                "N": n,
                "T": t,
                "t": t,
                "alpha": Fraction(alpha),
                "eta": Fraction(1, 64),
                "slope": slope,
            }


CHECKS.add(
    RuleCheck(
        "lemma-11",
        "memory",
        points=with_memory,
        is_satisfied=forgets("once"),
        meets=WITH_MEMORY,
        readings={"ordering": "once"},
        variants=("printed",),
        planted=[
            Planted(
                "nine tenths of the bound",
                is_satisfied=forgets("once", 0.9),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour("ten times the bound", is_satisfied=forgets("once", 10.0))
        ],
        interior=lambda p: True,
        region="Algorithm 1 without noise on a loss with a memory, N = 128",
        leaves_out="exact arithmetic: floats, with a margin of 1%",
        seconds=3.0,
    ),
    RuleCheck(
        "lemma-11",
        "memory-fresh",
        points=with_memory,
        is_satisfied=forgets("fresh"),
        readings={"ordering": "fresh"},
        variants=("amended",),
        planted=[Planted("one permutation", is_satisfied=forgets("once"))],
        region="the same loss, on which one permutation breaks the printed terms",
        leaves_out="other orders than those of one seed",
        seconds=3.0,
    ),
    MonteCarloCheck(
        "lemma-11",
        "antipodes",
        point=ANTIPODES,
        plan=plan,
        simulate=antipodes(),
        judge=MeanBound(ERRORS),
        controls=[
            Control(
                "weight-doubled", "the momentum weight is 2 alpha", antipodes(weight=2)
            )
        ],
        readings={"ordering": "fresh"},
        variants=("amended",),
        region="Algorithm 1 without noise on two antipodal examples",
        leaves_out="floats",
    ),
    RuleCheck(
        "lemma-11",
        "identical-examples",
        points=_identical,
        is_satisfied=as_computed,
        variants=("amended",),
        planted=[
            Planted(
                "alpha 1% too small",
                is_satisfied=lambda p, s: as_computed(p, s, 0.99),
                at_declared_size=True,
            )
        ],
        about_kernel=True,
        region="Algorithm 1 without noise against the closed forms of slope and ramp",
        seconds=0.5,
    ),
)
