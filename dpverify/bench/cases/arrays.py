"""Arrays that begin where a cache line does: where memory happens to be given is no part of what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LINE = 8  # numbers of a cache line of 64 bytes


def aligned(*shape: int) -> NDArray[np.float64]:
    """Zeros, all of them written, that begin at a whole cache line: across lines, the same work takes longer."""
    import numpy as np

    size = int(np.prod(shape))
    space = np.empty(size + LINE)
    begin = (-space.ctypes.data // 8) % LINE
    out = space[begin : begin + size]
    out[:] = 0.0
    return out.reshape(shape)
