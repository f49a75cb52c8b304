"""Compare the noise that ``train`` adds after calibration, measured in a run's releases, with ``calibrate``.

The Gaussians behind a run are known: they come from stream 1 of its seed. So the releases are a known function of the
deviations, which can be solved for them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import msgspec
import numpy as np

from dpverify.calibrate.by_name import calibration
from dpverify.calibrate.records import BatchCalibration, Calibration
from dpverify.harness import Budget, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.exhaustive_check import PointLike
from dpverify.harness.sides import LeftSide
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accounting.noise import SR_NODES
from dpverify.papers.tran2022.algorithms.reconstruction.stream import new_constants
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import noise_with
from dpverify.papers.tran2022.algorithms.tree_noise.stream import stream_noise
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm
from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
from dpverify.problems.data import Dataset, dataset_of
from dpverify.problems.stepped_run import LongRun
from dpverify.train.records import Request, account
from dpverify.train.run import problem_of, train

CHECKS = PaperChecks("tools", __name__)

DIMENSION = 12
ETA = 0.05
GAMMA = 0.25
CHANGE_CLIP = 0.125
STAGES = 2
TREE_ALGORITHMS = ("dp-nsgd", "sr-nsgd")


def _data(examples: int, size: float) -> tuple[Dataset, Vector]:
    """Return examples that all have the gradient ``sigmoid(x w) x``: x with label 0, and -x with label 1."""
    row = size * np.ones(DIMENSION) / math.sqrt(DIMENSION)
    labels = np.arange(examples) % 2
    return dataset_of(np.where(labels[:, np.newaxis] == 0, row, -row), labels), row


def _request(algorithm: str, point: Point) -> Request:
    shared: dict[str, Any] = {
        "steps": int(point["T"]),
        "epsilon": float(point["epsilon"]),
        "delta": float(point["delta"]),
        "eta": ETA,
        "lam": 0.0,
        "seed": int(point["draw"]),
    }
    if algorithm in TREE_ALGORITHMS:
        gamma = GAMMA if algorithm == "sr-nsgd" else None
        return Request(
            algorithm,
            alpha=float(point["w"]),
            gamma=gamma,
            ordering="once",
            scale="clip",
            **shared,
        )
    shared |= {"batch": int(point["batch"]), "scale": "clip"}
    if algorithm == "dp-srm":
        return Request(
            algorithm, gamma=float(point["w"]), change_clip=CHANGE_CLIP, **shared
        )
    return Request(algorithm, stages=STAGES, rho=0.5, **shared)


def _iterates(run: LongRun, steps: int) -> Matrix:
    """Return w_1, ..., w_{T+1} as released."""
    iterates = [run.w]
    for _ in range(steps):
        run.advance(1)
        iterates.append(run.w)
    return np.array(iterates)


def _normalized(streams: list[Matrix], row: Vector, w: Matrix, alpha: float) -> Vector:
    """Return deviations s for which each step is along m_t + sum of s_f n_f,t; ``streams`` are n_f at deviation 1."""
    momentum = np.zeros(DIMENSION)
    targets = []
    unknown = []
    for t, (at, after) in enumerate(itertools.pairwise(w)):
        momentum = (1.0 - alpha) * momentum + alpha * row / (
            1.0 + math.exp(-float(at @ row))
        )
        direction = (at - after) / np.linalg.norm(at - after)
        across = np.eye(DIMENSION) - np.outer(direction, direction)
        targets.append(-across @ momentum)
        unknown.append(across @ np.array([stream[t] for stream in streams]).T)
    solved: Vector = np.linalg.lstsq(np.concatenate(unknown), np.concatenate(targets))[
        0
    ]
    return solved


def _of_dp_nsgd(run: LongRun, s: Any, row: Vector, examples: int) -> dict[str, float]:
    units = generator(s.seed, 1).standard_normal((s.steps, DIMENSION))
    stream = np.empty_like(units)
    stream_noise(units, s.alpha, 1.0, stream)
    return {"f": float(_normalized([stream], row, _iterates(run, s.steps), s.alpha)[0])}


def _of_sr_nsgd(run: LongRun, s: Any, row: Vector, examples: int) -> dict[str, float]:
    constants = new_constants(examples, s.alpha, s.gamma)
    empty = np.empty((0, DIMENSION))
    streams = [
        noise_with(empty, generator(s.seed, 1), unit, constants, s.steps, examples)
        for unit in np.eye(len(SR_NODES))
    ]
    solved = _normalized(streams, row, _iterates(run, s.steps), s.alpha)
    return dict(zip(SR_NODES, solved.tolist(), strict=True))


def _of_dp_srm(run: LongRun, s: Any, row: Vector, examples: int) -> dict[str, float]:
    """Return the deviations of a run with gradients 0, in which v^t - (1 - gamma) v^(t-1) is noise."""
    assert isinstance(run, DpSrm)
    rng = generator(s.seed, 1)
    before = np.zeros(DIMENSION)
    deviations = []
    for _ in range(s.steps):
        run.advance(1)
        deviations.append(
            float(
                np.median(
                    (run.v - (1.0 - s.gamma) * before) / rng.standard_normal(DIMENSION)
                )
            )
        )
        before = run.v
    return {
        "std_0": deviations[0],
        "least": min(deviations[1:]),
        "largest": max(deviations[1:]),
    }


def _of_dpageem(run: LongRun, s: Any, row: Vector, examples: int) -> dict[str, float]:
    """Return the deviations of a run with gradients 0, from its steps but those at the end of a stage."""
    assert isinstance(run, StagedDescent)
    rng = generator(s.seed, 1)
    w = _iterates(run, s.steps)
    ends = {2 * s.stage_steps, s.steps}
    deviations = []
    for t in range(s.steps):
        units = rng.standard_normal(DIMENSION)
        if t + 1 in ends:
            continue
        old = w[t] if t == 0 or t in ends else w[t - 1]
        etas, rhos = run.parameters.factors(t, t + 1)
        deviations.append(
            float(
                np.median(
                    (w[t] + rhos[0] * (w[t] - old) - w[t + 1]) / (etas[0] * units)
                )
            )
        )
    return {"least": min(deviations), "largest": max(deviations)}


MEASURED = {
    "dp-nsgd": _of_dp_nsgd,
    "sr-nsgd": _of_sr_nsgd,
    "dp-srm": _of_dp_srm,
    "dpageem": _of_dpageem,
}


@cache
def _applied(
    algorithm: str, request: Request, examples: int, factor: float
) -> dict[str, float]:
    """Return the deviations of a run's updates, with its noise times ``factor``; infinite if ``train`` differs."""
    dataset, row = _data(examples, 1.0 if algorithm in TREE_ALGORITHMS else 0.0)
    settings = request.settle(examples)
    problem = problem_of(dataset, settings)
    settings, _ = account(request, settings, dataset, problem)
    settings = msgspec.structs.replace(settings, sigma=settings.sigma * factor)
    run = request.algorithm.start(problem, settings)
    deviations = MEASURED[algorithm](run, settings, row, examples)
    if factor == 1.0 and not np.array_equal(run.w, train(request, dataset=dataset).w):
        return dict.fromkeys(deviations, math.inf)
    return deviations


@cache
def _calibrated(algorithm: str, request: Request, examples: int) -> dict[str, float]:
    """Return the same deviations according to ``calibrate``."""
    assert request.epsilon is not None
    assert request.delta is not None
    settings: Any = request.settle(examples)
    problem = problem_of(_data(examples, 1.0)[0], settings)
    options: dict[str, Any] = {
        "n": examples,
        "epsilon": request.epsilon,
        "delta": request.delta,
    }
    if algorithm in TREE_ALGORITHMS:
        options |= {
            name: getattr(settings, name)
            for name in ("steps", "alpha", "eta", "ordering")
        }
        options |= {
            "lipschitz": problem.lipschitz,
            "smoothness": problem.smoothness,
            "d": DIMENSION,
        }
        options |= {"gamma": settings.gamma} if algorithm == "sr-nsgd" else {}
        trees = calibration(algorithm, **options)
        assert isinstance(trees, Calibration)
        return {name: float(row.exact) for name, row in trees.node_std.items()}
    # the box releases one estimate more than train makes: the last, which no line uses
    if algorithm == "dp-srm":
        options |= {
            "steps": settings.steps - 1,
            "gamma": settings.gamma,
            "zeta": CHANGE_CLIP,
        }
    else:
        options |= {"steps": settings.stage_steps, "stages": STAGES}
    batches = calibration(algorithm, batch=settings.batch, **options)
    assert isinstance(batches, BatchCalibration)
    later = float(batches.noise["exact"].std)
    return {
        "std_0": float(batches.noise["exact"].std_0),
        "least": later,
        "largest": later,
    }


def _deviation_error(algorithm: str, factor: float = 1.0) -> LeftSide:
    """Return the left side: the largest relative difference of an added deviation from the one of ``calibrate``."""

    def lhs(point: Point, statement: Statement) -> Fraction:
        request = _request(algorithm, point)
        examples = int(point["N"])
        applied = _applied(algorithm, request, examples, factor)
        expected = _calibrated(algorithm, request, examples)
        return max(
            Fraction(abs(value / expected[name] - 1.0))
            for name, value in applied.items()
        )

    return lhs


def _runs(algorithm: str) -> Callable[[Budget], Iterator[PointLike]]:
    def points(budget: Budget) -> Iterator[PointLike]:
        sizes = ((4, 11, 2, "1/4"), (6, 40, 3, "1/2"), (30, 90, 30, "1/8"))
        budgets = (("1/4", "1e-3"), ("1", "1e-5"), ("4", "1e-8"))
        draws = {"smoke": 3 if algorithm in TREE_ALGORITHMS else 1, "standard": 8}.get(
            budget.name, 40
        )
        for (N, T, batch, weight), (epsilon, delta), draw in itertools.product(
            sizes, budgets, range(draws)
        ):
            point: PointLike = {
                "N": N,
                "T": T,
                "w": weight,
                "epsilon": epsilon,
                "delta": delta,
                "draw": draw,
            }
            yield point if algorithm in TREE_ALGORITHMS else {**point, "batch": batch}

    return points


for algorithm in MEASURED:
    CHECKS.add(
        RuleCheck(
            f"train-noise-{algorithm}",
            "updates",
            points=_runs(algorithm),
            lhs=_deviation_error(algorithm),
            planted=[
                Planted(
                    "1e-8 less noise",
                    lhs=_deviation_error(algorithm, 1.0 - 1e-8),
                    at_declared_size=True,
                )
            ],
            region="runs of 11 to 90 steps in 12 dimensions, with examples whose gradients are known",
            seconds=0.5,
        )
    )
