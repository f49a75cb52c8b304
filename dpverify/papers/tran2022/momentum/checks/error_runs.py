"""Errors of the momentum in runs of Algorithm 1 without noise: a loss with a memory, antipodes, identical examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpverify.harness import (
    Bounded,
    Budget,
    Context,
    MeanEffect,
    Outcome,
    Plan,
    Point,
    Property,
)
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.momentum_errors import (
    LossWithMemory,
    RunWithMomentum,
    error_at,
    errors_of_seeds,
    printed_terms,
)
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.papers.tran2022.momentum import momentum_error_bounds as bounds
from dpverify.problems.worst_cases import antipodal, identical
from dpverify.shared_types import Ordering

RUNS_WITH_MEMORY: dict[str, tuple[int, ...]] = {
    "smoke": (4000,),
    "standard": (4000, 12000),
    "full": (4000, 12000, 50000),
}
"""Numbers of epochs for each budget."""

MEMORY_ALPHA = Fraction(3, 100)
MEMORY_ETA = Fraction(1, 2000)


def with_memory(budget: Budget) -> Iterable[dict[str, Any]]:
    """Return the points of runs on a loss with a memory."""
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


def forgets(
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


def plan(context: Context) -> Plan:
    """Plan to detect a mean error that exceeds the bound by G/10 in a smoke run, and by 3 G/100 in longer runs."""
    return Plan(
        MeanEffect(0.1 if context.budget.name == "smoke" else 0.03, ERRORS),
        seconds_each=2e-4,
        block=1024,
    )


def antipodes(weight: int = 1) -> Callable[[Context, np.random.Generator, int], Any]:
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


def as_computed(point: Point, statement: Statement, factor: float = 1.0) -> Outcome:
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
