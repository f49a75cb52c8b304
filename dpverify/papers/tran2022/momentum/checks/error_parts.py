"""Check Lemma 11 part by part on the worst known problems, and as a whole in runs of Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import arb

from dpverify.harness import (
    Bounded,
    Budget,
    Context,
    Control,
    MeanBound,
    MeanEffect,
    MonteCarloCheck,
    Outcome,
    PaperChecks,
    Plan,
    Planted,
    Point,
    Property,
    TrueNeighbour,
)
from dpverify.harness.search.exhaustive_check import RuleCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.momentum_errors import (
    LossWithMemory,
    RunWithMomentum,
    error_at,
    errors_of_seeds,
    printed_terms,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.papers.tran2022.algorithms.scales import levels, printed_v
from dpverify.papers.tran2022.momentum import momentum_error_bounds as bounds
from dpverify.problems.worst_cases import antipodal, identical
from dpverify.shared_types import Ordering
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


RUNS_WITH_MEMORY: dict[str, tuple[int, ...]] = {
    "smoke": (4000,),
    "standard": (4000, 12000),
    "full": (4000, 12000, 50000),
}
"""Numbers of epochs for each budget."""

MEMORY_ALPHA = Fraction(3, 100)
MEMORY_ETA = Fraction(1, 2000)


def _with_memory(budget: Budget) -> Iterable[dict[str, Any]]:
    n = LossWithMemory().examples
    return (
        {
            "N": n,
            "T": epochs * n,
            "t": epochs * n,
            "alpha": MEMORY_ALPHA,
            "eta": MEMORY_ETA,
            "G": Fraction("0.9948"),
            "L": Fraction("1.4001"),
        }
        for epochs in RUNS_WITH_MEMORY[budget.name]
    )


def _exact_memory() -> dict[str, Fraction]:
    """Return the parameters of the loss with a memory, as the exact values of its floats."""
    problem = LossWithMemory()
    return {
        name: Fraction(getattr(problem, name))
        for name in ("noise", "growth", "hold", "push", "clock")
    }


def _memory_slope(point: Point) -> bool:
    """Test whether the five parameters, which bound the gradients of the five terms, add up to at most G."""
    return sum(_exact_memory().values(), Fraction(0)) <= point["G"]


def _memory_curvature(point: Point) -> bool:
    """Test whether 3/2 ``noise`` plus the larger curvature of two terms along different axes is at most L."""
    numbers = _exact_memory()
    return (
        numbers["noise"] * 3 / 2 + max(numbers["growth"], numbers["hold"]) <= point["L"]
    )


WITH_MEMORY = {
    "lipschitz": Property(
        "lengths of the gradients of the terms of the loss with a memory", _memory_slope
    ),
    "smooth": Property(
        "rows of the Hessian of the loss with a memory", _memory_curvature
    ),
    "update-of-algorithm-1": Property(
        "runs of Algorithm 1; the momentum of which the lemma speaks is without noise"
    ),
}


@lru_cache(maxsize=32)
def _memory_error(steps: int, ordering: Ordering) -> float:
    return error_at(
        LossWithMemory(), steps, float(MEMORY_ALPHA), float(MEMORY_ETA), ordering
    )


def _forgets(
    ordering: Ordering, part: float = 1.0
) -> Callable[[Point, Statement], Outcome]:
    """Return the rule that printed terms plus start-up term bound the error on this loss, up to 1% for floats."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        problem = LossWithMemory()
        steps = int(point["t"])
        alpha = float(point["alpha"])
        error = _memory_error(steps, ordering)
        allowed = (
            part * printed_terms(problem, alpha, float(point["eta"]))
            + (1 - alpha) ** steps * problem.lipschitz
        )
        note = (
            f"a loss with a memory, G = {problem.lipschitz:.4f}, L = "
            f"{problem.smoothness:.2f}; the same for every order"
        )
        return Outcome(
            error <= 1.01 * allowed, Fraction(error), Fraction(allowed), note
        )

    return is_satisfied


ANTIPODES: dict[str, int | Fraction | str] = {
    "N": 2,
    "T": 9,
    "t": 9,
    "alpha": "1/2",
    "eta": "1/500",
    "G": 1,
    "L": "1/10",
}
"""Gradients G and -G near w_1, and an odd t: close to the worst case of the sampling error."""

# The momentum has length at most G = 1, the full gradient at most eta L t = 0.0018.
ERRORS = Bounded(0.0, 1.01)


def _plan(context: Context) -> Plan:
    """Plan to detect a mean error that exceeds the bound by G/10 in a smoke run, and by 3 G/100 in longer runs."""
    return Plan(
        MeanEffect(0.1 if context.budget.name == "smoke" else 0.03, ERRORS),
        seconds_each=2e-4,
        block=1024,
    )


def _antipodes(weight: int = 1) -> Callable[[Context, np.random.Generator, int], Any]:
    """Return a simulation of the momentum's error after t steps, with the momentum weight ``weight * alpha``."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Any:
        point = context.point
        steps = int(point["t"])
        alpha = float(point["alpha"]) * weight
        eta = float(point["eta"])
        problem = antipodal(int(point["N"]), 1, float(point["G"]), float(point["L"]))
        parameters = Parameters(steps, alpha, eta, 0.0, problem.lipschitz)
        return errors_of_seeds(problem, parameters, rng.integers(1 << 62, size=size))

    return simulate


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


def _as_computed(point: Point, statement: Statement, factor: float = 1.0) -> Outcome:
    """Compare the error of Algorithm 1's momentum, G = L = 1, with the closed form; ``factor`` plants a fault."""
    n = int(point["N"])
    t = int(point["t"])
    alpha = point["alpha"]
    eta = point["eta"]
    flat = point["slope"] == 1
    problem = identical(n, 2, 1.0, 1.0, 9.0 if flat else float((t - 1) * eta))
    parameters = Parameters(
        t, float(alpha) * factor, float(eta), 0.0, problem.lipschitz
    )
    run = RunWithMomentum(
        problem.example_gradient, problem.x, problem.y, problem.start, parameters
    )
    run.advance(t - 1)
    at = run.w
    run.advance(1)
    error = float(np.linalg.norm(run.momentum - problem.gradient(at)))
    unit = Fraction(1)
    exact = (
        bounds.slope_error(t, alpha, unit)
        if flat
        else bounds.ramp_error(t, alpha, eta, unit, unit)
    )
    return Outcome(abs(error - float(exact)) < 1e-12, Fraction(error), exact)


CHECKS.add(
    RuleCheck(
        "lemma-11",
        "memory",
        points=_with_memory,
        is_satisfied=_forgets("once"),
        meets=WITH_MEMORY,
        readings={"ordering": "once"},
        variants=("printed",),
        planted=[
            Planted(
                "nine tenths of the bound",
                is_satisfied=_forgets("once", 0.9),
                at_declared_size=True,
            )
        ],
        neighbours=[
            TrueNeighbour("ten times the bound", is_satisfied=_forgets("once", 10.0))
        ],
        interior=lambda p: True,
        region="Algorithm 1 without noise on a loss with a memory, N = 128",
        leaves_out="exact arithmetic: floats, with a margin of 1%",
        seconds=3.0,
    ),
    RuleCheck(
        "lemma-11",
        "memory-fresh",
        points=_with_memory,
        is_satisfied=_forgets("fresh"),
        readings={"ordering": "fresh"},
        variants=("amended",),
        planted=[Planted("one permutation", is_satisfied=_forgets("once"))],
        region="the same loss, on which one permutation breaks the printed terms",
        leaves_out="other orders than those of one seed",
        seconds=3.0,
    ),
    MonteCarloCheck(
        "lemma-11",
        "antipodes",
        point=ANTIPODES,
        plan=_plan,
        simulate=_antipodes(),
        judge=MeanBound(ERRORS),
        controls=[
            Control(
                "weight-doubled", "the momentum weight is 2 alpha", _antipodes(weight=2)
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
        is_satisfied=_as_computed,
        variants=("amended",),
        planted=[
            Planted(
                "alpha 1% too small",
                is_satisfied=lambda p, s: _as_computed(p, s, 0.99),
                at_declared_size=True,
            )
        ],
        about_kernel=True,
        region="Algorithm 1 without noise against the closed forms of slope and ramp",
        seconds=0.5,
    ),
)
