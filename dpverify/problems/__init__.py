"""Losses with certified constants, data sets, and neighbouring data sets. Names load their modules on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.problems.base import Problem, replace_one
    from dpverify.problems.data import Dataset, dataset_of, load_dataset
    from dpverify.problems.example_gradients import ExampleGradients
    from dpverify.problems.logistic import (
        BatchGradient,
        LogisticRegression,
        RecursiveGradient,
    )
    from dpverify.problems.nonconvex_losses import RegionConstants, Waves
    from dpverify.problems.sampled_run import DescentParameters, NoisyDescent
    from dpverify.problems.softmax_regression import SoftmaxRegression
    from dpverify.problems.sparse.logistic import SparseLogistic
    from dpverify.problems.sparse.rows import CsrRows

_HOMES = {
    "base": "Problem replace_one",
    "logistic": "BatchGradient RecursiveGradient LogisticRegression",
    "data": "Dataset dataset_of load_dataset",
    "example_gradients": "ExampleGradients",
    "sampled_run": "DescentParameters NoisyDescent",
    "softmax_regression": "SoftmaxRegression",
    "sparse.logistic": "SparseLogistic",
    "sparse.rows": "CsrRows",
    "nonconvex_losses": "RegionConstants Waves",
}

__all__ = [
    "BatchGradient",
    "CsrRows",
    "Dataset",
    "DescentParameters",
    "ExampleGradients",
    "LogisticRegression",
    "NoisyDescent",
    "Problem",
    "RecursiveGradient",
    "RegionConstants",
    "SoftmaxRegression",
    "SparseLogistic",
    "Waves",
    "dataset_of",
    "load_dataset",
    "replace_one",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
