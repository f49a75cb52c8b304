"""The optimizer of a run: an algorithm of one of three papers, its noise, and what that noise guarantees."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from dpverify.papers.tran2022.accounting.noise import SR_NODES, AccountedRun, epsilon_for, sigma_for, unit_noise
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters
from dpverify.papers.tran2022.algorithms.dp_nsgd.sparse import SparseDpNsgd
from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd
from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.sr_nsgd.scales import printed_scales
from dpverify.papers.tran2022.algorithms.sr_nsgd.sparse import SparseSrNsgd
from dpverify.papers.tran2022.algorithms.tree_noise.scale import printed_v
from dpverify.problems.data import Dataset
from dpverify.problems.regression import Regression
from dpverify.problems.sparse.logistic import SparseLogistic
from dpverify.problems.stepped_run import LongRun
from dpverify.train.ddp import check_batch, ddp_epsilon, even_split, with_inside_sigma
from dpverify.train.records import NOT_CERTIFIED, NoiseConstants, Request
from dpverify.train.settings import STAGED, Settings
from dpverify.train.srm import srm, with_sigma
from dpverify.train.staged import staged


def optimizer(algorithm: str, problem: Regression, s: Settings) -> tuple[LongRun, NoiseConstants]:
    """Set an optimizer up: the run before its first step, and its constants with the noise as the boxes print it."""
    if algorithm == "dp-srm":
        return srm(problem, s)
    if algorithm in STAGED:
        return staged(algorithm, problem, s)
    shared = {name: getattr(s, name) for name in ("steps", "alpha", "eta", "sigma", "ordering")}
    shared["lipschitz"] = problem.lipschitz
    run: DpNsgd | SparseDpNsgd | SrNsgd | SparseSrNsgd
    if algorithm == "dp-nsgd":
        parameters = Parameters(**shared, depth=s.depth)
        if isinstance(problem, SparseLogistic):
            run = SparseDpNsgd(problem, parameters, seed=s.seed)
        else:
            run = DpNsgd(problem.example_gradient, problem.x, problem.y, problem.start, parameters, seed=s.seed)
        counts, node_std = {"V": float(printed_v(len(problem.x), s.steps, s.depth))}, {"f": run.node_deviation}
    else:
        scales = printed_scales(len(problem.x), s.steps, eta=s.eta, lipschitz=problem.lipschitz)
        numbers = SrParameters(**shared, gamma=s.gamma, scales=scales)
        if isinstance(problem, SparseLogistic):
            run = SparseSrNsgd(problem, numbers, seed=s.seed)
        else:
            run = SrNsgd(problem.example_gradient, problem.x, problem.y, problem.start, numbers, seed=s.seed)
        counts = {"V_<=2N": scales.v_first, "V_>2N": scales.v_later}
        node_std = dict(zip(SR_NODES, run.deviations.tolist(), strict=True))
    return run, NoiseConstants(
        lipschitz=problem.lipschitz,
        smoothness=problem.smoothness,
        gap=problem.gap,
        counts=counts,
        node_std=node_std,
    )


@dataclass(frozen=True)
class Guarantee:
    """A guarantee, or the reason why there is none."""

    words: str  # what is certified, or ``not certified`` and why
    epsilon: float | None = None  # the guarantee, if there is one
    delta: float | None = None


def account(request: Request, settings: Settings, dataset: Dataset, problem: Regression) -> tuple[Settings, Guarantee]:
    """Choose sigma where a privacy budget is asked for, and say what the accountant's upper bound guarantees."""
    if request.delta is None:
        return settings, Guarantee(f"{NOT_CERTIFIED}: give epsilon and delta, or delta with sigma")
    if settings.sigma == 0.0:
        return settings, Guarantee(f"{NOT_CERTIFIED}: there is no noise")
    if request.algorithm == "ddp-srm":
        holds = even_split(len(problem.x), settings.parties)
        check_batch(settings, holds)
        if request.epsilon is not None and settings.noise != "shares":
            asked = (problem.x.shape[1], request.epsilon, request.delta)
            settings = with_inside_sigma(settings, settings.noise, holds, *asked)
        elif request.epsilon is not None:  # that of the party whose examples are drawn most often
            settings, _ = with_sigma(settings, len(holds) * min(holds), request.epsilon, request.delta)
        epsilon = ddp_epsilon(settings, holds, problem.x.shape[1], request.delta)
        against = f"against any {(settings.parties - 1) // 2} of the parties, certified in real arithmetic"
        return settings, guarantee(epsilon, request.delta, dataset, against)
    if request.algorithm == "dp-srm" or request.algorithm in STAGED:
        settings, epsilon = with_sigma(settings, len(problem.x), request.epsilon, request.delta)
        return settings, guarantee(epsilon, request.delta, dataset, "certified by the accountant in real arithmetic")
    shared = {name: getattr(settings, name) for name in ("steps", "alpha", "gamma", "eta", "ordering")}
    bounds = {name: getattr(problem, name) for name in ("lipschitz", "smoothness")}
    setting = AccountedRun(examples=len(problem.x), **shared, **bounds)
    noise = unit_noise(request.algorithm, setting)
    if request.epsilon is not None:
        settings = msgspec.structs.replace(settings, sigma=sigma_for(noise, request.epsilon, request.delta))
    epsilon = request.epsilon if request.epsilon is not None else epsilon_for(noise, settings.sigma, request.delta)
    if settings.scale == "none" and not dataset.standardised:
        told = f"epsilon = {epsilon:.6g}, delta = {request.delta:.6g}"
        return settings, Guarantee(f"{NOT_CERTIFIED}: {told} would hold if G were known without looking at the data")
    return settings, guarantee(epsilon, request.delta, dataset, "certified by the accountant in real arithmetic")


def guarantee(epsilon: float, delta: float, dataset: Dataset, how: str) -> Guarantee:
    """Say what the noise gives, and ``how`` that is known; nothing is certified where the columns were standardised."""
    told = f"epsilon = {epsilon:.6g}, delta = {delta:.6g}"
    if dataset.standardised:
        return Guarantee(f"{NOT_CERTIFIED}: {told} would hold had the columns not been standardised")
    if not math.isfinite(epsilon):
        return Guarantee(f"{NOT_CERTIFIED}: this sigma buys no epsilon at delta = {delta:.6g}")
    return Guarantee(f"{told}, for replacing one example, {how}", epsilon, delta)
