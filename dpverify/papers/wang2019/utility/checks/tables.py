"""Appendix A's range, and what is said of Tables 2 to 6, of section 6's grids and in Remark 4.2, as arithmetic."""

from __future__ import annotations

from dpverify.harness import ExhaustiveCheck, PaperChecks, SearchCheck

CHECKS = PaperChecks("wang2019", __name__)

PRINTED = (
    "table-4-a9a",
    "appendix-a-second",
    "table-4-linear",
    "table-5-layers",
    "table-5-total",
    "table-6-layers",
    "table-6-total",
    "remark-4-2-variance",
    "note-size",
    "note-size-corrected",
    "note-margin",
    "note-noise-settings",
    "note-grid",
    "note-cnn6-gradients",
    "note-dual",
    "note-aggregation",
    "section-6-parties",
    "table-2-test-error",
    "table-2-distributed",
    "table-2-distributed-time",
    "table-3-test-error",
    "table-3-dp-agd",
    "table-4-time",
)
for claim in PRINTED:
    CHECKS.add(
        ExhaustiveCheck(
            claim,
            "numbers",
            points=lambda _: ({},),
            region="the numbers that are printed",
            why_sufficient="the statement has no letters",
        )
    )
CHECKS.add(
    ExhaustiveCheck(
        "appendix-a-range",
        "points",
        points=lambda _: ({"u_1": "1/2", "u_2": "9/10"}, {"u_1": "1/3", "u_2": "1/4"}),
        region="two accepted pairs",
        variants=("printed",),
    ),
    SearchCheck("appendix-a-box", "search", region={"drawn": (0, 9)}),
)
