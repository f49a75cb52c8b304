"""Flower: a client whose model does not change makes the clipping of the whole round fail."""

import logging
from importlib.metadata import version

import numpy as np
from flwr.app import Array, ArrayRecord, Message, Metadata, MetricRecord, RecordDict
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg

logging.disable(logging.CRITICAL)


def reply(length):
    arrays = ArrayRecord({"w": Array(np.full(4, length))})
    metrics = MetricRecord({"num-examples": 1})
    content = RecordDict({"arrays": arrays, "metrics": metrics})
    return Message(content, metadata=Metadata(1, "", 1, 0, "", "", 0.0, 60.0, "train"))


def outcome(lengths):
    """Return the outcome of a round of clients with updates of these values."""
    strategy = DifferentialPrivacyServerSideFixedClipping(FedAvg(), 1.1, 0.7, len(lengths))
    strategy.current_arrays = ArrayRecord({"w": Array(np.zeros(4))})
    try:
        strategy.aggregate_train(1, [reply(length) for length in lengths])
    except ZeroDivisionError as error:
        return f"ZeroDivisionError: {error}"
    return "a noisy model"


print("flwr", version("flwr"))
print("updates 0.1 and 0.2:", outcome([0.1, 0.2]))
print("updates 0.1 and 0.0:", failed := outcome([0.1, 0.0]))
raise SystemExit(0 if failed.startswith("ZeroDivisionError") else "not shown by this version")
