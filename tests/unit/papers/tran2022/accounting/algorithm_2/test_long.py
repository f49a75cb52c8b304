"""The accountant of Algorithm 2 where N and T/N are both large: against the dynamic programme and patterns."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.papers.tran2022.accounting.algorithm_2 import accountant
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import (
    sr_nsgd_mu,
    sr_sum_of_squares,
)
from dpverify.papers.tran2022.accounting.algorithm_2.long import (
    FreeBlocks,
    is_long,
    least_of_pairs,
    long_run,
    pairs_above,
)
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import (
    NodeSensitivities,
    most_of_pairs,
    pattern_value,
)
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from tests.for_each import for_each


def run_of(
    N: int,
    T: int,
    g: float = 0.25,
    late: float = 1.0,
    most: float = 50.0,
    drift: float = 1.0,
) -> NodeSensitivities:
    return NodeSensitivities(T, N, 20 * g, g, late, most, drift / N**2)


@for_each(
    ("N", "epochs", "scaled", "numbers", "close"),
    [
        (1025, 700, 1.0, (0.25, 1.0, 50.0, 1.0), 1.07),
        (1088, 600, 1.0, (0.25, 1.0, 50.0, 1.0), 1.3),
        (4537, 900, 0.6, (0.25, 3.0, 6.0, 1.0), 1.05),
        (3072, 300, 0.3, (1.0, 0.0, 0.0, 0.1), 1.3),
        (1999, 400, 10.0, (0.0, 1.0, 1.0, 1.0), 9.0),
        (1500, 500, 0.05, (1.0, 0.1, 0.13, 4.0), 9.0),
    ],
)
def test_bounds_hold_the_dynamic_programme_s(
    N: int,
    epochs: int,
    scaled: float,
    numbers: tuple[float, float, float, float],
    close: float,
) -> None:
    run, alpha = run_of(N, epochs * N + N // 3, *numbers), scaled / N
    assert is_long(run, alpha)
    found, known = long_run(run, alpha), sr_sum_of_squares(run, alpha, accuracy=1.002)
    assert found.lower <= known.upper
    assert known.lower <= found.upper
    assert found.ratio < close


@for_each("N", [1100, 1031, 1536])
def test_no_pair_is_worth_more_than_its_boundary_says(N: int) -> None:
    run, alpha, rng = run_of(N, 10**6), 1 / N, np.random.default_rng(N)
    free = FreeBlocks(run, alpha)
    for b in rng.integers(40, 300, 60):
        x, most = int(b) * N, pairs_above(free, 0.0, int(b), 1)
        for _ in range(30):
            before, after = (int(2 ** rng.uniform(0, free.fine)) for _ in range(2))
            visits = (x - before + 1, x + after)
            if (visits[0] - 1) >> free.fine == (visits[1] - 1) >> free.fine:
                assert pair_value(free, visits) <= most * (1 + 1e-12)


def pair_value(free: FreeBlocks, visits: tuple[int, int]) -> float:
    """Add up what two visits count in all nodes up to level ``top``, one by one."""
    total, log_decay = 0.0, free.log_decay
    for level in range(free.top + 1):
        for node in {(t - 1) >> level for t in visits}:
            end = (node + 1) << level
            here = [t for t in visits if (t - 1) >> level == node]
            weights = [math.exp(log_decay * (end - t)) for t in here]
            drifts = sum(
                w * ((t - 1) % free.N) for w, t in zip(weights, here, strict=True)
            )
            total += free.one * sum(weights) ** 2 + (
                free.sensitivities.drift * drifts**2 if node % 2 == 0 else 0.0
            )
    return total


def test_pairs_are_chosen_as_well_as_any_choice() -> None:
    rng = np.random.default_rng(1)
    base, above, below = (
        rng.uniform(0, 2, 8),
        rng.uniform(0, 2, 8),
        rng.uniform(-1, 1, 4),
    )
    for N in (11, 12, 13):
        single = [
            most_of_pairs(b, 1, N, 2, base, above, below, 1.0) for b in range(1, 11)
        ]
        sets = (
            c
            for c in itertools.product((0, 1), repeat=10)
            if not any(a and b for a, b in itertools.pairwise(c))
        )
        best = max(
            sum(v for v, taken in zip(single, c, strict=True) if taken) for c in sets
        )
        assert most_of_pairs(1, 10, N, 2, base, above, below, 1.0) == pytest.approx(
            best
        )


@for_each(("N", "epochs"), [(1100, 3000), (1031, 5000), (1040, 900)])
def test_the_lower_bound_is_a_pattern_s(N: int, epochs: int) -> None:
    run, alpha = run_of(N, epochs * N), 1 / N
    free = FreeBlocks(run, alpha)
    boundaries = np.arange(41, epochs - 3, 2, dtype=np.int64)
    visits = np.sort(
        np.concatenate([boundaries * N - (1 << free.lowest) + 1, boundaries * N + 1])
    )
    value = pattern_value(run, alpha, visits.tolist())
    assert 0.97 * value < least_of_pairs(free, 41) <= value


def test_very_long_runs_are_bounded_closely_and_others_still_refused() -> None:
    N, T = 316228, 316228 * 2 * 10**7
    eta = 1 / math.sqrt(N * T)
    mu = sr_nsgd_mu(SrParameters(T, 1 / N, eta * N, eta, 1.0, 1.0), N, 1.0)
    assert mu.ratio < 1.008
    assert 0.9 < mu.lower < mu.upper < 1.1
    with pytest.raises(ArgumentError, match="blocks of different content"):
        # alpha = 1 is for short runs
        sr_nsgd_mu(SrParameters(T, 1.0, eta * N, eta, 1.0, 1.0), N, 1.0)


def test_long_bounds_are_not_taken_where_they_are_too_wide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accountant, "MANY_BLOCKS", 100)
    run = run_of(1025, 1025 * 700)
    close = sr_sum_of_squares(run, 1 / 1025, accuracy=1.01)
    assert close.ratio <= 1.01 < long_run(run, 1 / 1025).ratio


def test_nodes_longer_than_blocks_are_counted() -> None:
    """Where weights last for a hundred epochs, most of what a pattern counts lies in them."""
    N, epochs = 1025, 700
    run = run_of(N, N * epochs, g=0.0, late=0.0, most=0.0)
    value = pattern_value(run, 0.01 / N, [k * N + N for k in range(epochs)])
    assert value <= long_run(run, 0.01 / N).upper < 3 * value
