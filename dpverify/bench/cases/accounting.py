"""Accounting: composed Gaussians, and the worst pattern of visits in Algorithms 1 and 2."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpverify.bench.case import Case, Form, Forms, Target, peer, sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpverify.privacy.participation import Ordering

DELTA, NEAR_ZERO = 1e-6, 0.38
"""A delta of practice, and one with which epsilon is nearly 0: the last digits then take balls."""

GAP = "gap of mu, upper/lower - 1"
"""What the accountants count."""

DIGITS = 1e-12
"""Largest relative error of epsilon that is put up with."""


def _composed(*, seed: int, K: int, delta: float) -> Forms:
    """K distinct Gaussian mechanisms whose mu is 1 together; the limit adds up squares and inverts one trade-off."""
    import numpy as np

    from dpverify.privacy.gaussian import epsilon_of
    from dpverify.privacy.gaussian_composition import composed_epsilon

    mus = np.exp(np.random.default_rng(seed).normal(size=K))
    mus /= math.sqrt(float(mus @ mus))
    _check(mus, delta, composed_epsilon(mus, delta))
    return {
        "add squares, invert once": lambda: epsilon_of(math.sqrt(float(mus @ mus)), delta),
        "exact": lambda: composed_epsilon(mus, delta),
        "dp_accounting, Renyi": peer("dp_accounting", lambda module: _by_renyi(module, mus, delta)),
    }


def _peers(*, seed: int, K: int) -> Forms:
    """The same against privacy loss distributions, which take long for mechanisms that are all different."""
    import numpy as np

    from dpverify.privacy.gaussian_composition import composed_epsilon

    mus = np.exp(np.random.default_rng(seed).normal(size=K))
    mus /= math.sqrt(float(mus @ mus))
    return {
        "exact": lambda: composed_epsilon(mus, DELTA),
        "dp_accounting, loss distribution": peer("dp_accounting", lambda module: _by_distribution(module, mus)),
    }


def _check(mus: NDArray[Any], delta: float, epsilon: float) -> None:
    """Refuse an epsilon that is off in the twelfth digit; by balls of 400 bits."""
    from flint import arb, ctx

    from dpverify.privacy.gaussian_balls import delta_ball

    before, ctx.prec = ctx.prec, 400
    try:
        mu = sum((arb(value) ** 2 for value in mus.tolist()), start=arb(0)).sqrt()
        high, low = (delta_ball(mu, arb(epsilon) * (1 + arb(sign * DIGITS))) for sign in (-1, 1))
        if not low <= arb(delta) <= high:
            raise ValueError(f"epsilon: {epsilon}: must have a relative error of {DIGITS} at most")
    finally:
        ctx.prec = before


def _event(module: Any, mus: NDArray[Any]) -> Any:
    return module.ComposedDpEvent([module.GaussianDpEvent(1.0 / mu) for mu in mus.tolist()])


def _by_renyi(module: Any, mus: NDArray[Any], delta: float) -> Form:
    event, rdp = _event(module, mus), import_module("dp_accounting.rdp")
    return lambda: rdp.RdpAccountant().compose(event).get_epsilon(delta)


def _by_distribution(module: Any, mus: NDArray[Any]) -> Form:
    event, pld = _event(module, mus), import_module("dp_accounting.pld")
    return lambda: pld.PLDAccountant().compose(event).get_epsilon(DELTA)


def _algorithm_1(*, seed: int, N: int, epochs: int) -> Forms:
    """Mu of Algorithm 1: alpha = 1/N, T = epochs N; the limit adds up the worst pattern, told beforehand."""
    from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
    from dpverify.papers.tran2022.accounting.algorithm_1.pattern import pattern_value
    from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters

    del seed
    T = epochs * N
    fresh, once = (Parameters(T, 1 / N, 0.01, 1.0, 1.0, ordering) for ordering in ("fresh", "once"))
    pattern = dp_nsgd_mu(fresh, N).pattern or ()
    return {
        "add up one pattern": lambda: pattern_value(T, 1 / N, pattern),
        "fresh": lambda: dp_nsgd_mu(fresh, N),
        "once": lambda: dp_nsgd_mu(once, N),
    }


def _algorithm_2(*, seed: int, N: int, epochs: int) -> Forms:
    """Mu of Algorithm 2 at Theorem 9's eta and gamma, alpha = 1/N, L = G = 1."""
    import numpy as np

    from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
    from dpverify.papers.tran2022.accounting.algorithm_2.nodes import NodeSensitivities
    from dpverify.papers.tran2022.accounting.algorithm_2.pattern import pattern_value
    from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters

    del seed
    T = epochs * N
    eta = 1 / math.sqrt(N * T)
    fresh, once = (SrParameters(T, 1 / N, eta * N, eta, 1.0, 1.0, ordering) for ordering in ("fresh", "once"))
    visits = np.arange(N, min(T, 10**5 * N) + 1, N).tolist()
    sensitivities = NodeSensitivities(T, N, 1.0, 1.0, 1.0, 2.0, 1 / N**2)
    return {
        "add up one pattern": lambda: pattern_value(sensitivities, 1 / N, visits),
        "fresh": lambda: sr_nsgd_mu(fresh, N, 1.0),
        "once": lambda: sr_nsgd_mu(once, N, 1.0),
    }


def _long_run(*, seed: int, N: int, epochs: int) -> Forms:
    """Algorithm 2 where both N and T/N are large: bounds that do not walk through the epochs, against drawing N."""
    import numpy as np

    from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
    from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters

    rng, T = np.random.default_rng(seed), epochs * N
    eta = 1 / math.sqrt(N * T)
    fresh = SrParameters(T, 1 / N, eta * N, eta, 1.0, 1.0, "fresh")
    return {"draw N normals": lambda: rng.standard_normal(N), "fresh": lambda: sr_nsgd_mu(fresh, N, 1.0)}


def _gap_1(*, N: int, epochs: int) -> dict[str, dict[str, float]]:
    """How far the two bounds of mu are apart, Algorithm 1."""
    from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
    from dpverify.papers.tran2022.algorithms.dp_nsgd.parameters import Parameters

    runs: tuple[tuple[str, Ordering], ...] = (("fresh", "fresh"), ("once", "once"))
    return {
        form: {GAP: dp_nsgd_mu(Parameters(epochs * N, 1 / N, 0.01, 1.0, 1.0, ordering), N).ratio - 1.0}
        for form, ordering in runs
    }


def _gap_2(*, N: int, epochs: int) -> dict[str, dict[str, float]]:
    """How far the two bounds of mu are apart, Algorithm 2."""
    from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
    from dpverify.papers.tran2022.algorithms.sr_nsgd.parameters import SrParameters

    T = epochs * N
    eta = 1 / math.sqrt(N * T)
    runs: tuple[tuple[str, Ordering], ...] = (("fresh", "fresh"), ("once", "once"))
    return {
        form: {GAP: sr_nsgd_mu(SrParameters(T, 1 / N, eta * N, eta, 1.0, 1.0, ordering), N, 1.0).ratio - 1.0}
        for form, ordering in runs
    }


ONE = Case(
    "composed", "epsilon of K distinct Gaussian mechanisms together, to twelve digits", _composed,
    limit="add squares, invert once", forms=("add squares, invert once", "exact", "dp_accounting, Renyi"),
    peers=("dp_accounting, Renyi",), limit_is_ours=True,
)  # fmt: skip
FIRST = Case(
    "algorithm-1", "Accountant of Algorithm 1, exact up to the gap between its two bounds", _algorithm_1,
    limit="add up one pattern", forms=("add up one pattern", "fresh", "once"), counts=_gap_1, limit_is_ours=True,
    rounds=3,
)  # fmt: skip
SECOND = Case(
    "algorithm-2", "Accountant of Algorithm 2, exact up to the gap between its two bounds", _algorithm_2,
    limit="add up one pattern", forms=("add up one pattern", "fresh", "once"), counts=_gap_2, limit_is_ours=True,
    rounds=3,
)  # fmt: skip
TWO_SECONDS = tuple(Target(form, at_most=2.0, kind="seconds") for form in ("fresh", "once"))


def _cases() -> tuple[Case, ...]:
    cases = [
        replace(
            ONE,
            name=f"composed-{K}{name}",
            parameters={"K": K, "delta": delta},
            targets=[Target("exact", at_most=most, kind="seconds")],
            sparse=("dp_accounting, Renyi",) if K > 100 else (),
        )
        for name, delta in (("", DELTA), ("-near-zero", NEAR_ZERO))
        for K, most in ((100, 50e-6), (10_000, 2e-3))
    ]
    cases.append(
        Case(
            "composed-peers",
            "The same against privacy loss distributions",
            _peers,
            limit="exact",
            limit_is_ours=True,
            forms=("exact", "dp_accounting, loss distribution"),
            parameters={"K": 100},
            peers=("dp_accounting, loss distribution",),
            sparse=("dp_accounting, loss distribution",),
        )
    )
    for case in (FIRST, SECOND):
        cases += sweep(
            replace(case, name=f"{case.name}-over-n", parameters={"epochs": 100}, targets=TWO_SECONDS),
            "N", (1_000, 10_000, 100_000, 1_000_000),
        )  # fmt: skip
        cases += sweep(
            replace(case, name=f"{case.name}-over-epochs", parameters={"N": 10_000}), "epochs", (10, 100, 1_000)
        )
    cases += sweep(
        Case(
            "long-run", "Algorithm 2 where N and T/N are both large", _long_run, limit="draw N normals",
            forms=("draw N normals", "fresh"), parameters={"N": 316_228}, rounds=3,
            targets=[Target("fresh", at_most=2.0, kind="seconds"), Target("fresh", at_most=0.2, kind="exponent")],
        ),
        "epochs", (100_000, 1_000_000, 20_000_000),
    )  # fmt: skip
    return tuple(cases)


CASES = _cases()
