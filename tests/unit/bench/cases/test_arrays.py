from __future__ import annotations

import numpy as np

from dpverify.bench.case import aligned
from tests.for_each import for_each


@for_each("shape", [(1,), (7,), (3, 5), (2, 3, 11)])
def test_arrays_begin_at_a_cache_line_wherever_memory_is_given(
    shape: tuple[int, ...],
) -> None:
    others = []
    for size in range(1, 40):  # moves what comes next
        others.append(np.empty(size))
        made = aligned(*shape)
        assert made.ctypes.data % 64 == 0
        assert made.shape == shape
        assert made.flags.c_contiguous
        assert not made.any()
        others.append(made)
