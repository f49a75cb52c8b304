"""Theorems 6 and 9 and their lemmas in runs with the theorems' own parameters, on the worst case of each term."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.harness.printed_side import printed_side
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.checks.utility_simulation_cases import (
    NO_FAULT,
    SHORT_STEPS,
    UPHILL,
    Case,
    Fault,
    run_theorem_6,
)
from dpverify.papers.tran2022.checks.utility_simulation_check import RunsCheck

CHECKS = PaperChecks("tran2022", __name__)

FRESH = {"ordering": "fresh", "depth": "levels"}
ONCE = {"ordering": "once", "depth": "levels"}

RAMP = Case("ramp", 400, 400 * 51**2, 3, bend=51 / 16)
LONG_RAMP = Case("long ramp", 2000, 2000 * 64**2, 3, bend=8.0)
"""No run leaves these: the gradient is G at every iterate."""

SLOPES = {
    "smoke": (Case("slope", 64, 2**18, reach=0.1, bend=10.0),),
    "standard": (
        Case("slope", 256, 256 * 90**2, 3, reach=0.3, bend=10.0),
        Case("wide slope", 256, 2**20, 16, reach=0.1, bend=10.0),
        Case("antipodes", 256, 2**20, slope=0.7, reach=0.1, bend=10.0, offset=0.3),
        Case("valley", 256, 2**20, reach=0.02, bend=40.0, rise=1.0),
    ),
}
"""Start-up and noise, sampling noise, curvature; on all of them the corrected bound is below the slope."""


def _bound(statement: Statement, case: Case) -> float:
    return printed_side(statement, case.point)


def _top(statement: Statement, case: Case) -> float:
    del statement
    return case.top


def _gradient_6(statement: Statement, case: Case, seed: int, fault: Fault = NO_FAULT) -> float:
    """Mean gradient norm of one run of Algorithm 1."""
    return run_theorem_6(statement, case, seed, fault).gradient


def _seconds_6(case: Case) -> float:
    """Core seconds of one run of Algorithm 1: measured, and a fifth more."""
    nanoseconds = 12.0 + 5.0 * case.dimension + (50.0 if case.offset else 0.0)
    return 1e-9 * nanoseconds * case.steps


CHECKS.add(
    *(
        RunsCheck(
            "theorem-6",
            f"runs-ramp-{readings['ordering']}",
            cases={"smoke": smoke, "standard": (RAMP, LONG_RAMP), "full": (RAMP, LONG_RAMP)},
            measure=_gradient_6,
            bound=_bound,
            top=_top,
            seconds_each=_seconds_6,
            readings=readings,
            variants=("printed",),
            region="Algorithm 1 at the theorem's parameters on a ramp that no run can leave; identical examples",
            leaves_out="floats; the depth matters for T < 2N only",
        )
        for readings, smoke in ((FRESH, (RAMP,)), (ONCE, ()))
    ),
    RunsCheck(
        "theorem-6",
        "runs",
        cases={**SLOPES, "full": SLOPES["standard"]},
        measure=_gradient_6,
        bound=_bound,
        top=_top,
        faults=((UPHILL, "slope"), (SHORT_STEPS, "slope")),
        seconds_each=_seconds_6,
        readings=FRESH,
        variants=("amended",),
        region="Algorithm 1 at the theorem's parameters: slopes that end in a plain or a valley, privacy noise in one "
        "and more dimensions, antipodal gradients, large curvature",
        leaves_out="floats; other problems and sizes",
    ),
)
