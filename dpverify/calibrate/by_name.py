"""Calibrate any of the bundled optimizers, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dpverify.algorithms.registry import ALGORITHMS, algorithm_named
from dpverify.algorithms.settings import options
from dpverify.calibrate.batches import BatchCalibration
from dpverify.calibrate.growing import GrowingCalibration
from dpverify.calibrate.of_settings import SettingsCalibration
from dpverify.calibrate.records import Calibration, CalibrationRequest
from dpverify.kernels import check

Answer: TypeAlias = Calibration | BatchCalibration | GrowingCalibration | SettingsCalibration


def calibration(algorithm: str | None = None, **run: Any) -> Answer:
    """Find the noise that gives (epsilon, delta) to a bundled optimizer: as printed, as proved, as certified.

    Parameters
    ----------
    algorithm : str
        Name of an optimizer in :data:`dpverify.algorithms.ALGORITHMS`, or ``file.py:NAME`` for one of your own; by
        default the first one.
    **run
        ``n``, ``epsilon`` and ``delta``, and what else the run has: the options of ``dpverify calibrate``.

    Returns
    -------
    Calibration, BatchCalibration, GrowingCalibration or SettingsCalibration
        Of Algorithms 1 and 2, ``sigma.exact`` is the certified noise and ``epsilon_bounds`` has both ends of epsilon
        there; of methods on batches, ``noise["exact"]``; of DP-AGD, the budgets; of other algorithms ``sigma``.

    Raises
    ------
    ValueError
        If an argument is missing, does not belong to the algorithm, or is out of its range.

    Examples
    --------
    >>> import dpverify as dv
    >>> found = dv.calibration("dp-nsgd", n=1000, d=10, epochs=1, epsilon=1.0, delta=1e-6)
    >>> found.epsilon_bounds[0] <= found.epsilon_bounds[1] <= 1.0
    True
    """
    answer: Answer = request_for(algorithm, run).answer()  # type: ignore[assignment]  # each class has one of these
    return answer


def request_for(algorithm: str | None, run: Mapping[str, Any]) -> CalibrationRequest:
    """Take the arguments of a run; an ArgumentError names all that are missing, or one that does not belong to it."""
    method = algorithm_named(algorithm or next(iter(ALGORITHMS)))
    kind = method.calibration()
    known = options(kind)
    given = {name: value for name, value in run.items() if value is not None}
    wrong = sorted(given.keys() - known.keys())
    if wrong:
        raise check.ArgumentError(wrong[0], given[wrong[0]], f"does not belong to {method.name}")
    missing = [name for name, option in known.items() if option.is_required and name not in given]
    if missing:
        raise check.ArgumentError(" and ".join(missing), None, f"must be given for {method.name}")
    return kind(algorithm=method.name, **given)
