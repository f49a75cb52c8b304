"""Training on real data: private optimizers of three papers on nonconvex-regularized logistic regression.

Names load their modules on first use, so that a party starts without loading accounting and reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.train.command import run_party_command, run_train
    from dpverify.train.records import Request, TrainResult
    from dpverify.train.run import train

_HOMES = {
    "command": "run_party_command run_train",
    "records": "Request TrainResult",
    "run": "train",
}

__all__ = ["Request", "TrainResult", "run_party_command", "run_train", "train"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
