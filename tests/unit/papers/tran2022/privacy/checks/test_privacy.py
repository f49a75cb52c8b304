"""Privacy of tran2022: bounds, sums and laws against brute force and against each other."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpverify.harness.checks import budget_named
from dpverify.ledger import load_specs
from dpverify.papers.tran2022.accounting.algorithm_1.accountant import (
    largest_sum,
    tree_sum_of_squares,
)
from dpverify.papers.tran2022.accounting.algorithm_2_sums import (
    exact_sums,
    node_terms,
    worst_pattern,
)
from dpverify.papers.tran2022.accounting.audit import AuditedRun, sandwich
from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_layout
from dpverify.papers.tran2022.privacy.checks.privacy import (
    MOST_PATTERNS,
    _exhaustive,
    _short_runs,
    _small_runs,
)
from dpverify.papers.tran2022.privacy.signs_bounds import (
    printed_v,
    sign_delta,
    sign_divergence,
    sign_law,
)
from dpverify.privacy.gaussian import delta_of, epsilon_of
from dpverify.privacy.participation import pattern_count, patterns
from dpverify.symbolic.exact.numbers import to_ball


def test_theorem_4_is_sharp_in_its_constants() -> None:
    # 4T >= N cannot be weakened
    assert 4 * printed_v(1, 4, 0) == largest_sum(1, 4, Fraction(1), "fresh")[0] == 1
    used = tree_sum_of_squares(1089, 1025, 1 / 1025, accuracy=1.01).lower / float(
        4 * printed_v(1089, 1025, 11)
    )
    assert 0.5 < used <= 1


def test_the_divergence_of_all_patterns_is_that_of_the_constants() -> None:
    claim = load_specs().claim("tran2022:theorem-4")
    statement = claim.statement({"ordering": "fresh", "depth": "levels"})
    numbers = {"T": 1, "N": 4, "alpha": 1, "depth": 0, "z": 3, "sigma": 2}
    point = {name: Fraction(number) for name, number in numbers.items()}
    # z / (8 V sigma^2) with V = 1/4, and one square, which is 1
    assert _exhaustive(point, statement) == Fraction(3, 8)


def test_short_runs_are_all_that_have_few_patterns_and_have_the_depth_of_their_reading() -> (
    None
):
    smoke, lengths = budget_named("smoke"), range(1, 10)
    runs = {
        (T, N)
        for T in lengths
        for N in lengths
        if pattern_count(T, N, "fresh") <= MOST_PATTERNS
    }
    for reading, less in (("levels", 0), ("height", 1)):
        points = list(_small_runs(reading)(smoke))
        assert {(point["T"], point["N"]) for point in points} == runs
        assert all(
            point["depth"] == int(point["T"]).bit_length() - less for point in points
        )
        assert {point["alpha"] for point in points if point["N"] == 3} == {
            1,
            Fraction(1, 3),
            Fraction(1, 50),
        }
        assert [(point["T"], point["N"]) for point in points] == [
            (p["T"], p["N"]) for p in _short_runs(smoke)
        ]


def test_with_one_permutation_five_eighths_of_theorem_4_are_enough() -> None:
    for N in (1, 2, 3, 5, 16, 17, 100):
        for T in (N, N + 1, 2 * N + 1, 4 * N, 9 * N - 1, 1023):
            if T >= N:
                used = tree_sum_of_squares(T, N, 1 / N, "once").upper
                assert used <= (1 / (1 - math.exp(-1))) ** 2 * float(
                    printed_v(T, N, T.bit_length())
                )


def test_law_of_a_sign_agrees_with_a_simulation_of_algorithm_1() -> None:
    law = sign_law(5, 1, Fraction(1, 4), Fraction(1), 3)
    momentum, deviation = 1 - 0.75**4, 4 * 0.25 * math.sqrt(float(printed_v(5, 1, 3)))
    noise = np.random.default_rng(1).normal(size=200_000) * deviation
    assert abs(float((momentum + noise > 0).mean()) - float(law.changed)) < 5e-3
    assert float(law.changed) == pytest.approx(1 - float(law.unchanged), abs=1e-12)


def test_hidden_order_mixes_the_two_laws_and_gaussians_bound_the_sign() -> None:
    clear, hidden = (sign_law(2, N, Fraction(1, 2), Fraction(1), 2) for N in (1, 10))
    assert float(hidden.changed - hidden.unchanged) > 0
    mu = 2 / (4 * math.sqrt(float(printed_v(2, 1, 2))))
    assert float(sign_divergence(clear, Fraction(2))) <= mu**2
    assert float(sign_delta(clear, Fraction(1, 10))) <= delta_of(mu, 0.1) + 1e-12
    for steps, examples in ((4, 1), (3, 2), (1, 1)):
        with pytest.raises(ValueError, match="steps"):
            sign_law(steps, examples, Fraction(1), Fraction(1), 2)


def test_nodes_that_count_are_those_of_the_kernel() -> None:
    # G and Delta inside [1, 2N] and elsewhere, r
    names = {0: 0, 1: 0, 2: 1, 3: 1, 4: 2}
    for N, T in ((1, 6), (2, 9), (5, 23), (8, 40)):
        rows = tape_layout(N, T).tolist()
        for t in range(1, T + 1):
            drawn = sorted(
                (family, end) for family, start, end in rows if start <= t <= end
            )
            assert (
                sorted(
                    (names[family], end) for family, end, _ in node_terms(T, N, (t,))
                )
                == drawn
            )


def test_family_first_is_met_with_equality_at_two_examples() -> None:
    sums = [
        exact_sums(4, 2, Fraction(1, 2), pattern) for pattern in patterns(4, 2, "fresh")
    ]
    assert max(Fraction(str(s[0])) / 12 + Fraction(str(s[2])) / 3 for s in sums) == 1


def test_climbing_finds_the_best_pattern_where_all_can_be_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weights = (1.0, 1.0, 1.0, 1.0, 1.0)

    def value(pattern: tuple[int, ...]) -> float:
        return sum(
            float(to_ball(one)) for one in exact_sums(16, 4, Fraction(1, 4), pattern)
        )

    best = worst_pattern(16, 4, 0.25, "fresh", weights)
    monkeypatch.setattr(
        "dpverify.papers.tran2022.accounting.algorithm_2_sums.MOST_PATTERNS", 10
    )
    climbed = worst_pattern(16, 4, 0.25, "fresh", weights)
    assert 0.9 * value(best) <= value(climbed) <= value(best) + 1e-12


def test_sandwich_is_in_order_and_sees_missing_noise() -> None:
    setting = AuditedRun("dp-nsgd", 8, 10, 1 / 8, 0.5)
    good = sandwich(setting, np.random.default_rng(0), 4000, 1e-6)
    assert good.printed >= good.proof >= good.exact >= good.audited > 0.0
    assert good.exact == pytest.approx(epsilon_of(setting.mu().upper, 1e-5))
    bad = sandwich(setting, np.random.default_rng(0), 4000, 1e-6, short=0.7)
    assert bad.audited > bad.exact
