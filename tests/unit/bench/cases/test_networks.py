from __future__ import annotations

import numpy as np
import pytest

from dpverify.bench.cases.networks import PARAMETERS
from tests.unit.bench.cases.tiny import TINY, told


@pytest.mark.slow
def test_the_plain_gradient_is_of_the_same_network_as_the_rows() -> None:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    found = told("networks/gradients-64")
    mean, rows = found["mean"], found["rows"]
    assert sum(each.numel() for each in mean) == PARAMETERS
    batch = TINY["networks/gradients-64"]["batch"]
    assert [each.shape for each in rows] == [(batch, *each.shape) for each in mean]


def test_images_that_are_read_are_the_bytes_after_the_head() -> None:
    unpacked, read = told("networks/idx").values()
    assert read.shape == (5, 4, 4)
    assert unpacked[16:] == read.tobytes()
    assert np.count_nonzero(read == 0) > read.size / 2
