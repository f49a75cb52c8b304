from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.papers.tran2022.reorder.reorder_bias_bounds import (
    alternating_spread,
    constant_spread,
    mean_square,
)
from dpverify.symbolic.exact.numbers import to_ball, to_value
from tests.unit.papers.tran2022.reorder.definition import by_definition, table_spread

ONE = Fraction(1)


ENTRIES = st.fractions(min_value=-2, max_value=2, max_denominator=3)


WEIGHTS = st.fractions(min_value=Fraction(1, 7), max_value=1, max_denominator=7)


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_exact_mean_squares_are_those_of_all_orders(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 3))
    t = data.draw(st.integers(1, {1: 6, 2: 9, 3: 8}[n]))
    table = data.draw(
        st.lists(
            st.lists(ENTRIES, min_size=n, max_size=n),
            min_size=-(-t // n),
            max_size=-(-t // n),
        )
    )
    alpha, gamma = data.draw(WEIGHTS), data.draw(WEIGHTS)
    for which, values in by_definition(t, n, alpha, gamma, table).items():
        assert sum(values) == 0 or n == 1
        if n > 1:
            mean = sum((value**2 for value in values), Fraction(0)) / len(values)
            assert mean_square(which, t, n, alpha, gamma, table_spread(table)) == mean


def test_balls_of_long_runs_agree_with_fractions() -> None:
    exact = mean_square(
        "estimate", 96, 8, Fraction(1, 4), Fraction(1, 2), alternating_spread(ONE)
    )
    ball = mean_square(
        "estimate",
        96,
        8,
        Fraction(25, 100) + Fraction(1, 10**30),
        Fraction(1, 2),
        alternating_spread(ONE),
    )
    assert abs(to_ball(to_value(exact)) - to_ball(to_value(ball))) < 1e-15


def test_reconstruction_is_sharper_than_the_momentum_after_some_epochs() -> None:
    n, alpha, gamma = 16, Fraction(1, 16), Fraction(1, 32)
    t = 400 * n
    estimate, momentum = (
        to_ball(to_value(mean_square(which, t, n, alpha, gamma, constant_spread(ONE))))
        for which in ("estimate", "momentum")
    )
    assert estimate < momentum / 20
