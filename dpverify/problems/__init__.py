"""Losses with certified constants, data sets, and neighbouring data sets; each name loads its module on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpverify.problems.base import Problem, replace_one
    from dpverify.problems.batch_gradient import BatchGradient
    from dpverify.problems.data import Dataset, load_dataset
    from dpverify.problems.logistic import LogisticRegression

_HOME = {
    "BatchGradient": "batch_gradient",
    "Dataset": "data",
    "LogisticRegression": "logistic",
    "Problem": "base",
    "load_dataset": "data",
    "replace_one": "base",
}

__all__ = ["BatchGradient", "Dataset", "LogisticRegression", "Problem", "load_dataset", "replace_one"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
