"""Accounting: composed Gaussians, and the worst pattern of visits in Algorithms 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from dpverify.bench.case import BenchCase, Form, Forms, Missing, Target, peer, sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpverify.shared_types import Ordering

Mu: TypeAlias = "Callable[[int, int, Ordering], Callable[[], Any]]"
"""``mu(N, epochs, ordering)`` returns a call of the accountant."""

# a realistic delta, and one with epsilon near 0,
# for which the last digits need ball arithmetic
DELTA = 1e-6
NEAR_ZERO = 0.38

PATTERN = "add up one pattern"
SQUARES = "add squares, invert once"
RENYI = "dp_accounting, Renyi"
LOSSES = "dp_accounting, loss distribution"
LAW = "dp_accounting, the same law"
BY_SQUARES = (SQUARES, "exact", RENYI)
BY_LOSSES = ("exact", LOSSES)

DIGITS = 1e-12  # largest accepted relative error of epsilon


def _composed(
    names: tuple[str, ...], *, seed: int, K: int, delta: float = DELTA
) -> Forms:
    """Compose K distinct mechanisms of total mu 1; the limit adds squares and inverts one trade-off function."""
    import numpy as np

    from dpverify.privacy.gaussian import epsilon_of
    from dpverify.privacy.gaussian_safe import composed_epsilon

    mus = np.exp(np.random.default_rng(seed).normal(size=K))
    mus /= math.sqrt(float(mus @ mus))
    _check(mus, delta, composed_epsilon(mus, delta))
    forms: dict[str, Form | Missing] = {
        SQUARES: lambda: epsilon_of(math.sqrt(float(mus @ mus)), delta),
        "exact": lambda: composed_epsilon(mus, delta),
        RENYI: peer(
            "dp_accounting.rdp",
            lambda module: _by_library(module.RdpAccountant, mus, delta),
        ),
        LOSSES: peer(
            "dp_accounting.pld",
            lambda module: _by_library(module.PLDAccountant, mus, delta),
        ),
    }
    return {name: forms[name] for name in names}


def _batches(*, seed: int, T: int, rate: float, noise: float, delta: float) -> Forms:
    """Bound epsilon from both sides for batches without replacement; the peer composes only the upper law."""
    from dpverify.privacy.batches import BatchSteps, batch_epsilon
    from dpverify.privacy.losses.grid import step_law

    del seed
    width = rate / noise / 16.0
    law = step_law(rate, noise, width, 1e-9 * delta / T, "upper")
    table = dict(zip(law.places.tolist(), law.chances.tolist(), strict=True))

    def composed(module: Any) -> Form:
        pmf = module.SparsePLDPmf(
            table, width, law.beyond, pessimistic_estimate=True
        ).to_dense_pmf()
        return lambda: pmf.self_compose(
            T, tail_mass_truncation=1e-15
        ).get_epsilon_for_delta(delta)

    steps = [BatchSteps(rate, noise, T)]
    return {
        "both ends": lambda: batch_epsilon(steps, delta),
        LAW: peer("dp_accounting.pld.pld_pmf", composed),
    }


def _check(mus: NDArray[Any], delta: float, epsilon: float) -> None:
    """Raise ValueError if epsilon is wrong in the twelfth digit, according to 400-bit ball arithmetic."""
    from flint import arb, ctx

    from dpverify.privacy.gaussian_safe import delta_ball

    before = ctx.prec
    ctx.prec = 400
    try:
        mu = sum((arb(value) ** 2 for value in mus.tolist()), start=arb(0)).sqrt()
        high, low = (
            delta_ball(mu, arb(epsilon) * (1 + arb(sign * DIGITS))) for sign in (-1, 1)
        )
        if not low <= arb(delta) <= high:
            raise ValueError(
                f"epsilon: {epsilon}: must have a relative error of {DIGITS} at most"
            )
    finally:
        ctx.prec = before


def _by_library(accountant: Any, mus: NDArray[Any], delta: float) -> Form:
    library = import_module("dp_accounting")
    event = library.ComposedDpEvent(
        [library.GaussianDpEvent(1.0 / mu) for mu in mus.tolist()]
    )
    return lambda: accountant().compose(event).get_epsilon(delta)


def _mu_1(N: int, epochs: int, ordering: Ordering) -> Callable[[], Any]:
    """Return a call that computes mu of Algorithm 1 for alpha = 1/N, T = epochs N."""
    from dpverify.papers.tran2022.accounting.algorithm_1.accountant import dp_nsgd_mu
    from dpverify.papers.tran2022.algorithms.parameters import Parameters

    run = Parameters(epochs * N, 1 / N, 0.01, 1.0, 1.0, ordering)
    return lambda: dp_nsgd_mu(run, N)


def _pattern_1(N: int, epochs: int) -> Form:
    from dpverify.papers.tran2022.accounting.algorithm_1.accountant import pattern_value

    pattern = _mu_1(N, epochs, "fresh")().pattern or ()
    return lambda: pattern_value(epochs * N, 1 / N, pattern)


def _mu_2(N: int, epochs: int, ordering: Ordering) -> Callable[[], Any]:
    """Return a call that computes mu of Algorithm 2: eta, gamma of Theorem 9, alpha = 1/N, L = G = 1, T = epochs N."""
    from dpverify.papers.tran2022.accounting.algorithm_2.accountant import sr_nsgd_mu
    from dpverify.papers.tran2022.algorithms.parameters import SrParameters

    T = epochs * N
    eta = 1 / math.sqrt(N * T)
    run = SrParameters(T, 1 / N, eta * N, eta, 1.0, 1.0, ordering)
    return lambda: sr_nsgd_mu(run, N, 1.0)


def _pattern_2(N: int, epochs: int) -> Form:
    import numpy as np

    from dpverify.papers.tran2022.accounting.algorithm_2.nodes import (
        NodeSensitivities,
        pattern_value,
    )

    T = epochs * N
    visits = np.arange(N, min(T, 10**5 * N) + 1, N).tolist()
    nodes = NodeSensitivities(T, N, 1.0, 1.0, 1.0, 2.0, 1 / N**2)
    return lambda: pattern_value(nodes, 1 / N, visits)


def _accountant(
    mu: Mu, pattern: Callable[[int, int], Form], *, seed: int, N: int, epochs: int
) -> Forms:
    """Compute mu for both orderings; the limit adds up a pattern of visits that is known beforehand."""
    return {
        PATTERN: pattern(N, epochs),
        "fresh": mu(N, epochs, "fresh"),
        "once": mu(N, epochs, "once"),
    }


def _long_run(*, seed: int, N: int, epochs: int) -> Forms:
    """Bound mu of Algorithm 2 for large N and T/N without iterating over epochs; the limit draws N normals."""
    import numpy as np

    rng = np.random.default_rng(seed)
    return {
        "draw N normals": lambda: rng.standard_normal(N),
        "fresh": _mu_2(N, epochs, "fresh"),
    }


TWO_SECONDS = tuple(
    Target(form, at_most=2.0, kind="seconds") for form in ("fresh", "once")
)


def _algorithm(
    number: int, mu: Mu, pattern: Callable[[int, int], Form]
) -> Iterator[BenchCase]:
    """Yield cases of the accountant of an algorithm, over N and over T/N."""
    case = BenchCase(
        f"algorithm-{number}",
        f"Accountant of Algorithm {number}, exact up to the gap between its two bounds",
        partial(_accountant, mu, pattern),
        forms=(PATTERN, "fresh", "once"),
        limit_is_ours=True,
        rounds=3,
    )
    over_n = replace(
        case,
        name=f"{case.name}-over-n",
        parameters={"epochs": 100},
        targets=TWO_SECONDS,
    )
    yield from sweep(over_n, "N", (1_000, 10_000, 100_000, 1_000_000))
    over_epochs = replace(
        case, name=f"{case.name}-over-epochs", parameters={"N": 10_000}
    )
    yield from sweep(over_epochs, "epochs", (10, 100, 1_000))
    if number == 1:  # "long-run" below covers Algorithm 2
        long = replace(
            case,
            name=f"{case.name}-long",
            parameters={"N": 32_561},
            targets=TWO_SECONDS,
        )
        yield from sweep(long, "epochs", (10_000, 100_000))


CASES = (
    *(
        BenchCase(
            f"composed-{K}{name}",
            "epsilon of K distinct Gaussian mechanisms together, to twelve digits",
            partial(_composed, BY_SQUARES),
            forms=BY_SQUARES,
            peers=(RENYI,),
            limit_is_ours=True,
            parameters={"K": K, "delta": delta},
            targets=[Target("exact", at_most=limit, kind="seconds")],
            sparse=(RENYI,) if K > 100 else (),
        )
        for name, delta in (("", DELTA), ("-near-zero", NEAR_ZERO))
        for K, limit in ((100, 50e-6), (10_000, 2e-3))
    ),
    BenchCase(
        "composed-peers",
        "The same against privacy loss distributions",
        partial(_composed, BY_LOSSES),
        forms=BY_LOSSES,
        limit_is_ours=True,
        parameters={"K": 100},
        peers=(LOSSES,),
        sparse=(LOSSES,),
    ),
    BenchCase(
        "batches",
        "Both bounds of epsilon of DP-SRM as in section 6.1 of wang2019, against the composition of the same law",
        _batches,
        forms=("both ends", LAW),
        limit_is_ours=True,
        parameters={"T": 1302, "rate": 50 / 32561, "noise": 1.3187, "delta": 1e-5},
        peers=(LAW,),
    ),
    *_algorithm(1, _mu_1, _pattern_1),
    *_algorithm(2, _mu_2, _pattern_2),
    *sweep(
        BenchCase(
            "long-run",
            "Algorithm 2 where N and T/N are both large",
            _long_run,
            forms=("draw N normals", "fresh"),
            parameters={"N": 316_228},
            rounds=3,
            targets=[
                Target("fresh", at_most=2.0, kind="seconds"),
                Target("fresh", at_most=0.2, kind="exponent"),
            ],
        ),
        "epochs",
        (100_000, 1_000_000, 20_000_000),
    ),
)
