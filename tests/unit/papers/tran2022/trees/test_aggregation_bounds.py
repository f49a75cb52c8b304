import math

import pytest
from flint import arb

from dpverify.papers.tran2022.trees.aggregation_bounds import gaussian_delta


def test_a_gaussian_release_is_private_at_the_delta_of_its_shift() -> None:
    """delta(shift, 0) is the total variation distance, and it falls with epsilon and rises with the shift."""
    at_zero = float(gaussian_delta(arb(2), arb(0)).mid())
    assert at_zero == pytest.approx(math.erf(1 / math.sqrt(2)))
    assert gaussian_delta(arb(2), arb(1)) < gaussian_delta(arb(2), arb(0)) < gaussian_delta(arb(3), arb(0))
