from fractions import Fraction

import pytest

from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    Sum,
    alternating_spread,
    constant_spread,
    cross_term,
    mean_square,
    momentum_once,
    simple_bound,
)
from dpverify.symbolic.exact.numbers import to_ball, to_value
from tests.for_each import for_each
from tests.unit.papers.tran2022.reorder.definition import (
    SUMS,
    by_definition,
    weight_bound,
)

ONE = Fraction(1)


def test_one_example_has_one_order() -> None:
    assert (
        mean_square(
            "difference", 7, 1, Fraction(1, 2), Fraction(1, 3), constant_spread(ONE)
        )
        == 0
    )
    assert (
        weight_bound("difference", 7, 1, Fraction(1, 2), Fraction(1, 3), ONE, ONE) == 0
    )


def test_one_permutation_has_the_mean_square_of_its_formula() -> None:
    alpha = Fraction(2, 5)
    for n, t in ((2, 1), (2, 5), (3, 7), (3, 9), (4, 10)):
        row = [Fraction(k) for k in range(n)]
        centred = [value - sum(row, Fraction(0)) / n for value in row]
        values = by_definition(
            t, n, alpha, Fraction(1, 3), [centred] * -(-t // n), once=True
        )
        own = sum((value**2 for value in centred), Fraction(0)) / n
        assert set(values["difference"]) == {Fraction(0)}
        mean = sum((value**2 for value in values["momentum"]), Fraction(0)) / len(
            values["momentum"]
        )
        assert momentum_once(t, n, alpha, own) == mean
    assert momentum_once(5, 1, alpha, ONE) == 0


@for_each("n", [2, 3, 8, 40])
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


@for_each("which", SUMS)
def test_bounds_stand_in_their_order(which: Sum) -> None:
    for n, alpha, gamma, t in GRID:
        for spreads, change in (
            (constant_spread(ONE), Fraction(0)),
            (alternating_spread(Fraction(2)), Fraction(2)),
        ):
            exact = to_ball(
                to_value(mean_square(which, t, n, alpha, gamma, spreads))
            ).sqrt()
            weights = weight_bound(which, t, n, alpha, gamma, ONE, change)
            assert exact <= weights
            assert weights <= simple_bound(which, alpha, gamma, ONE, change)


def test_simple_bound_is_nearly_attained_by_the_weights() -> None:
    weights = weight_bound("difference", 4, 2, ONE, Fraction(1, 1000), ONE, Fraction(0))
    assert (
        weights
        >= simple_bound("difference", ONE, Fraction(1, 1000), ONE, Fraction(0))
        * 99
        / 100
    )


def test_parameters_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match="alpha must lie in"):
        mean_square("difference", 1, 2, Fraction(0), ONE, constant_spread(ONE))
    with pytest.raises(ValueError, match="gamma must lie in"):
        mean_square("difference", 1, 2, ONE, Fraction(2), constant_spread(ONE))
    with pytest.raises(ValueError, match="t and n_examples must be at least 1"):
        mean_square("difference", 0, 2, ONE, ONE, constant_spread(ONE))
    with pytest.raises(ValueError, match="gamma must be above 0"):
        simple_bound("difference", ONE, Fraction(0), ONE, ONE)
