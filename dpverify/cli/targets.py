"""Load the mechanisms, optimizers, trainings and data sets that arguments of ``audit`` and ``conform`` name."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpverify import targets
from dpverify.cli.output import BadInput, refused
from dpverify.foreign import ForeignError, foreign_code
from dpverify.targets import TargetError, load_object

if TYPE_CHECKING:
    from dpverify.algorithms.algorithm import Algorithm
    from dpverify.algorithms.audited import AuditTarget
    from dpverify.conform.training.runs import Training


DATASETS = "datasets"


def load_datasets(target: str | None, module: ModuleType) -> object:
    """Return the pair of data sets ``module:name``, by default ``datasets`` of the mechanism's module, or None."""
    if target is not None:
        value = load_value("--datasets", target)[0]
    elif not isinstance(
        getattr(module, DATASETS, module), ModuleType
    ):  # excludes `from sklearn import datasets`
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
    """Import a function and return it with its module; raise BadInput for the option if this fails."""
    try:
        return targets.load_function(target)
    except TargetError as error:
        raise BadInput(option, target, str(error)) from error


def load_value(option: str, target: str) -> tuple[Any, ModuleType]:
    """Import an object and return it with its module; raise BadInput for the option if this fails."""
    try:
        return load_object(target)
    except TargetError as error:
        raise BadInput(option, target, str(error)) from error


def cache_key(mechanism: str, datasets: str | None, target: AuditTarget) -> str | None:
    """Return a cache key: the mechanism's name and a digest of the data sets and of the Python files in its folder."""
    try:
        with foreign_code("datasets"):
            digest = hashlib.sha256(pickle.dumps(target.datasets))
            home = (
                Path(inspect.getfile(inspect.unwrap(target.mechanism))).parent
                if ":" in mechanism
                else None
            )
    except ForeignError:  # without a digest, results are not stored
        return None
    for path in sorted(home.glob("*.py") if home else ()):
        digest.update(path.name.encode() + path.read_bytes())
    return f"{mechanism} {datasets} {digest.hexdigest()}"


def load_targets(mechanism: str, datasets: str | None, delta: float) -> tuple[Any, Any]:
    """Return the mechanism and the data sets; called in other processes."""
    from dpverify.privacy.audit.audit import default_datasets

    target = find(mechanism, datasets, None, delta)
    return (
        target.mechanism,
        default_datasets() if target.datasets is None else target.datasets,
    )


def find(
    mechanism: str, datasets: str | None, score: str | None, delta: float
) -> AuditTarget:
    """Load the target that the user named."""
    from dpverify.algorithms.audited import AuditTarget

    scorer = None if score is None else load_function("--score", score)[0]
    algorithm = algorithm_of(mechanism)
    if algorithm is None:
        function, module = load_function("MECHANISM", mechanism)
        return AuditTarget(function, load_datasets(datasets, module), scorer)
    if datasets is not None:
        raise BadInput("--datasets", datasets, f"{mechanism} brings its own")
    from dpverify.privacy.audit.records import AuditError

    if not 0.0 <= delta < 1.0:
        raise AuditError(f"delta: {delta}: must be at least 0 and below 1")
    with refused():
        target: AuditTarget = algorithm.audit_target(delta)
    return target if scorer is None else target._replace(score=scorer)


def algorithm_of(mechanism: str) -> Algorithm[Any] | None:
    """Return the algorithm that the user named, or None if it is another mechanism."""
    from dpverify.algorithms.algorithm import Algorithm
    from dpverify.algorithms.registry import ALGORITHMS

    if ":" not in mechanism:
        return ALGORITHMS.get(mechanism)
    value = load_value("MECHANISM", mechanism)[0]
    return value if isinstance(value, Algorithm) else None


def load_training(target: str, device: str | None) -> Training:
    """Import and return a training; each rank calls this."""
    return with_device(target, load_function("TARGET", target)[0], device)


def with_device(
    target: str, function: Callable[..., Any], device: str | None
) -> Callable[..., Any]:
    """Bind the device to a target; raise BadInput if the target has no parameter for it."""
    if device is None:
        return function
    try:
        parameters = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # compiled functions have no signature
        parameters = set()
    if "device" not in parameters:
        raise BadInput("TARGET", target, "must have a parameter 'device' for --device")
    return partial(function, device=device)


def algorithm_or_value(target: str) -> tuple[Any, ModuleType]:
    """Return a bundled algorithm or the user's object, and its module."""
    if ":" not in target:
        from dpverify.algorithms.registry import ALGORITHMS

        if target in ALGORITHMS:
            return ALGORITHMS[target], sys.modules[type(ALGORITHMS[target]).__module__]
    return load_value("TARGET", target)
