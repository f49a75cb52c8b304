"""Losses for more than two classes, with certified constants; each name loads its module on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.problems.softmax.loss import SoftmaxRegression
    from dpverify.problems.softmax.regression import Regression, batch_gradient, predicted, regression_problem

__all__ = ["Regression", "SoftmaxRegression", "batch_gradient", "predicted", "regression_problem"]

_HOMES = {"loss": "SoftmaxRegression", "regression": "Regression batch_gradient predicted regression_problem"}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
