from __future__ import annotations

import mpmath
import pytest

from dpverify.harness.statistics import exact_tests
from tests.for_each import for_each


def tail_by_definition(value: float, dof: float, *, upper: bool) -> float:
    """The density integrated with 30 digits, which knows nothing of scipy or of the cube-root form."""
    with mpmath.workdps(30):
        half, deviation = mpmath.mpf(dof) / 2, mpmath.sqrt(2 * mpmath.mpf(dof))
        constant = half * mpmath.log(2) + mpmath.loggamma(half)
        ends = [mpmath.mpf(value) + (k if upper else -k) * deviation for k in range(15)]
        inside = [end for end in ends if end > 0] + (
            [] if upper or ends[-1] > 0 else [mpmath.mpf(0)]
        )
        return abs(
            float(
                mpmath.quad(
                    lambda x: mpmath.exp((half - 1) * mpmath.log(x) - x / 2 - constant),
                    inside,
                )
            )
        )


@for_each("dof", [30, 1_000, 100_000, 999_999, 1_000_000, 10**9])
@for_each("score", [-5.5, -2.0, 3.0, 5.5])
def test_tails_agree_with_the_density(dof: float, score: float) -> None:
    value = max(0.5, dof + score * (2 * dof) ** 0.5)
    tail = (
        exact_tests.chi_square_upper_tail
        if score > 0
        else exact_tests.chi_square_lower_tail
    )
    assert tail(value, dof) == pytest.approx(
        tail_by_definition(value, dof, upper=score > 0), rel=1e-4
    )


@for_each("dof", [1, 7.5, 999_999, 1_000_000, 10**9, 10**12])
@for_each("probability", [1e-9, 1e-6, 0.3])
def test_quantiles_invert_tails(dof: float, probability: float) -> None:
    low, high = (
        exact_tests.chi_square_lower_quantile(probability, dof),
        exact_tests.chi_square_upper_quantile(probability, dof),
    )
    # A float's last bit is a visible part of the deviation where there are very many
    # degrees of freedom.
    assert exact_tests.chi_square_lower_tail(low, dof) == pytest.approx(
        probability, rel=1e-3
    )
    assert exact_tests.chi_square_upper_tail(high, dof) == pytest.approx(
        probability, rel=1e-3
    )
