"""What ``dpverify audit`` is asked to audit: a function of the user's, or a kernel of ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from dpverify.cli.audit_loading import load_datasets, load_function
from dpverify.cli.exits import BadInput
from dpverify.privacy.audit.records import AuditError, Law

KERNELS = ("dp-nsgd", "sr-nsgd")


class AuditTarget(NamedTuple):
    """A mechanism with all that belongs to it."""

    mechanism: Callable[..., Any]  # as ``audit`` takes them
    datasets: object
    score: Callable[..., Any] | None = None
    law: Law = "any"  # the law, unless the user says otherwise
    epsilon: float | None = None  # the claim, unless the user makes one
    remarks: tuple[str, ...] = ()  # what the reader of the result should know


def find(mechanism: str, datasets: str | None, score: str | None, delta: float) -> AuditTarget:
    """Find what the user named."""
    scorer = None if score is None else load_function("--score", score)[0]
    if mechanism not in KERNELS:
        function, module = load_function("MECHANISM", mechanism)
        return AuditTarget(function, load_datasets(datasets, module), scorer)
    if datasets is not None:
        raise BadInput("--datasets", datasets, f"{mechanism} brings its own")
    from dpverify.papers.tran2022.accounting.audit_kernels import describe, kernel_mechanism
    from dpverify.privacy.gaussian import epsilon_of

    if not 0.0 <= delta < 1.0:
        raise AuditError(f"delta: {delta}: must be at least 0 and below 1")
    kernel = kernel_mechanism(mechanism)
    certified = epsilon_of(kernel.mu.upper, delta)
    remark = f"{describe(mechanism)}; the accountant says epsilon <= {certified:.4g} (mu <= {kernel.mu.upper:.4g})"
    claim = certified if math.isfinite(certified) else None
    return AuditTarget(kernel.mechanism, kernel.datasets, scorer, "gaussian", claim, (remark,))
