"""Training on real data: private optimizers of three papers on nonconvex-regularized logistic regression."""

from dpverify.train.command import run_party_command, run_train
from dpverify.train.records import Request, TrainResult
from dpverify.train.run import train

__all__ = ["Request", "TrainResult", "run_party_command", "run_train", "train"]
