"""Epsilon for a noise, noise for an epsilon, and dp-accounting events, for Gaussian steps and bundled optimizers.

The accountants of Algorithms 1 and 2 are imported on use, because Gaussian steps need no compiled kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpverify.kernels import check
from dpverify.papers.wang2019.accounting.runs import BatchRun, least_noise
from dpverify.privacy import accounting
from dpverify.privacy.batches import (
    batch_epsilon,
    check_delta,
    check_epsilon,
    upper_epsilon,
)
from dpverify.privacy.participation import Bounds
from dpverify.privacy.schedule import PRACTISED, Schedule

if TYPE_CHECKING:
    from dpverify.papers.tran2022.accounting.noise import UnitNoise

ROUND_UP = 1.0 + 1e-12  # moves a quotient of a few floats to the safe side
# a placeholder for epsilon and delta in requests whose run does not depend on them
PLACEHOLDER = 1.0


def epsilon(
    sigma: float | Any, delta: float, *, algorithm: str | None = None, **run: Any
) -> Bounds:
    """Bound the smallest epsilon of Gaussian steps, an event, or a bundled optimizer from above and below.

    Parameters
    ----------
    sigma : float or dp_accounting.DpEvent
        The noise, above 0. Without ``algorithm``, and for events: the noise multiplier, as for
        :func:`dpverify.privacy.epsilon`. For "dp-nsgd" and "sr-nsgd": the noise multiplier of the algorithm as printed.
        For methods on batches: the standard deviation of a coordinate of the noise of an estimate. For DP-SRM this is
        the noise after the first estimate; the noise of the first estimate follows from it.
    delta : float
        Privacy parameter in (0, 1).
    algorithm : str, optional
        A name that :func:`dpverify.calibration` accepts, except "dp-agd", which has a
        budget instead of a sigma.
    **run
        Without ``algorithm``: ``steps``, ``rate`` and ``sampling``, as for
        :func:`dpverify.privacy.epsilon`. With it: ``n`` and the other settings of a
        run, as for :func:`dpverify.calibration`, without ``epsilon``. "dp-nsgd" and
        "sr-nsgd" also need ``alpha`` and the number of steps, because their theorems'
        values for these depend on epsilon.

        Without ``algorithm``, ``sampling`` may also be a sampling scheme as in
        practice. With "fixed", "shuffled" and "balls-in-bins", each example is in one
        batch of each epoch of ``1/rate`` steps. The order is known for "fixed" and
        random for "shuffled". With "balls-in-bins" each example is in a random step,
        independently of all other examples. With "random-allocation" each example is in
        ``rate * steps`` random steps. "truncated-poisson" cuts Poisson samples of
        ``examples`` examples at random to ``largest_batch``. ``neighbours`` is
        "zero-out" (the default: the gradient of one example becomes 0) or "replace-one"
        for "fixed" and "shuffled", and by default "add-remove" for the others.
        ``ordering`` is "fresh" (the default) if each epoch is drawn anew, and "once" if
        all epochs repeat one order. No amplification is proven for "shuffled".

    Returns
    -------
    Bounds
        ``upper`` is certified. ``lower`` is attained by a run, except for "sr-nsgd",
        where it assumes the largest change of each node. With ``algorithm``, neighbours
        are replace-one.

    Raises
    ------
    ValueError
        If an argument is missing, does not belong to the algorithm, or is out of its
        range.

    Examples
    --------
    >>> import dpverify as dv
    >>> found = dv.epsilon(1.56, 1e-6, algorithm="dp-nsgd", n=1000, epochs=1, alpha=0.01)
    >>> 0.99 < found.lower <= found.upper < 1.0
    True
    """
    if algorithm is None:
        schedule = _schedule(sigma, run)
        return (
            accounting.epsilon(sigma, delta, **run)
            if schedule is None
            else schedule.epsilon(check_delta(delta))
        )
    check_delta(delta)
    noise = check.positive(sigma=sigma)
    accounted = _run(algorithm, run)
    if not isinstance(accounted, BatchRun):
        from dpverify.papers.tran2022.accounting.noise import noise_bounds

        return noise_bounds(accounted, noise, delta)
    factor = _factor(accounted, noise)
    upper = upper_epsilon(accounted.steps_at(factor / ROUND_UP), delta)
    return Bounds(
        min(batch_epsilon(accounted.steps_at(factor * ROUND_UP), delta).lower, upper),
        upper,
        exact=False,
    )


def sigma(
    epsilon: float, delta: float, *, algorithm: str | None = None, **run: Any
) -> float:
    """Return the smallest noise, to six digits, whose upper bound on epsilon is at most ``epsilon``.

    Parameters
    ----------
    epsilon : float
        Target epsilon, from 1e-6 to 300.
    delta, algorithm, **run
        As for :func:`epsilon`.

    Returns
    -------
    float
        The noise, in the units of the argument ``sigma`` of :func:`epsilon`. For
        "truncated-poisson", "balls-in-bins" and "random-allocation" it is within 0.01%
        of the smallest one.

    Raises
    ------
    ValueError
        As for :func:`epsilon`.

    Examples
    --------
    >>> import dpverify as dv
    >>> noise = dv.sigma(1.0, 1e-6, algorithm="dp-sgd", n=1000, batch=10, epochs=1)
    >>> dv.epsilon(noise, 1e-6, algorithm="dp-sgd", n=1000, batch=10, epochs=1).upper <= 1.0
    True
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if algorithm is None:
        schedule = _schedule(1.0, run)
        return (
            accounting.sigma(epsilon, delta, **run)
            if schedule is None
            else schedule.sigma_for(epsilon, delta)
        )
    accounted = _run(algorithm, run)
    if not isinstance(accounted, BatchRun):
        from dpverify.papers.tran2022.accounting.noise import sigma_for

        return sigma_for(accounted, epsilon, delta)
    return (
        accounted.deviations(least_noise(accounted, epsilon, delta).noise)[1]
        * ROUND_UP**2
    )


def event(sigma: float, *, algorithm: str | None = None, **run: Any) -> Any:
    """Return the dp-accounting event with the given noise and run; needs the extra ``accounting``.

    Parameters
    ----------
    sigma, algorithm, **run
        As for :func:`epsilon`. Algorithms 1 and 2 have no event, because each node
        depends on the steps before it.

    Returns
    -------
    dp_accounting.DpEvent
        For an optimizer on batches, the event samples without replacement, and its
        noise multipliers are standard deviations over the largest change by replacing
        one example. This is the convention of
        ``epsilon(event, delta, sampling="batches")``, and of dp-accounting for
        replace-one neighbours.

    Raises
    ------
    ValueError
        As for :func:`epsilon`.
    ModuleNotFoundError
        If dp-accounting is not installed.

    Examples
    --------
    >>> import dpverify as dv
    >>> dv.event(0.2, algorithm="dp-sgd", n=1000, batch=10, epochs=1)  # doctest: +SKIP
    """
    if algorithm is None:
        return accounting.event(sigma, **run)
    noise = check.positive(sigma=sigma)
    accounted = _run(algorithm, run)
    if not isinstance(accounted, BatchRun):
        raise check.ArgumentError(
            "algorithm",
            algorithm,
            "has no event: its nodes are not independent Gaussian steps",
        )
    import dp_accounting

    parts = []
    for step in accounted.steps_at(_factor(accounted, noise)):
        step_event = dp_accounting.GaussianDpEvent(step.noise)
        if step.rate < 1.0:
            size = accounted.examples // accounted.parties
            step_event = dp_accounting.SampledWithoutReplacementDpEvent(
                size, round(step.rate * size), step_event
            )
        parts.append(dp_accounting.SelfComposedDpEvent(step_event, step.count))
    return dp_accounting.ComposedDpEvent(parts)


def _schedule(sigma: Any, run: Mapping[str, Any]) -> Schedule | None:
    """Return the schedule of a sampling scheme in ``PRACTISED``; None for others, which have no further arguments."""
    sampling = run.get("sampling", "poisson")
    if sampling in PRACTISED:
        if not isinstance(sigma, int | float):
            raise check.ArgumentError(
                "sampling", sampling, "must be poisson or batches for an event"
            )
        return Schedule(**{"sigma": sigma, "steps": 1, "rate": 1.0, **run})
    for name in ("neighbours", "ordering", "examples", "largest_batch"):
        if name in run:
            raise check.ArgumentError(
                name, run[name], f"belongs to a sampling of {', '.join(PRACTISED)}"
            )
    return None


def _factor(run: BatchRun, deviation: float) -> float:
    """Return the noise over the sensitivity of a mean over all data, from the deviation of later estimates."""
    return deviation / run.deviations(1.0)[1]


def _run(algorithm: str, run: Mapping[str, Any]) -> UnitNoise | BatchRun:
    """Return the release of an optimizer, per unit of its noise."""
    from dpverify.algorithms.registry import algorithm_named
    from dpverify.algorithms.settings import options
    from dpverify.calibrate.batches import BatchRequest
    from dpverify.calibrate.by_name import request_for
    from dpverify.calibrate.records import CalibrateRequest

    for name in ("sampling", "largest_batch"):
        if run.get(name) is not None:
            raise check.ArgumentError(
                name, run[name], "must be given without algorithm, with steps and rate"
            )
    for name in ("epsilon", "beta"):
        if name in run:
            raise check.ArgumentError(
                name, run[name], "does not belong to a run whose noise is given"
            )
    sizes = {"d": 1} if "d" in options(algorithm_named(algorithm).calibration()) else {}
    request = request_for(
        algorithm, {**sizes, **run, "epsilon": PLACEHOLDER, "delta": PLACEHOLDER / 2}
    )
    if isinstance(request, BatchRequest):
        return request.run()
    if not isinstance(request, CalibrateRequest):
        rule = "has no noise multiplier per step: dv.calibration has its noise"
        raise check.ArgumentError("algorithm", algorithm, rule)
    for name, value in (
        ("steps or epochs", request.asked_steps),
        ("alpha", request.alpha),
    ):
        if value is None:
            raise check.ArgumentError(
                name, None, "must be given: what the theorem prints depends on epsilon"
            )
    return request.unit_noise()
