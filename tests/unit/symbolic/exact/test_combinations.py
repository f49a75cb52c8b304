from fractions import Fraction

import pytest
from flint import fmpq

from dpverify.symbolic.exact.combinations import first_difference, kronecker_point, term


def test_combinations_are_a_vector_space_with_empty_sums() -> None:
    a, b = term("full", 1), term("full", 2)
    both = 2 * a - b * fmpq(1, 3) + 0
    assert both.coefficient(("full", 1)) == 2
    assert both.coefficient(("full", 2)) == Fraction(-1, 3)
    assert (both - both).terms == {}
    assert (0 - a).coefficient(("full", 1)) == -1
    with pytest.raises(TypeError, match=r"must be a combination or 0, got 1"):
        a + 1


def test_kronecker_point_separates_all_small_polynomials() -> None:
    alpha, gamma = kronecker_point(2, 1, 3)
    beta, keep = 1 - alpha, 1 - gamma
    monomials = [beta**i * keep**j for i in range(3) for j in range(2)]
    scaled = [m / min(monomials) for m in monomials]
    assert all(
        later >= 4 * earlier
        for earlier, later in zip(sorted(scaled), sorted(scaled)[1:], strict=False)
    )
    with pytest.raises(ValueError, match="must give at most 16000 bits"):
        kronecker_point(200, 50, 4095)
    with pytest.raises(ValueError, match="must be at least 1, got 0, 1, 1"):
        kronecker_point(0, 1, 1)


def test_first_difference_is_the_first_name_in_order() -> None:
    left = term("a", 1) + 2 * term("b", 1) + term("c")
    assert first_difference(left, left) is None
    assert first_difference(left, term("a", 1) + term("b", 1)) == ("b", 1)
    assert first_difference(left, left + term("a", 2)) == ("a", 2)
