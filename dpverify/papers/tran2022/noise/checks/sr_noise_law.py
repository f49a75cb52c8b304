"""Compare the kernels of Algorithm 2's noise with its exact law, over whole runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpverify.harness import (
    Budget,
    Context,
    Control,
    MonteCarloCheck,
    Outcome,
    PaperChecks,
    Planted,
    Point,
    RuleCheck,
    TrajectoryLaw,
)
from dpverify.harness.search.derived_checks import compare_arrays
from dpverify.harness.statistics.trajectory_effects import (
    DetectableFaults,
    plan_to_detect,
)
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.reconstruction.literal import (
    reconstruct_literal,
)
from dpverify.papers.tran2022.algorithms.reconstruction.nodes import (
    Nodes,
    node_intervals,
)
from dpverify.papers.tran2022.algorithms.scales import Scales
from dpverify.papers.tran2022.algorithms.sr_nsgd import faults as sr_faults
from dpverify.papers.tran2022.algorithms.sr_nsgd import noise as sr_noise
from dpverify.papers.tran2022.noise.noise_bounds import (
    NodeVariances,
    covariance_matrix,
    noise_coefficients,
    variance_terms,
)
from dpverify.symbolic.exact.numbers import nearest_float

CHECKS = PaperChecks("tran2022", __name__)

COORDINATES = 8

# N is no power of two, T no multiple of N
ODD = {"N": 7, "T": 100, "alpha": "1/5", "gamma": "1/4", "d": COORDINATES}

# Windows are whole nodes; slowest decay
EVEN = {"N": 16, "T": 130, "alpha": "1/16", "gamma": "1/10", "d": COORDINATES}

SCALES = Scales(delta_g=1.0, delta_delta=0.375, delta_r=0.25, v_first=2.0, v_later=12.0)
"""Each kind of node has enough noise for its faults to be visible, and no two kinds have the same noise."""

# SCALES, as variances
NODES = NodeVariances(*(Fraction(value) for value in ("2", "12", "27/16", "3/4")))

Noise = Callable[[np.random.Generator, int, SrParameters, int], Any]


def _parameters(point: Point) -> SrParameters:
    return SrParameters(
        int(point["T"]),
        float(point["alpha"]),
        float(point["gamma"]),
        eta=0.0,
        sigma=1.0,
        lipschitz=1.0,
        scales=SCALES,
    )


def _faulty(
    fault: sr_faults.SrFault,
    rng: np.random.Generator,
    dimension: int,
    parameters: SrParameters,
    n_examples: int,
) -> Any:
    tape = rng.standard_normal(
        (sr_noise.tape_rows(n_examples, parameters.steps), dimension)
    )
    return fault.noise(tape, parameters, n_examples)


def _literal(
    rng: np.random.Generator, dimension: int, parameters: SrParameters, n_examples: int
) -> Any:
    """Run Algorithm 4 as printed on nodes that hold only noise, drawn independently for every node."""
    rows = node_intervals(parameters.steps)
    deviations = parameters.deviations(n_examples)
    g = np.where(rows[:, 1] <= 2 * n_examples, deviations[0], deviations[1])
    families = [rng.standard_normal((len(rows), dimension)) for _ in range(3)]
    nodes = Nodes(
        g[:, None] * families[0],
        deviations[2] * families[1],
        deviations[3] * families[2],
    )
    return reconstruct_literal(
        nodes, examples=n_examples, alpha=parameters.alpha, gamma=parameters.gamma
    )[0]


def _whole_runs(noise: Noise) -> Callable[[Context, np.random.Generator, int], Any]:
    """Return a simulation of whole runs; they are independent coordinates of one large run."""

    def simulate(context: Context, rng: np.random.Generator, size: int) -> Any:
        n_examples = int(context.point["N"])
        d = int(context.point["d"])
        samples = noise(rng, size * d, _parameters(context.point), n_examples)
        return np.ascontiguousarray(
            np.moveaxis(samples.reshape(len(samples), size, d), 1, 0)
        )

    return simulate


def _law(context: Context) -> Any:
    at = context.point
    return covariance_matrix(
        int(at["T"]), int(at["N"]), at["alpha"], at["gamma"], NODES
    )


AT_ODD = [
    *(sr_faults.family_scaled(family, 1.1) for family in ("g-later", "delta")),
    sr_faults.coefficient_off("gamma"),
    sr_faults.decay_off("windows"),
    sr_faults.decay_off("r", -1),
    sr_faults.node_missing("g", 1, 4),
]
AT_EVEN = [
    *(sr_faults.family_scaled(family, 1.1) for family in ("g-first", "r")),
    sr_faults.coefficient_off("decay"),
    sr_faults.decay_off("sums", 4),
    sr_faults.node_missing("delta", 97, 112),
]


def _law_check(
    name: str, point: dict[str, Any], noise: Noise, faults: list[sr_faults.SrFault]
) -> MonteCarloCheck:
    return MonteCarloCheck(
        "algorithm-2-threshold",
        name,
        point=point,
        plan=plan_to_detect(
            DetectableFaults(0.2, 1.15, 1.02), DetectableFaults(0.05, 1.1, 1.02)
        ),
        simulate=_whole_runs(noise),
        judge=TrajectoryLaw(_law),
        controls=[
            Control(fault.name, fault.text, _whole_runs(partial(_faulty, fault)))
            for fault in faults
        ],
        leaves_out="floats, not real arithmetic; variances of the nodes are chosen, not the box's",
    )


def _compare_weights(
    point: Point,
    statement: Statement,
    kernel: Callable[[Any, SrParameters, int], Any] = sr_noise.noise_from_tape,
) -> Outcome:
    """Compare the weight of every Gaussian in every step, from unit tapes through a kernel, with the closed form."""
    n_examples = int(point["N"])
    steps = int(point["T"])
    parameters = _parameters(point)
    rows = sr_noise.tape_rows(n_examples, steps)
    kernel_weights = kernel(np.eye(rows), parameters, n_examples)
    names = ("G", "Delta", "r")
    place = {
        (names[f], (y, z)): row
        for row, (f, y, z) in enumerate(
            sr_noise.tape_layout(n_examples, steps).tolist()
        )
    }
    exact = np.zeros((steps, rows))
    for t in range(1, steps + 1):
        for family, weights in noise_coefficients(
            t, n_examples, point["alpha"], point["gamma"]
        ).items():
            for node, weight in weights.items():
                deviation = float(NODES.of_node(family, node, n_examples)) ** 0.5
                exact[t - 1, place[family, node]] = float(weight) * deviation
    return compare_arrays(
        kernel_weights,
        exact,
        lambda t, row: f"step {t + 1}, row {row} of the tape",
        rtol=1e-11,
        atol=1e-14,
    )


def _small_runs(budget: Budget) -> Iterable[dict[str, Any]]:
    size_limit = {"smoke": 5, "standard": 9, "full": 17}[budget.name]
    for n in range(1, size_limit):
        for steps in sorted({1, n, 2 * n, 2 * n + 1, 5 * n - 1, 15, 31}):
            for alpha, gamma in (
                (Fraction(1, n), Fraction(1, 2)),
                (Fraction(3, 4), Fraction(1, 9)),
            ):
                yield {"N": n, "T": steps, "alpha": alpha, "gamma": gamma}


WRONG = (
    sr_faults.family_scaled("delta", 1.0001),
    sr_faults.coefficient_off("gamma"),
    sr_faults.decay_off("sums"),
)


N = 16
STEPS = 383
ALPHA = Fraction(1, N)
GAMMA = Fraction(1, 5)


def variance_figures() -> dict[str, dict[str, list[float]]]:
    """Return the exact variances and bounds of a run with the box's constants, G = L = sigma = 1 and gamma = eta N."""
    steps = STEPS
    log_n = N.bit_length() - 1
    later = Fraction(4 * steps * log_n, N)
    drift = 4 * GAMMA**2
    nodes = NodeVariances(
        Fraction(16 * 3 * log_n), 16 * later, drift * later, drift * later
    )
    exact = [
        [nearest_float(v) for v in variance_terms(t, N, ALPHA, GAMMA, nodes)]
        for t in range(1, steps + 1)
    ]
    shrunk = (1 - math.exp(-1)) ** 2
    ratio = float(later)
    gamma = float(GAMMA)
    printed = [
        192.0 * log_n**2,
        192.0 * log_n**2 / shrunk,
        64 * gamma * ratio * log_n / shrunk,
        4 * float(drift) * ratio * log_n / (gamma * shrunk),
        float(drift) * ratio / log_n * 3 * math.log2(steps) ** 2,
    ]
    corrected = [
        48.0 * log_n**2,
        96.0 * log_n**2 / shrunk,
        64 * gamma * ratio * log_n / (3 * shrunk),
        float(drift) * ratio * log_n / (gamma * shrunk),
        float(drift) * ratio * math.log2(steps + 1),
    ]
    unit = float(ALPHA) ** 2
    columns: dict[str, list[float]] = {"x": [float(t) for t in range(1, steps + 1)]}
    for place in range(5):
        columns[f"exact-{place + 1}"] = [terms[place] for terms in exact]
        columns[f"printed-{place + 1}"] = [unit * printed[place]] * steps
        columns[f"corrected-{place + 1}"] = [unit * corrected[place]] * steps
    columns["exact-total"] = [sum(terms) for terms in exact]
    columns["printed-total"] = [unit * sum(printed)] * steps
    columns["corrected-total"] = [unit * sum(corrected)] * steps
    fixed = {"N": N, "T": steps, "alpha": float(ALPHA), "gamma": gamma}
    return {
        "variance-terms": {
            **columns,
            **{f"at:{name}": [float(value)] for name, value in fixed.items()},
        }
    }


CHECKS.add(
    _law_check("noise-law", ODD, sr_noise.noise_from_generator, AT_ODD),
    _law_check("noise-law-even", EVEN, sr_noise.noise_from_generator, AT_EVEN),
    _law_check("noise-law-literal", ODD, _literal, []),
    RuleCheck(
        "algorithm-2-threshold",
        "weights",
        points=_small_runs,
        is_satisfied=_compare_weights,
        about_kernel=True,
        figures=lambda _: variance_figures(),
        planted=[
            Planted(
                fault.name,
                is_satisfied=partial(_compare_weights, kernel=fault.noise),
                at_declared_size=fault is WRONG[0],
            )
            for fault in WRONG
        ],
        leaves_out="floats, not real arithmetic",
    ),
)
