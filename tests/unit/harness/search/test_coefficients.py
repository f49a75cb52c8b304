from fractions import Fraction

import numpy as np
from flint import arb

from dpverify.harness import Outcome
from dpverify.harness.search.derived_checks import compare_arrays, compare_coefficients
from dpverify.symbolic.exact.combinations import Combination, Name, term


def named(name: Name) -> str:
    return f"vector {name[0]}"


def test_equal_sums_agree() -> None:
    assert (
        compare_coefficients(term("a") + term("b"), term("b") + term("a"), named).ok
        is True
    )


def test_first_difference_is_shown_with_both_sides() -> None:
    said = compare_coefficients(2 * term("b") + term("c"), term("b"), named)
    assert said == Outcome(False, Fraction(2), Fraction(1), "coefficients of vector b")


def test_balls_that_overlap_are_not_decided() -> None:
    wide = Combination({("a",): arb(1, 0.5)})
    assert compare_coefficients(wide, term("a"), named).ok is None
    assert compare_coefficients(wide, 2 * term("a"), named).ok is False


def test_arrays_agree_up_to_rounding() -> None:
    exact = np.array([[1.0, 2.0], [0.0, 4.0]])
    assert compare_arrays(
        exact * (1 + 1e-14), exact, lambda *at: f"{at}", rtol=1e-13
    ).ok
    off = exact.copy()
    off[1, 0] = 1e-9
    said = compare_arrays(
        off, exact, lambda row, column: f"row {row}, column {column}", rtol=1e-13
    )
    assert (said.ok, said.note) == (False, "row 1, column 0: 1e-09 and 0.0")
    assert compare_arrays(off, exact, lambda *at: f"{at}", rtol=1e-13, atol=1e-8).ok
