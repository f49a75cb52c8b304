"""Functions and data sets of users, found by their names."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from dpverify.cli.output import BadInput
from dpverify.foreign import ForeignError, foreign_code

DATASETS = "datasets"

_FILES: dict[str, ModuleType] = {}  # run once, also when mechanism and data sets stand in one file


def load_function(option: str, target: str) -> tuple[Callable[..., Any], ModuleType]:
    """Import ``module:function``, dots allowed on both sides, or ``file.py:function``; the current folder counts."""
    value, module = _load(option, target)
    if not callable(value):
        raise BadInput(option, target, f"must be a function, is {type(value).__name__}")
    return value, module


def load_datasets(target: str | None, module: ModuleType) -> object:
    """Find the pair of data sets ``module:name``, or ``datasets`` in the mechanism's own module, if it is there."""
    if target is not None:
        value = _load("--datasets", target)[0]
    elif not isinstance(getattr(module, DATASETS, module), ModuleType):  # `from sklearn import datasets` is no pair
        target, value = f"{module.__name__}:{DATASETS}", getattr(module, DATASETS)
    else:
        return None
    if not callable(value):
        return value
    try:
        with foreign_code("datasets"):
            return value()
    except ForeignError as error:
        raise BadInput("--datasets", target, error.reason) from error


def _load(option: str, target: str) -> tuple[Any, ModuleType]:
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise BadInput(option, target, "must be module:function, or file.py:function")
    try:
        with foreign_code(place):
            module = _module(place)
    except ForeignError as error:
        reason = error.reason.removeprefix("raised ")
        raise BadInput(option, target, f"{place} cannot be imported: {reason}") from error
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise BadInput(option, target, f"{place} has no {name!r}{_near(part, value)}")
        value = getattr(value, part)
    return value, module


def _module(place: str) -> ModuleType:
    path = Path(place).resolve() if place.endswith(".py") else None
    folder = str(Path.cwd() if path is None else path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # what the user's module imports stands beside it, as with python -m
    importlib.invalidate_caches()
    if path is None:
        return importlib.import_module(place)
    if not path.is_file():
        raise FileNotFoundError("there is no such file")
    if str(path) in _FILES:
        return _FILES[str(path)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _FILES[str(path)] = module
    return module


def _near(word: str, value: object) -> str:
    from dpverify.ledger.errors import suggest

    return suggest(word, [name for name in dir(value) if not name.startswith("_")])
