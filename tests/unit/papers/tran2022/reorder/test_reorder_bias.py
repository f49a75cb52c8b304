import itertools
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    Sum,
    alternating_spread,
    constant_spread,
    mean_square,
    table_spread,
)
from dpverify.papers.tran2022.reorder.reorder_lemma_bounds import (
    cross_term,
    largest_difference,
    momentum_once,
    run_mean_bound,
    simple_bound,
    weight_bound,
)
from dpverify.symbolic.exact.numbers import to_ball, to_value

SUMS: tuple[Sum, ...] = ("difference", "estimate", "momentum")
ONE = Fraction(1)
Table = list[list[Fraction]]


def by_definition(
    t: int, n: int, alpha: Fraction, gamma: Fraction, table: Table, once: bool = False
) -> dict[Sum, list[Fraction]]:
    """All three sums for every choice of the orders, from the lines of Algorithm 4 and nothing else."""
    beta, keep, (q, r) = 1 - alpha, 1 - gamma, divmod(t, n)
    epochs = -(-t // n)
    orders = list(itertools.permutations(range(n)))
    out: dict[Sum, list[Fraction]] = {which: [] for which in SUMS}
    for chosen in itertools.product(orders, repeat=1 if once else epochs):
        drawn = [chosen[0 if once else s // n][s % n] for s in range(t)]

        def now(s: int, drawn: list[int] = drawn) -> Fraction:
            return table[(s - 1) // n][drawn[s - 1]]

        def change(s: int, drawn: list[int] = drawn) -> Fraction:
            return now(s, drawn) - table[(s - 1) // n - 1][drawn[s - 1]]

        def full(s: int) -> Fraction:
            row = table[(s - 1) // n]
            return sum(row, Fraction(0)) / n

        def window(a: int, b: int, term: Callable[[int], Fraction]) -> Fraction:
            return sum((beta ** (b - s) * term(s) for s in range(a, b + 1)), Fraction(0))

        g = beta ** (t - r) * window(1, r, now)
        for i in range(q):
            if i:
                a, b = t - i * n + 1, t - (i - 1) * n
                c = sum((keep**j * beta ** ((i - 1 - j) * n) for j in range(i)), Fraction(0))
                g += c * (keep * window(a, b, change) + gamma * window(a, b, now))
            g += beta ** (n * i) * keep ** (q - i - 1) * window(r + 1, r + n, now)
        m_hat, m, mean = alpha * g, alpha * window(1, t, now), alpha * window(1, t, full)
        out["difference"].append(m_hat - m)
        out["estimate"].append(m_hat - mean)
        out["momentum"].append(m - mean)
    return out


ENTRIES = st.fractions(min_value=-2, max_value=2, max_denominator=3)
WEIGHTS = st.fractions(min_value=Fraction(1, 7), max_value=1, max_denominator=7)


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_exact_mean_squares_are_those_of_all_orders(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 3))
    t = data.draw(st.integers(1, {1: 6, 2: 9, 3: 8}[n]))
    table = data.draw(st.lists(st.lists(ENTRIES, min_size=n, max_size=n), min_size=-(-t // n), max_size=-(-t // n)))
    alpha, gamma = data.draw(WEIGHTS), data.draw(WEIGHTS)
    for which, values in by_definition(t, n, alpha, gamma, table).items():
        assert sum(values) == 0 or n == 1
        if n > 1:
            mean = sum((value**2 for value in values), Fraction(0)) / len(values)
            assert mean_square(which, t, n, alpha, gamma, table_spread(table)) == mean


def test_one_example_has_one_order() -> None:
    assert mean_square("difference", 7, 1, Fraction(1, 2), Fraction(1, 3), constant_spread(ONE)) == 0
    assert weight_bound("difference", 7, 1, Fraction(1, 2), Fraction(1, 3), ONE, ONE) == 0


def test_balls_of_long_runs_agree_with_fractions() -> None:
    exact = mean_square("estimate", 96, 8, Fraction(1, 4), Fraction(1, 2), alternating_spread(ONE))
    ball = mean_square(
        "estimate", 96, 8, Fraction(25, 100) + Fraction(1, 10**30), Fraction(1, 2), alternating_spread(ONE)
    )
    assert abs(to_ball(to_value(exact)) - to_ball(to_value(ball))) < 1e-15


def test_largest_difference_is_the_largest_of_all_orders() -> None:
    alpha, gamma = Fraction(2, 5), Fraction(1, 3)
    for n, t in ((2, 4), (2, 5), (2, 7), (4, 8)):
        table = [[ONE] * (n // 2) + [-ONE] * (n // 2)] * -(-t // n)
        found = max(abs(value) for value in by_definition(t, n, alpha, gamma, table)["difference"])
        assert largest_difference(t, n, alpha, gamma, ONE) == found
    with pytest.raises(ValueError, match="n_examples must be even, got n_examples=3"):
        largest_difference(7, 3, alpha, gamma, ONE)


def test_one_permutation_has_the_mean_square_of_its_formula() -> None:
    alpha = Fraction(2, 5)
    for n, t in ((2, 1), (2, 5), (3, 7), (3, 9), (4, 10)):
        row = [Fraction(k) for k in range(n)]
        centred = [value - sum(row, Fraction(0)) / n for value in row]
        values = by_definition(t, n, alpha, Fraction(1, 3), [centred] * -(-t // n), once=True)
        own = sum((value**2 for value in centred), Fraction(0)) / n
        assert set(values["difference"]) == {Fraction(0)}
        mean = sum((value**2 for value in values["momentum"]), Fraction(0)) / len(values["momentum"])
        assert momentum_once(t, n, alpha, own) == mean
    assert momentum_once(5, 1, alpha, ONE) == 0


@pytest.mark.parametrize("n", [2, 3, 8, 40])
def test_one_permutation_keeps_lemma_11_for_such_losses(n: int) -> None:
    for alpha in (Fraction(1, 10 * n), Fraction(1, n), Fraction(3, n), ONE):
        for t in (1, n, n + 1, 5 * n + n // 2, 20 * n):
            assert momentum_once(t, n, min(alpha, ONE), ONE) <= 2 * min(alpha, ONE)


def test_cross_terms_add_up_to_nothing_over_a_whole_epoch() -> None:
    n = 5
    for ordering in ("fresh", "once"):
        assert 1 + sum(cross_term(1, j, n, ordering, ONE) for j in range(2, n + 1)) == 0
    assert cross_term(1, 6, n, "once", ONE) == 1
    assert cross_term(1, 7, n, "once", ONE) == Fraction(-1, 4)
    assert cross_term(1, 6, n, "fresh", ONE) == 0


GRID = [
    (n, min(Fraction(c, n), ONE), gamma, q * n + r)
    for n in (2, 3, 8, 33)
    for c in (1, 2, n)
    for gamma in (Fraction(9, 10), Fraction(1, 8), Fraction(1, 500))
    for q, r in ((1, 0), (2, 0), (3, n // 2), (30, n - 1))
]


@pytest.mark.parametrize("which", SUMS)
def test_bounds_stand_in_their_order(which: Sum) -> None:
    for n, alpha, gamma, t in GRID:
        for spreads, change in ((constant_spread(ONE), Fraction(0)), (alternating_spread(Fraction(2)), Fraction(2))):
            exact = to_ball(to_value(mean_square(which, t, n, alpha, gamma, spreads))).sqrt()
            weights = weight_bound(which, t, n, alpha, gamma, ONE, change)
            assert exact <= weights
            assert weights <= simple_bound(which, alpha, gamma, ONE, change)


def test_simple_bound_is_nearly_attained_by_the_weights() -> None:
    weights = weight_bound("difference", 4, 2, ONE, Fraction(1, 1000), ONE, Fraction(0))
    assert weights >= simple_bound("difference", ONE, Fraction(1, 1000), ONE, Fraction(0)) * 99 / 100


@pytest.mark.parametrize(("n", "steps"), [(2, 8), (4, 160), (9, 900)])
def test_mean_over_a_run_is_bounded(n: int, steps: int) -> None:
    for gamma in (Fraction(1, 2), Fraction(1, 20)):
        alpha = Fraction(1, n)
        mean = (
            sum(
                (weight_bound("estimate", t, n, alpha, gamma, ONE, Fraction(1, 3)) for t in range(1, steps + 1)),
                to_ball(to_value(0)),
            )
            / steps
        )
        assert mean <= run_mean_bound(steps, n, alpha, gamma, ONE, Fraction(1, 3))


def test_reconstruction_is_sharper_than_the_momentum_after_some_epochs() -> None:
    n, alpha, gamma = 16, Fraction(1, 16), Fraction(1, 32)
    t = 400 * n
    estimate, momentum = (
        to_ball(to_value(mean_square(which, t, n, alpha, gamma, constant_spread(ONE))))
        for which in ("estimate", "momentum")
    )
    assert estimate < momentum / 20


def test_parameters_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match="alpha must lie in"):
        mean_square("difference", 1, 2, Fraction(0), ONE, constant_spread(ONE))
    with pytest.raises(ValueError, match="gamma must lie in"):
        mean_square("difference", 1, 2, ONE, Fraction(2), constant_spread(ONE))
    with pytest.raises(ValueError, match="t and n_examples must be at least 1"):
        mean_square("difference", 0, 2, ONE, ONE, constant_spread(ONE))
    with pytest.raises(ValueError, match="gamma must be above 0"):
        simple_bound("difference", ONE, Fraction(0), ONE, ONE)
    with pytest.raises(ValueError, match="gamma must be above 0"):
        run_mean_bound(3, 2, ONE, Fraction(0), ONE, ONE)
