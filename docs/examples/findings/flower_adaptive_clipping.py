"""Flower's adaptive clipping: the noise is scaled to the next clip norm, which moves away from its target."""

import logging
import math
from importlib.metadata import version

import numpy as np
from flwr.app import Array, ArrayRecord, Message, Metadata, MetricRecord, RecordDict
from flwr.serverapp.strategy import DifferentialPrivacyServerSideAdaptiveClipping, FedAvg

logging.disable(logging.CRITICAL)
np.random.seed(0)
CLIENTS, DIMENSION, CLIP, ROUNDS = 50, 200_000, 0.7, 20


def reply(update):
    content = {"arrays": ArrayRecord({"w": Array(update)}), "metrics": MetricRecord({"num-examples": 1})}
    return Message(RecordDict(content), metadata=Metadata(1, "", 1, 0, "", "", 0.0, 60.0, "train"))


def norms_and_noise(length, rounds):
    """Return the multiplier, the clip norms of all rounds, and the noise of the first round over its clip norm."""
    strategy = DifferentialPrivacyServerSideAdaptiveClipping(FedAvg(), 1.0, CLIENTS, initial_clipping_norm=CLIP)
    strategy.current_arrays = ArrayRecord({"w": Array(np.zeros(DIMENSION))})
    update, norms, noise = np.eye(1, DIMENSION)[0] * length, [CLIP], math.nan
    for number in range(rounds):
        released, _ = strategy.aggregate_train(number, [reply(update) for _ in range(CLIENTS)])
        noise = noise if number else released["w"].numpy()[1:].std() * CLIENTS / CLIP
        norms.append(strategy.clipping_norm)
    return strategy.noise_multiplier, norms, noise


print("flwr", version("flwr"))
multiplier, norms, noise = norms_and_noise(length=100.0, rounds=ROUNDS)
print(f"noise multiplier of round 1: {noise:.4f}, promised {multiplier:.4f}, ratio {noise / multiplier:.4f}")
print(f"all updates are clipped, target 0.5: the clip norm goes from {norms[0]} to {norms[-1]:.4f} (should rise)")
_, grown, _ = norms_and_noise(length=0.001, rounds=ROUNDS)
print(f"no update is clipped, target 0.5: the clip norm goes from {grown[0]} to {grown[-1]:.4f} (should fall)")
raise SystemExit(0 if noise < 0.97 * multiplier and norms[-1] < CLIP < grown[-1] else "not shown by this version")
