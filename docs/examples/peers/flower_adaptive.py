"""Flower, flwr 1.42.0: a round of its strategy whose clip norm follows the updates of the clients."""

import numpy as np
from flower_strategy import CLIENTS, CLIP, PROMISE, SIGMA, round_of
from flwr.serverapp.strategy import DifferentialPrivacyServerSideAdaptiveClipping as Adaptive
from flwr.serverapp.strategy import FedAvg

from dpverify.conform import PrivateOptimizer, Promise, Release, Statistic

COUNT_NOISE = 5.0
DOCUMENTED = (
    "nothing about the order of the clip norm's update and the noise, which is too small where updates are clipped"
)
FINDINGS = {"make": ("privacy", DOCUMENTED)}


def adaptive_step(length, updates, rng):
    """Release the change of the model, the clip norm of the round, and the noised count that the next norm shows."""
    strategy = Adaptive(FedAvg(), SIGMA, CLIENTS, initial_clipping_norm=length, clipped_count_stddev=COUNT_NOISE)
    change = round_of(strategy, updates)
    share = strategy.target_clipped_quantile - np.log(strategy.clipping_norm / length) / strategy.clip_norm_lr
    return strategy.clipping_norm, Release(change, clip_length=length, statistic=share * CLIENTS)


def make():
    """Flower, server-side adaptive clipping, clients with equal numbers of examples, no update of 0, float64."""
    sigma = Adaptive(FedAvg(), SIGMA, CLIENTS, clipped_count_stddev=COUNT_NOISE).noise_multiplier
    count = Statistic(sensitivity=1.0, deviation=COUNT_NOISE)
    return PrivateOptimizer(adaptive_step, start=lambda: CLIP), Promise(
        sigma=sigma, adaptive_clip=True, statistic=count, **PROMISE
    )
