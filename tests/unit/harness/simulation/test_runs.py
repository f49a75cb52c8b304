import numpy as np
import pytest

from dpverify.harness.simulation.runs import with_mean


def test_values_move_to_a_mean_and_stay_in_their_range() -> None:
    values = [0.0, 0.2, 1.0]
    for target in (0.1, 0.4, 0.9, 1.0):
        found = with_mean(values, target)
        assert np.mean(found) == pytest.approx(target)
        assert min(found) >= 0.0
        assert max(found) <= 1.0
