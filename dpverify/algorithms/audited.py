"""Mechanisms on their worst pair of neighbours, for ``dpverify audit``."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dpverify.privacy.audit.records import Law


class AuditTarget(NamedTuple):
    """A mechanism with all that belongs to its audit.

    Examples
    --------
    >>> AuditTarget(lambda dataset, rng: dataset, (0.0, 1.0)).law
    'any'
    """

    mechanism: Callable[..., Any]  # as ``audit`` takes them
    datasets: object
    score: Callable[..., Any] | None = None
    law: Law = "any"  # the law, unless the user chooses another one
    epsilon: float | None = None  # the claim, unless the user makes one
    remarks: tuple[str, ...] = ()  # what the reader of the result should know


def gaussian_target(
    description: str, mechanism: Callable[..., Any], datasets: object, mu: float, delta: float
) -> AuditTarget:
    """Return a mechanism whose outputs are Gaussian, with the epsilon that the accountant's ``mu`` gives at delta."""
    from dpverify.privacy.gaussian import epsilon_of

    certified = epsilon_of(mu, delta)
    remark = f"{description}; the accountant says epsilon <= {certified:.4g} (mu <= {mu:.4g})"
    claim = certified if math.isfinite(certified) else None
    return AuditTarget(mechanism, datasets, None, "gaussian", claim, (remark,))


def batch_target(kernel: ModuleType, delta: float) -> AuditTarget:
    """Return a kernel on random batches, which is not Gaussian: the likelihood ratio of its worst case is the score."""
    ends = kernel.certified(delta) if delta > 0.0 else None
    bounds = "" if ends is None else f"; the accountant says {ends.lower:.4g} <= epsilon <= {ends.upper:.4g}"
    claim = None if ends is None else ends.upper
    remarks = (f"{kernel.DESCRIPTION}{bounds}",)
    return AuditTarget(kernel.mechanism, kernel.datasets(), kernel.log_ratio, "any", claim, remarks)
