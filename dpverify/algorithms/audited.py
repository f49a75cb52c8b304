"""Mechanisms with a worst-case pair of neighbouring data sets, for ``dpverify audit``."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dpverify.privacy.audit.records import Law


class AuditTarget(NamedTuple):
    """A mechanism with the arguments of its audit.

    Examples
    --------
    >>> AuditTarget(lambda dataset, rng: dataset, (0.0, 1.0)).law
    'any'
    """

    # ``mechanism``, ``datasets`` and ``score`` are as in ``audit``
    mechanism: Callable[..., Any]
    datasets: object
    score: Callable[..., Any] | None = None
    law: Law = "any"  # used unless the user chooses another law
    epsilon: float | None = None  # claimed unless the user makes another claim
    remarks: tuple[str, ...] = ()  # shown with the result


def gaussian_target(
    description: str,
    mechanism: Callable[..., Any],
    datasets: object,
    mu: float,
    delta: float,
) -> AuditTarget:
    """Return the audit of a mechanism with Gaussian outputs; it claims the epsilon of the accountant's ``mu``."""
    from dpverify.privacy.gaussian import epsilon_of

    certified = epsilon_of(mu, delta)
    remark = f"{description}; the accountant says epsilon <= {certified:.4g} (mu <= {mu:.4g})"
    claim = certified if math.isfinite(certified) else None
    return AuditTarget(mechanism, datasets, None, "gaussian", claim, (remark,))


def batch_target(kernel: ModuleType, delta: float) -> AuditTarget:
    """Return the audit of a kernel on random batches. Its score is the log likelihood ratio of the worst case."""
    ends = kernel.certified(delta) if delta > 0.0 else None
    bounds = (
        ""
        if ends is None
        else f"; the accountant says {ends.lower:.4g} <= epsilon <= {ends.upper:.4g}"
    )
    claim = None if ends is None else ends.upper
    remarks = (f"{kernel.DESCRIPTION}{bounds}",)
    return AuditTarget(
        kernel.mechanism, kernel.datasets(), kernel.log_ratio, "any", claim, remarks
    )
