"""Check Lemmas 5, 7, 11 and 12 in runs with the parameters of Theorems 6 and 9, whose proofs use the lemmas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.checks import as_point
from dpverify.harness.search.derived_checks import RuleCheck
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import NO_FAULT, UPHILL, OptimizerFault
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.kernels.tape import Seed
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.parameters import Parameters, SrParameters
from dpverify.papers.tran2022.algorithms.scales import levels, printed_v, proof_scales
from dpverify.papers.tran2022.algorithms.slope_runs import (
    RunMeans,
    reduced_slope_run,
    slope_run,
)
from dpverify.papers.tran2022.utility.checks.simulation_cases import (
    HEAVY,
    LOUD,
    SlopeCase,
)
from dpverify.shared_types import Ordering

CHECKS = PaperChecks("tran2022", __name__)

ANTIPODES = SlopeCase(
    "antipodes", 256, 256 * 32**2, slope=0.25, reach=0.3, bend=4.0, offset=0.75
)
NOISY = SlopeCase("slope", 256, 256 * 32**2, 3, reach=0.5, bend=4.0)
REDUCED = SlopeCase("slope", 64, 64 * 16**2, 2, reach=0.5, bend=4.0)
REDUCED_ANTIPODES = SlopeCase(
    "antipodes", 64, 64 * 16**2, slope=0.25, reach=0.3, bend=4.0, offset=0.75
)
STRAIGHT = SlopeCase("straight slope", 64, 64 * 32**2, reach=1.5, bend=1.0)
"""In all cases T/N is a square, so that eta is rational. STRAIGHT is run without noise."""

QUIET = OptimizerFault("", "", noise=0.0)
# Declared size of the planted fault of Lemma 5: its right side is 40% smaller.
LESS = Fraction(3, 5)


def _eta(case: SlopeCase) -> Fraction:
    """Return the step length ``1/sqrt(N T)``. It is rational because T/N is a square."""
    return 1 / Fraction(case.examples * math.isqrt(case.steps // case.examples))


# the epsilon for which Theorem 6 prescribes T = case.steps
def _epsilon_6(case: SlopeCase) -> float:
    return (
        case.steps
        * math.log2(case.steps)
        * math.sqrt(case.dimension * _log(case))
        / case.examples**2
    )


# the epsilon for which Theorem 9 prescribes T = case.steps
def _epsilon_9(case: SlopeCase) -> float:
    return float(case.steps**0.75 * math.sqrt(case.dimension) / case.examples**1.75)


# log(1/delta)
def _log(case: SlopeCase) -> float:
    return -math.log(case.delta)


# sigma in the proof of Theorem 6
def _sigma_6(case: SlopeCase) -> float:
    return 2.0 * math.sqrt(_log(case)) / _epsilon_6(case)


def run_6(
    case: SlopeCase, seed: Seed, fault: OptimizerFault, ordering: Ordering = "fresh"
) -> RunMeans:
    """Run Algorithm 1 with alpha, eta, T and sigma of Theorem 6."""
    sigma = fault.noise * _sigma_6(case)
    eta = float(_eta(case))
    G = float(case.point["G"])
    parameters = Parameters(
        case.steps, min(1.0, fault.weight / case.examples), eta, sigma, G, ordering
    )
    return slope_run(case.problem, parameters, seed, direction=fault.direction)


def run_9(
    case: SlopeCase, seed: Seed, fault: OptimizerFault, ordering: Ordering
) -> RunMeans:
    """Run Algorithm 2 with alpha, gamma, eta, T and sigma of Theorem 9. Sensitivities in the proof scale the noise."""
    N = case.examples
    eta = float(_eta(case))
    G = float(case.point["G"])
    L = float(case.point["L"])
    scales = proof_scales(N, case.steps, eta=eta, lipschitz=G, smoothness=L)
    sigma = fault.noise * 4.0 * math.sqrt(_log(case)) / _epsilon_9(case)
    parameters = SrParameters(
        case.steps, 1.0 / N, eta * N, eta, sigma, G, ordering, scales
    )
    return reduced_slope_run(case.problem, parameters, seed, direction=fault.direction)


def _momentum_bound(statement: Statement, case: SlopeCase) -> float:
    """Return the mean over t of Lemma 11's right side, which depends on t only through (1 - alpha)^t."""
    beta = 1.0 - 1.0 / case.examples
    steps = case.steps
    fixed = {**case.point, "alpha": Fraction(1, case.examples), "eta": _eta(case)}
    first, last = (
        printed_side(statement, {**fixed, "t": Fraction(t)}) for t in (1, steps)
    )
    # So the mean is a convex combination of the right sides at t = 1 and t = T, with the
    # weights of the mean of beta^t between beta and beta^T.
    end = math.exp(steps * math.log(beta))
    share = (beta * (1.0 - end) / ((1.0 - beta) * steps) - end) / (beta - end)
    return last + (first - last) * share


def _noise_bound_6(statement: Statement, case: SlopeCase) -> float:
    """Return the right side of Lemma 12 at Theorem 6's sigma. It does not depend on t."""
    depth = levels(case.steps)
    parameters = {
        "alpha": Fraction(1, case.examples),
        "sigma": Fraction(_sigma_6(case)),
        "depth": Fraction(depth),
        "V": printed_v(case.examples, case.steps, depth),
        "t": Fraction(case.steps),
    }
    return printed_side(statement, {**case.point, **parameters})


def _noise_bound_9(statement: Statement, case: SlopeCase) -> float:
    """Return the right side of Lemma 7 at Theorem 9's epsilon. It does not depend on t."""
    parameters = {
        "alpha": Fraction(1, case.examples),
        "eta": _eta(case),
        "epsilon": Fraction(_epsilon_9(case)),
        "t": Fraction(case.steps),
    }
    return printed_side(statement, {**case.point, **parameters})


def _twice(
    bound: Callable[[Statement, SlopeCase], float],
) -> Callable[[Statement, SlopeCase], float]:
    """Return twice a bound. Values are clipped at this limit, which lowers their mean, so that the test is valid."""
    return lambda statement, case: 2.0 * bound(statement, case)


def _runs_of_lemma_5(budget: Budget) -> Iterable[dict[str, int]]:
    seeds = {"smoke": 1, "standard": 8}.get(budget.name, 40)
    return (
        {"problem": place, "seed": seed} for place in range(3) for seed in range(seeds)
    )


def _descends(
    fault: OptimizerFault = NO_FAULT, factor: Fraction = Fraction(1)
) -> Callable[[Point, Statement], Outcome]:
    """Return a test of Lemma 5's bound in a single run. The bound holds in every run, not only in expectation."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        case = (STRAIGHT, NOISY, ANTIPODES)[int(point["problem"])]
        used = QUIET if case is STRAIGHT and fault is NO_FAULT else fault
        run = run_6(case, int(point["seed"]), used)
        problem = case.problem
        end = problem.start.copy()
        end[0] = run.last
        values: dict[str, int | Fraction | str] = {
            "drop": Fraction(problem.loss(problem.start) - problem.loss(end)),
            "error_sum": Fraction(case.steps * run.error),
            "eta": _eta(case),
            "T": case.steps,
            "L": case.point["L"],
        }
        right = Fraction(printed_side(statement, as_point(values))) * factor
        left = Fraction(run.gradient)
        return Outcome(left <= right + Fraction(1, 10**9), left, right, note=case.words)

    return is_satisfied


def _momentum_distance(
    statement: Statement,
    case: SlopeCase,
    seed: int,
    fault: OptimizerFault,
    ordering: Ordering,
) -> float:
    """Return the mean distance of m^_t from m_t."""
    return run_9(case, seed, fault, ordering).noise


LEMMA_7: tuple[tuple[Ordering, SlopeCase], ...] = (
    ("fresh", REDUCED_ANTIPODES),
    ("once", REDUCED),
)

CHECKS.add(
    RuleCheck(
        "lemma-5",
        "whole-runs",
        points=_runs_of_lemma_5,
        is_satisfied=_descends(),
        planted=[
            Planted(
                "the right side 40% smaller",
                is_satisfied=_descends(factor=LESS),
                at_declared_size=True,
            ),
            Planted("every step goes the other way", is_satisfied=_descends(UPHILL)),
        ],
        interior=lambda point: False,
        region="Algorithm 1 with the parameters of Theorem 6: a straight slope without noise, a slope with noise in "
        "three dimensions, antipodal gradients; each run by itself, with its own drop and errors",
        leaves_out="floats, with a margin of 10^-9; other problems",
        seconds=0.1,
    ),
    RunsCheck(
        "lemma-11",
        "runs",
        cases={"standard": (ANTIPODES,), "full": (ANTIPODES,)},
        least_budget="standard",
        measure=lambda statement, case, seed, fault: run_6(case, seed, fault).sampled,
        bound=_momentum_bound,
        top=_twice(_momentum_bound),
        faults=((HEAVY, "antipodes"),),
        seconds_each=lambda case: 1e-7 * case.steps,
        readings={"ordering": "fresh"},
        variants=("amended",),
        region="Algorithm 1 with the parameters of Theorem 6, antipodal gradients: error of the momentum, mean over t",
        leaves_out="floats; single steps",
    ),
    RunsCheck(
        "lemma-12",
        "runs",
        cases={"standard": (NOISY,), "full": (NOISY,)},
        least_budget="standard",
        measure=lambda statement, case, seed, fault: run_6(case, seed, fault).noise,
        bound=_noise_bound_6,
        top=_twice(_noise_bound_6),
        faults=((LOUD, "slope"),),
        seconds_each=lambda case: 4e-8 * case.steps,
        readings={"depth": "levels"},
        region="Algorithm 1 with the parameters of Theorem 6: norm of the noise, mean over t",
        leaves_out="floats; single steps",
    ),
    *(
        RunsCheck(
            "lemma-7",
            f"runs-{ordering}",
            cases={"standard": (case,), "full": (case,)},
            least_budget="standard",
            measure=partial(_momentum_distance, ordering=ordering),
            bound=_noise_bound_9,
            top=_twice(_noise_bound_9),
            faults=((LOUD, case.name),),
            seconds_each=lambda case: 9e-7 * case.steps,
            readings={"ordering": ordering},
            variants=("amended",),
            region="Algorithm 2 with the parameters of Theorem 9: distance of m^_t from m_t, mean over t",
            leaves_out="floats; single steps",
        )
        for ordering, case in LEMMA_7
    ),
)
