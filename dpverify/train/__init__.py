"""Training on real data: DP-NSGD on nonconvex-regularized logistic regression, alone or beside other methods."""

from dpverify.train.command import run_train
from dpverify.train.compare_command import run_compare
from dpverify.train.compare_request import CompareRequest
from dpverify.train.compare_result import CompareResult
from dpverify.train.compare_run import compare
from dpverify.train.request import Request
from dpverify.train.result import TrainResult
from dpverify.train.run import train

__all__ = ["CompareRequest", "CompareResult", "Request", "TrainResult", "compare", "run_compare", "run_train", "train"]
