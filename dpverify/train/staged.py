"""The methods of zhang2021 as ``train`` runs them: DPageEM and what it is compared with, gradients clipped at 1.

sigma is the noise's deviation over the sensitivity 2/b of a batch's mean, where one example is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpverify.kernels import check
from dpverify.papers.zhang2021.algorithms.dpageem import StagedDescent
from dpverify.papers.zhang2021.algorithms.stages import Stage, StageSchedule, stagewise
from dpverify.problems.regression import Regression, batch_gradient
from dpverify.train.records import NoiseConstants, Request
from dpverify.train.settings import KINDS, Settings
from dpverify.train.srm import CLIP


def schedule(algorithm: str, s: Settings) -> StageSchedule:
    """Give the stages and the noise of a run."""
    kind = KINDS[algorithm]
    if kind.staged:
        stages = stagewise(s.stages, s.stage_steps, s.momentum_steps, s.eta)
    else:
        stages = (Stage(s.steps, s.momentum_steps, s.eta, kind.decay),)
    return StageSchedule(stages, s.batch, s.rho, 2.0 * CLIP / s.batch * s.sigma, s.hand_on)


def staged(algorithm: str, problem: Regression, s: Settings) -> tuple[StagedDescent, NoiseConstants]:
    """Set a method up: the run before its first step, and its noise."""
    numbers = schedule(algorithm, s)
    n = check.whole(1, examples=len(problem.x))
    run = StagedDescent(batch_gradient(problem, CLIP), n, problem.start, numbers, seed=s.seed)
    constants = NoiseConstants(
        lipschitz=problem.lipschitz,
        smoothness=problem.smoothness,
        gap=problem.gap,
        counts={},
        node_std={"gradient": numbers.std},
    )
    return run, constants


def staged_notes(asked: Request, problem: Regression, s: Settings) -> Iterator[str]:
    """Say what a user of zhang2021's methods should know of his settings."""
    if asked.algorithm not in KINDS:
        return
    if asked.steps not in (None, s.steps):
        yield f"{s.steps} of {asked.steps} steps: those of K = {s.stages} stages of 2 T^0, ..., 2^K T^0 steps"
    limit = min((1.0 - s.rho) ** 2 / (2.0 * problem.smoothness), 1.0)
    if KINDS[asked.algorithm].staged and s.eta > limit:
        told = f"eta^0 = {s.eta:.4g} is above min(theta (1 - rho)^2/(2 beta), 1)"
        yield f"{told} = {limit:.4g} at theta = 1, up to which Theorem 3.2 is meant to speak"
