"""Algorithms 1 and 2: the epsilon sandwich at several runs."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.papers.tran2022.checks.privacy_sandwich_check import SandwichCheck
from dpverify.papers.tran2022.privacy_sandwich_accounting import Setting

CHECKS = PaperChecks("tran2022", __name__)

NSGD = (
    Setting("dp-nsgd", 33, 40, 1 / 33, 0.5),
    Setting("dp-nsgd", 16, 64, 1 / 16, 1.0),
    Setting("dp-nsgd", 16, 60, 1 / 4, 0.5, "once"),
    Setting("dp-nsgd", 100, 60, 1 / 100, 0.5),
    Setting("dp-nsgd", 4, 64, 1 / 4, 0.5),
)
"""A little more than one epoch; whole epochs; a last one cut short; less than one; many."""

SR_NSGD = (
    Setting("sr-nsgd", 8, 48, 1 / 8, 0.5, "once"),
    Setting("sr-nsgd", 16, 50, 1 / 16, 0.5, "once"),
    Setting("sr-nsgd", 16, 64, 1 / 4, 0.5, "once"),
    Setting("sr-nsgd", 64, 40, 1 / 64, 0.5, "once"),
)
"""Whole epochs; a last one cut short; larger alpha; less than one epoch."""

CHECKS.add(
    SandwichCheck(
        "theorem-4-dp",
        "epsilon-sandwich",
        settings=NSGD,
        short=0.85,
        readings={"ordering": "fresh", "depth": "levels"},
        variants=("amended",),
    ),
    SandwichCheck(
        "theorem-8-dp",
        "epsilon-sandwich",
        settings=SR_NSGD,
        short=0.2,
        readings={"ordering": "once"},
        variants=("amended",),
        leaves_out="the audit sees m-hat under constant gradients, so nothing of Delta and r; floats",
    ),
)
