import math

import pytest
from flint import arb

from dpverify.papers.tran2022.trees.tree_aggregation_bounds import gaussian_delta
from dpverify.privacy.gaussian import delta_of
from tests.for_each import for_each


def test_a_gaussian_release_is_private_at_the_delta_of_its_shift() -> None:
    """delta(shift, 0) is the total variation distance, and it falls with epsilon and rises with the shift."""
    at_zero = float(gaussian_delta(arb(2), arb(0)).mid())
    assert at_zero == pytest.approx(math.erf(1 / math.sqrt(2)))
    assert (
        gaussian_delta(arb(2), arb(1))
        < gaussian_delta(arb(2), arb(0))
        < gaussian_delta(arb(3), arb(0))
    )


@for_each(("mu", "epsilon"), [(0.5, 1.0), (1.0, 0.1), (3.0, 8.0)])
def test_it_is_the_delta_that_the_accountants_use(mu: float, epsilon: float) -> None:
    assert float(gaussian_delta(arb(mu), arb(epsilon)).mid()) == pytest.approx(
        delta_of(mu, epsilon), rel=1e-9
    )
