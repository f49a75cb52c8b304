"""Flower, flwr 1.42.0: a round of its strategies that clip the updates of clients and add noise to their mean."""

import logging

import numpy as np
from flwr.app import Array, ArrayRecord, Message, Metadata, MetricRecord, RecordDict
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping as Fixed
from flwr.serverapp.strategy import FedAvg

from dpverify.conform import PrivateOptimizer, Promise

logging.disable(logging.CRITICAL)
CLIP, SIGMA, CLIENTS = 0.7, 1.1, 4
PROMISE = {"clip": CLIP, "divisor": CLIENTS, "sampling": "batches", "examples": 52, "batch": CLIENTS}
PROMISE |= {"neighbours": "replace-one", "dimension": 32, "steps": 3}  # a round takes 2 ms, whatever its dimension
FINDINGS = {"make_weighted": ("privacy", "with an accountant unequal weights are refused; nothing without one")}


def reply(update, examples):
    """Return the message of a client. Flower divides by the length of an update, so 0 is replaced by 1e-9."""
    update = update if update.any() else np.full(len(update), 1e-9)
    content = {"arrays": ArrayRecord({"w": Array(update)}), "metrics": MetricRecord({"num-examples": examples})}
    return Message(RecordDict(content), metadata=Metadata(1, "", 1, 0, "", "", 0.0, 60.0, "train"))


def model(dimension):
    """Return the model that a round starts from."""
    return ArrayRecord({"w": Array(np.zeros(dimension))})


def round_of(strategy, updates, first=1):
    """Return the change of the model in a round; the first client has so many examples, the others have 1."""
    strategy.current_arrays = model(updates.shape[1])
    replies = [reply(np.array(update), 1 if number else first) for number, update in enumerate(updates)]
    return strategy.aggregate_train(1, replies)[0]["w"].numpy()


def fixed(first):
    """Return the strategy with a fixed clip norm and its promise."""

    def build(clip):
        strategy = Fixed(FedAvg(), SIGMA, clip, CLIENTS)
        return PrivateOptimizer(lambda state, updates, rng: (state, round_of(strategy, updates, first)))

    return PrivateOptimizer(build(CLIP).step, at_clip=build), Promise(sigma=SIGMA, **PROMISE)


def make_fixed():
    """Flower, server-side fixed clipping, clients with equal numbers of examples, no update of 0, float64."""
    return fixed(1)


def make_weighted():
    """Flower, server-side fixed clipping, one client has 10 times as many examples as the others, float64."""
    return fixed(10)
