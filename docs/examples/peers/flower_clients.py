"""Flower, flwr 1.42.0: a round whose clients clip, with its modifiers; the server adds noise to the mean."""

from functools import partial

import numpy as np
from flower_adaptive import COUNT_NOISE, DOCUMENTED
from flower_strategy import CLIENTS, CLIP, PROMISE, SIGMA, model, reply
from flwr.app import ConfigRecord, Message, Metadata, RecordDict
from flwr.clientapp.mod import adaptiveclipping_mod, fixedclipping_mod
from flwr.serverapp.strategy import DifferentialPrivacyClientSideAdaptiveClipping as Adaptive
from flwr.serverapp.strategy import DifferentialPrivacyClientSideFixedClipping as Fixed
from flwr.serverapp.strategy import FedAvg
from flwr.supercore.differential_privacy import KEY_CLIPPING_NORM

from dpverify.conform import PrivateOptimizer, Promise, Release, Statistic

FINDINGS = {"make_adaptive": ("privacy", DOCUMENTED)}


def round_of_clients(strategy, modifier, updates):
    """Return the change of the model in a round; the server sends its clip norm, as the strategy does."""
    config = ConfigRecord({KEY_CLIPPING_NORM: strategy.clipping_norm})
    content = RecordDict({"arrays": model(updates.shape[1]), "config": config})
    request = Message(content, metadata=Metadata(1, "", 0, 1, "", "", 0.0, 60.0, "train"))
    replies = [modifier(request, None, lambda *_, update=update: reply(np.array(update), 1)) for update in updates]
    return strategy.aggregate_train(1, replies)[0]["w"].numpy()


def adaptive_step(length, updates, rng):
    """Release the change of the model, the clip norm of the round, and the noised count that the next norm shows."""
    strategy = Adaptive(FedAvg(), SIGMA, CLIENTS, initial_clipping_norm=length, clipped_count_stddev=COUNT_NOISE)
    change = round_of_clients(strategy, adaptiveclipping_mod, updates)
    share = strategy.target_clipped_quantile - np.log(strategy.clipping_norm / length) / strategy.clip_norm_lr
    return strategy.clipping_norm, Release(change, clip_length=length, statistic=share * CLIENTS)


def make():
    """Flower, client-side fixed clipping, clients with equal numbers of examples, no update of 0, float64."""

    def build(clip):
        strategy = Fixed(FedAvg(), SIGMA, clip, CLIENTS)
        change = partial(round_of_clients, strategy, fixedclipping_mod)
        return PrivateOptimizer(lambda state, updates, rng: (state, change(updates)))

    return PrivateOptimizer(build(CLIP).step, at_clip=build), Promise(sigma=SIGMA, **PROMISE)


def make_adaptive():
    """Flower, client-side adaptive clipping, clients with equal numbers of examples, no update of 0, float64."""
    sigma = Adaptive(FedAvg(), SIGMA, CLIENTS, clipped_count_stddev=COUNT_NOISE).noise_multiplier
    count = Statistic(sensitivity=1.0, deviation=COUNT_NOISE)
    promise = Promise(sigma=sigma, adaptive_clip=True, statistic=count, **PROMISE)
    return PrivateOptimizer(adaptive_step, start=lambda: CLIP), promise
