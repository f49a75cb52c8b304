"""Flower's fixed clipping: clients are weighted by their numbers of examples, but the noise assumes equal weights."""

import logging
from importlib.metadata import version

import numpy as np
from flwr.app import Array, ArrayRecord, Message, Metadata, MetricRecord, RecordDict
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

logging.disable(logging.CRITICAL)
np.random.seed(0)
CLIENTS, DIMENSION, CLIP, MULTIPLIER = 20, 200_000, 0.7, 1.1


def reply(length, examples):
    arrays = ArrayRecord({"w": Array(np.eye(1, DIMENSION)[0] * length)})
    metrics = MetricRecord({"num-examples": examples})
    content = RecordDict({"arrays": arrays, "metrics": metrics})
    return Message(content, metadata=Metadata(1, "", 1, 0, "", "", 0.0, 60.0, "train"))


def released(length, multiplier, examples):
    """Return the released model of a round in which only the first client, with ``examples`` examples, changes it."""
    strategy = DifferentialPrivacyServerSideFixedClipping(FedAvg(), multiplier, CLIP, CLIENTS)
    strategy.current_arrays = ArrayRecord({"w": Array(np.zeros(DIMENSION))})
    replies = [reply(length, examples), *(reply(1e-9, 100) for _ in range(CLIENTS - 1))]
    return strategy.aggregate_train(1, replies)[0]["w"].numpy()


print("flwr", version("flwr"))
deviation = released(1e-9, MULTIPLIER, 100).std()
print(f"deviation of the noise: {deviation:.5f}; divided by the promised multiplier: {deviation / MULTIPLIER:.5f}")
changes = []
for examples in (100, 1000, 10_000):
    change = np.linalg.norm(released(100.0, 0.0, examples))
    changes.append(change)
    print(f"a client with {examples} examples, others 100, changes {change:.5f}: multiplier {deviation / change:.4f}")
raise SystemExit(0 if deviation / changes[1] < MULTIPLIER / 2 else "not shown by this version")
