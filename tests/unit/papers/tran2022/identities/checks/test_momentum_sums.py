from fractions import Fraction

from flint import fmpq

from dpverify.papers.tran2022.identities.checks import momentum_sums
from dpverify.papers.tran2022.identities.combinations_bounds import (
    Ordering,
    left_over,
    paper_functions,
)
from dpverify.symbolic.exact.combinations import Combination


def test_what_is_left_over_has_mean_zero_and_half_of_it_has_not() -> None:
    order = Ordering("free", 3)
    rest = left_over(
        11, 3, Fraction(2, 5), Fraction(1, 3), paper_functions(order, Fraction(2, 5))
    )
    assert momentum_sums._has_mean_zero(rest, order)
    first = next(iter(rest.terms))
    assert not momentum_sums._has_mean_zero(
        Combination({first: rest.terms[first]}), order
    )
    late = Combination({("anchor", 2, 1): fmpq(1), ("anchor", 2, 2): fmpq(-1)})
    assert not momentum_sums._has_mean_zero(late, order), (
        "the anchor is later than the draw"
    )
