"""What ``dpverify audit`` is asked to audit: a function of the user's, or a kernel of ours."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from dpverify.cli.exits import BadInput
from dpverify.privacy.audit.records import AuditError, Law

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
        return value()
    except Exception as error:
        raise BadInput("--datasets", target, f"raised {_line(error)}") from error


def _load(option: str, target: str) -> tuple[Any, ModuleType]:
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise BadInput(option, target, "must be module:function, or file.py:function")
    try:
        module = _module(place)
    except (Exception, SystemExit) as error:
        raise BadInput(option, target, f"{place} cannot be imported: {_line(error)}") from error
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


def _line(error: BaseException) -> str:
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


KERNELS = ("dp-nsgd", "sr-nsgd")


class AuditTarget(NamedTuple):
    """A mechanism with all that belongs to it."""

    mechanism: Callable[..., Any]  # as ``audit`` takes them
    datasets: object
    score: Callable[..., Any] | None = None
    law: Law = "any"  # the law, unless the user says otherwise
    epsilon: float | None = None  # the claim, unless the user makes one
    remarks: tuple[str, ...] = ()  # what the reader of the result should know


def find(mechanism: str, datasets: str | None, score: str | None, delta: float) -> AuditTarget:
    """Find what the user named."""
    scorer = None if score is None else load_function("--score", score)[0]
    if mechanism not in KERNELS:
        function, module = load_function("MECHANISM", mechanism)
        return AuditTarget(function, load_datasets(datasets, module), scorer)
    if datasets is not None:
        raise BadInput("--datasets", datasets, f"{mechanism} brings its own")
    from dpverify.papers.tran2022.accounting.audit_kernels import describe, kernel_mechanism
    from dpverify.privacy.gaussian import epsilon_of

    if not 0.0 <= delta < 1.0:
        raise AuditError(f"delta: {delta}: must be at least 0 and below 1")
    kernel = kernel_mechanism(mechanism)
    certified = epsilon_of(kernel.mu.upper, delta)
    remark = f"{describe(mechanism)}; the accountant says epsilon <= {certified:.4g} (mu <= {kernel.mu.upper:.4g})"
    claim = certified if math.isfinite(certified) else None
    return AuditTarget(kernel.mechanism, kernel.datasets, scorer, "gaussian", claim, (remark,))
