"""Calibrate any of the bundled optimizers, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from dpverify.calibrate.batches import METHODS, BatchCalibration, BatchRequest, calibrate_batches
from dpverify.calibrate.growing import GrowingCalibration, GrowingRequest, calibrate_budget
from dpverify.calibrate.records import ALGORITHMS, CalibrateRequest, Calibration
from dpverify.kernels import check


def calibration(algorithm: str = ALGORITHMS[0], **run: Any) -> Calibration | BatchCalibration | GrowingCalibration:
    """Find the noise that gives (epsilon, delta) to a bundled optimizer: as printed, as proved, as certified.

    Parameters
    ----------
    algorithm : str
        "dp-nsgd" or "sr-nsgd" (Algorithms 1 and 2 of tran2022), "dp-srm" or "ddp-srm" (of wang2019), "dp-gd", "rrpsgd",
        "dp-sgd" or "dp-agd" (its baselines), or "dpageem" (zhang2021).
    **run
        ``n``, ``epsilon`` and ``delta``, and what else the run has: the options of ``dpverify calibrate``.

    Returns
    -------
    Calibration, BatchCalibration or GrowingCalibration
        Of Algorithms 1 and 2, ``sigma.exact`` is the certified noise and ``epsilon_bounds`` has both ends of epsilon
        there; of methods on batches, ``noise["exact"]``; of DP-AGD, the budgets.

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
    match request_for(algorithm, run):
        case BatchRequest() as request:
            return calibrate_batches(request)
        case GrowingRequest() as request:
            return calibrate_budget(request)
        case CalibrateRequest() as request:
            from dpverify.calibrate.calibrate import calibrate  # not above: it has compiled kernels

            return calibrate(request)


def request_for(algorithm: str, run: Mapping[str, Any]) -> CalibrateRequest | BatchRequest | GrowingRequest:
    """Take the arguments of a run; an ArgumentError names one that is missing or does not belong to the algorithm."""
    asked = {"algorithm": algorithm, **run}
    requests: dict[str, type[CalibrateRequest | BatchRequest | GrowingRequest]] = {
        **dict.fromkeys(ALGORITHMS, CalibrateRequest), **dict.fromkeys(METHODS, BatchRequest), "dp-agd": GrowingRequest,
    }  # fmt: skip
    if algorithm not in requests:
        raise check.ArgumentError("algorithm", algorithm, f"must be one of {', '.join(requests)}")
    request = requests[algorithm]
    wrong = sorted(asked.keys() - {field.name for field in fields(request)})
    if wrong:
        raise check.ArgumentError(wrong[0], asked[wrong[0]], f"does not belong to {algorithm}")
    missing = [field.name for field in fields(request) if field.default is MISSING and field.name not in asked]
    if missing:
        raise check.ArgumentError(missing[0], None, f"must be given for {algorithm}")
    return request(**asked)
