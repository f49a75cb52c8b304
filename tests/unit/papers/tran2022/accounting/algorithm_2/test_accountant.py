import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.papers.tran2022.accounting.algorithm_2.accountant import (
    sr_nsgd_mu,
    sr_sum_of_squares,
    values_of_places,
)
from dpverify.papers.tran2022.accounting.algorithm_2.nodes import (
    NodeSensitivities,
    pattern_value,
)
from dpverify.papers.tran2022.accounting.algorithm_2_sums import (
    Squares,
    largest_sum,
    pattern_sum,
    read_nodes,
)
from dpverify.papers.tran2022.algorithms.parameters import SrParameters
from dpverify.papers.tran2022.algorithms.scales import Scales
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_layout
from dpverify.privacy.participation import pattern_count
from dpverify.shared_types import ORDERINGS, Ordering
from tests.for_each import for_each

ALPHAS = (Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 50))


def drawn(rng: np.random.Generator) -> Squares:
    def number() -> Fraction:
        return Fraction(int(rng.integers(1, 31)), int(rng.integers(1, 11)))

    eta = number() / int(rng.choice([1, 10, 100]))
    return Squares(number(), number(), eta, number(), number(), number(), number())


def in_floats(T: int, N: int, s: Squares) -> NodeSensitivities:
    jump, most, root = 2 * s.smoothness * s.eta * N, 4 * s.lipschitz, math.sqrt(s.delta)
    return NodeSensitivities(
        T, N, float(most * s.lipschitz / s.g_first), float(most * s.lipschitz / s.g_later),
        float(min(jump, most)) / root, float(most) / root,
        float((2 * s.eta * s.smoothness) ** 2 / s.drift),
    )  # fmt: skip


@for_each("N", [1, 2, 3, 5, 8, 11])
def test_the_rules_give_the_nodes_that_algorithm_4_reads(N: int) -> None:
    for T in (*range(1, 4 * N + 2), 61):
        nodes, sensitivities = (
            read_nodes(T, N),
            NodeSensitivities(T, N, 1.0, 1.0, 1.0, 1.0, 1.0),
        )
        every = [
            (begin, k)
            for k in range(T.bit_length())
            for begin in range(0, T - (1 << k) + 1, 1 << k)
        ]
        for family, place in (("G", 0), ("Delta", 1), ("r", 2)):
            found = {
                (begin + 1, begin + (1 << k))
                for begin, k in every
                if sensitivities.node(begin, k)[place] > 0.0
            }
            assert found == nodes[family], (T, family)


@for_each(("T", "N"), [(40, 5), (17, 8), (9, 12)])
def test_nodes_that_are_read_are_drawn_and_those_are_in_the_box(T: int, N: int) -> None:
    every = {
        (t - (1 << k) + 1, t)
        for t in range(1, T + 1)
        for k in range(t.bit_length())
        if t % (1 << k) == 0
    }
    layout, box = (
        tape_layout(N, T).tolist(),
        {"G": every, "Delta": {node for node in every if node[0] > N}, "r": every},
    )
    names = ("G", "Delta", "r")
    rows = {
        name: {(y, z) for family, y, z in layout if names[family] == name}
        for name in names
    }
    for name, nodes in read_nodes(T, N).items():
        assert nodes <= rows[name] <= box[name]


def test_values_of_patterns_and_places_are_exact() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        T, N = int(rng.integers(1, 46)), int(rng.integers(1, 15))
        alpha, squares = ALPHAS[int(rng.integers(4))], drawn(rng)
        nodes, sensitivities = read_nodes(T, N), in_floats(T, N, squares)
        values = values_of_places(sensitivities, float(alpha))
        for place in range(1, min(N, T) + 1):
            want = float(pattern_sum(N, alpha, squares, nodes, range(place, T + 1, N)))
            assert values[place - 1] == pytest.approx(want, rel=1e-12)
        visits = [begin + int(rng.integers(1, N + 1)) for begin in range(0, T, N)]
        pattern = [t for t in visits if t <= T]
        want = float(pattern_sum(N, alpha, squares, nodes, pattern))
        assert pattern_value(sensitivities, float(alpha), pattern) == pytest.approx(
            want, rel=1e-12
        )


@for_each("ordering", ORDERINGS)
@for_each("seed", range(4))
def test_bounds_agree_with_trying_all_patterns(seed: int, ordering: Ordering) -> None:
    rng = np.random.default_rng([seed, 7])
    tried = 0
    while tried < 8:
        T, N = int(rng.integers(1, 31)), int(rng.integers(1, 12))
        if pattern_count(T, N, ordering) > 300:
            continue
        alpha, squares = ALPHAS[seed], drawn(rng)
        want = float(largest_sum(T, N, alpha, squares, ordering)[0])
        sensitivities = in_floats(T, N, squares)
        got = sr_sum_of_squares(sensitivities, float(alpha), ordering)
        assert got.lower <= want <= got.upper, (T, N, squares)
        visits, late = 1 if ordering == "once" else 2, sensitivities.delta_late
        if (
            visits * late <= sensitivities.delta_most
            or late == sensitivities.delta_most == 0.0
        ):
            assert got.exact
        if got.exact:
            assert got.upper <= got.lower * (1 + 1e-10)
        tried += 1


def parameters(T: int, N: int, **changes: float | str | Scales) -> SrParameters:
    base = SrParameters(
        T, alpha=1 / N, gamma=0.5, eta=1 / math.sqrt(N * T), sigma=2.0, lipschitz=1.5
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # fields by name


def test_mu_goes_as_one_over_sigma_and_agrees_with_the_definition() -> None:
    one, two = (
        sr_nsgd_mu(parameters(14, 5, sigma=sigma), 5, 0.75) for sigma in (1.0, 2.0)
    )
    assert one.exact
    assert one.upper == pytest.approx(2 * two.upper, rel=1e-11)
    s = parameters(14, 5, sigma=1.0)
    noise = [Fraction(float(deviation)) ** 2 for deviation in s.deviations(5)]
    squares = Squares(Fraction(3, 2), Fraction(3, 4), Fraction(s.eta), *noise)
    want, _ = largest_sum(14, 5, Fraction(s.alpha), squares, "fresh")
    assert one.lower <= math.sqrt(want) <= one.upper


def test_noise_of_any_size_only_scales() -> None:
    want = sr_nsgd_mu(parameters(60, 7, sigma=1.0), 7, 1.0).upper
    for sigma in (1e-200, 1e200):
        assert sr_nsgd_mu(
            parameters(60, 7, sigma=sigma), 7, 1.0
        ).upper * sigma == pytest.approx(want, rel=1e-11)


@for_each("ordering", ORDERINGS)
@for_each("alpha", [1e-9, 1e-5, 1e-2, 1.0])
def test_large_runs_are_bounded_closely(alpha: float, ordering: Ordering) -> None:
    bounds = sr_nsgd_mu(
        parameters(10**7, 10**5, alpha=alpha, ordering=ordering), 10**5, 1.0
    )
    assert bounds.ratio**2 <= 1.015


@for_each(("T", "N"), [(150_000, 100_000), (99, 10**5), (10**9, 3), (4001, 2000)])
def test_sizes_that_are_no_multiples(T: int, N: int) -> None:
    fresh, once = (
        sr_nsgd_mu(parameters(T, N, ordering=ordering), N, 1.0)
        for ordering in ORDERINGS
    )
    assert fresh.ratio**2 <= 1.015
    assert once.lower <= fresh.upper


def test_a_billion_steps() -> None:
    assert sr_nsgd_mu(parameters(10**9, 10**10), 10**10, 1.0).ratio ** 2 <= 1.015
    assert sr_nsgd_mu(parameters(9999, 20_000), 20_000, 1.0).exact
    assert sr_nsgd_mu(parameters(10**9, 10**7), 10**7, 1.0).ratio ** 2 <= 1.015


def test_no_noise_is_no_privacy() -> None:
    assert sr_nsgd_mu(parameters(10, 5, sigma=0.0), 5, 1.0).lower == math.inf
    # log2(1) = 0 in the printed V
    assert sr_nsgd_mu(parameters(10, 1), 1, 1.0).lower == math.inf
    without = Scales(1.0, 0.0, 0.0, 1.0, 1.0)
    assert sr_nsgd_mu(parameters(10, 5, scales=without), 5, 1.0).lower == math.inf
    # L = 0: nothing moves
    assert sr_nsgd_mu(parameters(10, 5, scales=without), 5, 0.0).upper < math.inf
    assert (
        sr_nsgd_mu(parameters(10, 5, scales=without, eta=0.0), 5, 1.0).upper < math.inf
    )


def test_arguments_are_checked() -> None:
    with pytest.raises(ArgumentError, match="smoothness"):
        sr_nsgd_mu(parameters(10, 5), 5, -1.0)
    with pytest.raises(ArgumentError, match="blocks"):
        sr_nsgd_mu(replace(parameters(10**15, 10**7), alpha=1.0), 10**7, 1.0)
    with pytest.raises(ArgumentError, match="accuracy"):
        sr_sum_of_squares(
            NodeSensitivities(10, 5, 1.0, 1.0, 1.0, 1.0, 1.0), 0.5, accuracy=1.0
        )


@for_each("fault", ["no level limit", "delta from the first step", "g twice"])
def test_planted_mistakes_are_seen(fault: str) -> None:
    squares = drawn(np.random.default_rng(9))
    T, N, alpha = 14, 5, Fraction(1, 5)
    sensitivities, nodes = in_floats(T, N, squares), read_nodes(T, N)
    if fault == "no level limit":
        nodes["G"] |= {(1, 8), (9, 14)}
    elif fault == "delta from the first step":
        nodes["Delta"] |= {(1, 1), (1, 2), (1, 4)}
    else:
        sensitivities = replace(sensitivities, g_first=2 * sensitivities.g_first)
    wrong = max(
        pattern_sum(N, alpha, squares, nodes, (i, j, k))
        for i in range(1, 6)
        for j in range(6, 11)
        for k in range(11, 15)
    )
    right = sr_sum_of_squares(sensitivities, float(alpha))
    assert not right.lower <= float(wrong) <= right.upper
