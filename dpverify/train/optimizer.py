"""The optimizer of a run: Algorithm 1 or 2 of tran2022 on a problem, and the noise that it puts on its nodes."""

from __future__ import annotations

from dpverify.papers.tran2022.accounting.noise import SR_NODES
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import printed_scales
from dpverify.papers.tran2022.algorithms.tree_noise.scale import printed_v
from dpverify.problems.logistic import LogisticRegression
from dpverify.problems.stepped_run import SteppedRun
from dpverify.train.result import NoiseConstants, Settings

Noisy = tuple[SteppedRun, dict[str, float], dict[str, float]]
"""A run, its counts of nodes, and the deviation of the noise of each kind of node."""


def optimizer(algorithm: str, problem: LogisticRegression, settings: Settings) -> tuple[SteppedRun, NoiseConstants]:
    """Set an optimizer up: the run before its first step, and its constants with the noise as the boxes print it."""
    run, counts, node_std = (_dp_nsgd if algorithm == "dp-nsgd" else _sr_nsgd)(problem, settings)
    return run, NoiseConstants(
        lipschitz=problem.lipschitz,
        smoothness=problem.smoothness,
        gap=problem.gap,
        counts=counts,
        node_std=node_std,
    )


def _dp_nsgd(problem: LogisticRegression, s: Settings) -> Noisy:
    parameters = Parameters(
        steps=s.steps,
        alpha=s.alpha,
        eta=s.eta,
        sigma=s.sigma,
        lipschitz=problem.lipschitz,
        ordering=s.ordering,
        depth=s.depth,
    )
    run = DpNsgd(problem.example_gradient, problem.x, problem.y, problem.start, parameters, seed=s.seed)
    v = float(printed_v(len(problem.x), s.steps, s.depth))
    return run, {"V": v}, {"f": run.node_deviation}


def _sr_nsgd(problem: LogisticRegression, s: Settings) -> Noisy:
    scales = printed_scales(len(problem.x), s.steps, eta=s.eta, lipschitz=problem.lipschitz)
    parameters = SrParameters(
        steps=s.steps,
        alpha=s.alpha,
        gamma=s.gamma,
        eta=s.eta,
        sigma=s.sigma,
        lipschitz=problem.lipschitz,
        ordering=s.ordering,
        scales=scales,
    )
    run = SrNsgd(problem.example_gradient, problem.x, problem.y, problem.start, parameters, seed=s.seed)
    counts = {"V_<=2N": scales.v_first, "V_>2N": scales.v_later}
    return run, counts, dict(zip(SR_NODES, run.deviations.tolist(), strict=True))
