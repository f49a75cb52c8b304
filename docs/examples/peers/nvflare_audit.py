"""NVIDIA FLARE, nvflare 2.9.0: two of its privacy filters for the update of a client, for `dpverify audit`."""

import logging

import numpy as np
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy
from nvflare.app_common.filters.svt_privacy import SVTPrivacy

logging.disable(logging.CRITICAL)
GAMMA = 0.7
datasets = (np.zeros(4), np.array([GAMMA, 0.0, 0.0, 0.0]))  # one weight differs by gamma, the least that is promised

FINDINGS = {"percentile": ("documented", "a privacy-preserving policy; no epsilon is promised")}


def filtered(privacy, update):
    """Return what a client sends for an update of its weights."""
    data = DXO(DataKind.WEIGHT_DIFF, data={"w": update.copy()})
    return privacy.process_dxo(data, Shareable(), FLContext()).data["w"]


def svt(update, rng):
    """NVIDIA FLARE, SVTPrivacy: half of epsilon = 1 for the selection, half for the release, one weight differs."""
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002  the filter draws from this generator
    return filtered(SVTPrivacy(0.5, epsilon=0.5, epsilon_release=0.5, gamma=GAMMA, tau=0.1, replace=False), update)


def percentile(update, rng):
    """NVIDIA FLARE, PercentilePrivacy: large weights only, truncated, without noise."""
    return filtered(PercentilePrivacy(10, GAMMA), update)
