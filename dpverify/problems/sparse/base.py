"""What an optimizer that takes one example a step needs of a problem with sparse rows."""

from __future__ import annotations

from typing import Protocol

from dpverify.kernels.csr import Common, SparseGradient
from dpverify.kernels.typing import Vector
from dpverify.problems.sparse.rows import CsrRows


class SparseProblem(Protocol):
    """Rows, labels, the first iterate; and the gradient of an example in two parts, of which one is its own."""

    @property
    def x(self) -> CsrRows: ...  # noqa: D102 -- n rows of d columns
    @property
    def y(self) -> Vector: ...  # noqa: D102 -- labels, shape (n,)
    @property
    def start(self) -> Vector: ...  # noqa: D102 -- w_1, shape (d,)
    @property
    def lam(self) -> float: ...  # noqa: D102 -- weight that ``common`` takes
    @property
    def common(self) -> Common: ...  # noqa: D102 -- kernel of what all gradients have in common, O(d)
    @property
    def example_gradient(self) -> SparseGradient: ...  # noqa: D102 -- kernel that adds what is an example's own
