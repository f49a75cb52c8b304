"""Algorithms 1 and 2: the epsilon sandwich at several runs."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.tran2022.accounting.sandwich import AuditedRun
from dpverify.papers.tran2022.privacy.checks.sandwich_check import SandwichCheck

CHECKS = PaperChecks("tran2022", __name__)

NSGD = (
    AuditedRun("dp-nsgd", 33, 40, 1 / 33, 0.5),
    AuditedRun("dp-nsgd", 16, 64, 1 / 16, 1.0),
    AuditedRun("dp-nsgd", 16, 60, 1 / 4, 0.5, "once"),
    AuditedRun("dp-nsgd", 100, 60, 1 / 100, 0.5),
    AuditedRun("dp-nsgd", 4, 64, 1 / 4, 0.5),
)
"""A little more than one epoch; whole epochs; a last one cut short; less than one; many."""

SR_NSGD = (
    AuditedRun("sr-nsgd", 8, 48, 1 / 8, 0.5, "once"),
    AuditedRun("sr-nsgd", 16, 50, 1 / 16, 0.5, "once"),
    AuditedRun("sr-nsgd", 16, 64, 1 / 4, 0.5, "once"),
    AuditedRun("sr-nsgd", 64, 40, 1 / 64, 0.5, "once"),
)
"""Whole epochs; a last one cut short; larger alpha; less than one epoch."""

NSGD_OUTSIDE = (
    AuditedRun("dp-nsgd", 1, 64, 1 / 1000, 1.0),
    AuditedRun("dp-nsgd", 1000, 10, 1 / 1000, 0.5),
    AuditedRun("dp-nsgd", 1, 1, 1.0, 1 / 29, delta=0.5),
)
"""alpha below 1/N; T below N/4; epsilon far above log(1/delta)."""

SR_NSGD_OUTSIDE = (AuditedRun("sr-nsgd", 4, 5, 1 / 4, 0.00084, "once", delta=0.5),)
"""Epsilon far above log(1/delta)."""

CHECKS.add(
    SandwichCheck(
        "theorem-4-dp",
        "epsilon-sandwich",
        settings=NSGD,
        outside=NSGD_OUTSIDE,
        short=0.85,
        readings={"ordering": "fresh", "depth": "levels"},
    ),
    SandwichCheck(
        "theorem-8-dp",
        "epsilon-sandwich",
        settings=SR_NSGD,
        outside=SR_NSGD_OUTSIDE,
        short=0.2,
        readings={"ordering": "once"},
        leaves_out="the audit sees m-hat under constant gradients, so nothing of Delta and r; floats",
    ),
)
