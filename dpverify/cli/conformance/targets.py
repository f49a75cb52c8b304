"""Functions and data sets of users, found by their names."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from dpverify import targets
from dpverify.cli.output import BadInput
from dpverify.foreign import ForeignError, foreign_code
from dpverify.targets import TargetError, load_object

DATASETS = "datasets"


def load_datasets(target: str | None, module: ModuleType) -> object:
    """Find the pair of data sets ``module:name``, or ``datasets`` in the mechanism's own module, if it is there."""
    if target is not None:
        value = load_value("--datasets", target)[0]
    elif not isinstance(getattr(module, DATASETS, module), ModuleType):  # `from sklearn import datasets` is no pair
        target = f"{module.__name__}:{DATASETS}"
        value = getattr(module, DATASETS)
    else:
        return None
    if not callable(value):
        return value
    try:
        with foreign_code("datasets"):
            return value()
    except ForeignError as error:
        raise BadInput("--datasets", target, error.reason) from error


def load_function(option: str, target: str) -> tuple[Callable[..., Any], ModuleType]:
    """Import a function, or refuse the option that names it."""
    try:
        return targets.load_function(target)
    except TargetError as error:
        raise BadInput(option, target, str(error)) from error


def load_value(option: str, target: str) -> tuple[Any, ModuleType]:
    """Import an object, or refuse the option that names it."""
    try:
        return load_object(target)
    except TargetError as error:
        raise BadInput(option, target, str(error)) from error
