"""Check Theorems 6 and 9 and their lemmas by runs with the theorems' parameters, on the worst case of each term."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from dpverify.harness import PaperChecks
from dpverify.harness.checks import BudgetName
from dpverify.harness.sides import printed_side
from dpverify.harness.simulation.runs import NO_FAULT, UPHILL, OptimizerFault
from dpverify.harness.simulation.runs_check import RunsCheck
from dpverify.harness.simulation.runs_search import Effort, SearchRunsCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility.checks import theorems
from dpverify.papers.tran2022.utility.checks.simulation_cases import (
    LOUD,
    SHORT_STEPS,
    SlopeCase,
    SlopeFamily,
    run_theorem_6,
    run_theorem_9,
)

CHECKS = PaperChecks("tran2022", __name__, theorems.MEASURED)

FRESH = {"ordering": "fresh", "depth": "levels"}
ONCE = {"ordering": "once", "depth": "levels"}

RAMP = SlopeCase("ramp", 400, 400 * 51**2, 3, bend=51 / 16)
LONG_RAMP = SlopeCase("long ramp", 1600, 1600 * 56**2, 3, bend=7.0)
"""No run leaves these ramps: the gradient is G at every iterate."""

RAMP_CHECKS = (
    (FRESH, {"standard": (RAMP, LONG_RAMP), "full": (RAMP, LONG_RAMP)}),
    (ONCE, {"standard": (RAMP,), "full": (RAMP, LONG_RAMP)}),
)

SLOPES = {
    "smoke": (SlopeCase("slope", 64, 2**18, reach=0.1, bend=10.0),),
    "standard": (
        SlopeCase("deep slope", 256, 256 * 90**2, 3, reach=0.3, bend=10.0),
        SlopeCase("wide slope", 256, 2**20, 8, reach=0.1, bend=10.0),
        SlopeCase("antipodes", 256, 2**20, slope=0.7, reach=0.1, bend=10.0, offset=0.3),
        SlopeCase("valley", 256, 2**20, reach=0.02, bend=40.0, rise=1.0),
    ),
}
"""Cases of start-up and noise, sampling noise, and curvature. In all cases the corrected bound is below the slope."""

ALMOST_1 = 1 - Fraction(1, 10**6)
"""A delta for which log(1/delta) is so small that the printed bound of Theorem 9 is not
vacuous at sizes that can be run. For delta = 10^-6 this would require T = 10^10 N."""

BOX = SlopeCase(
    "small gradients", 400, 160000, 3, ALMOST_1, slope=1e-6, reach=1 / 40, bend=5.0
)
"""G = 10^-6, L = G/4, R = 2.5 G: in these units the noise of the box, which lacks the factor L, is far too large."""
BOX_FROM: dict[str, BudgetName] = {"fresh": "standard", "once": "full"}

SHORT_WAYS = {
    "smoke": (
        SlopeCase(
            "slope", 16, 40000, delta=1 - Fraction(1, 10**4), reach=0.1, bend=10.0
        ),
    ),
    "standard": (
        SlopeCase(
            "deep slope", 16, 160000, 1, 1 - Fraction(1, 10**4), reach=0.25, bend=10.0
        ),
        SlopeCase(
            "antipodes",
            16,
            160000,
            1,
            1 - Fraction(1, 10**4),
            slope=0.8,
            reach=0.1,
            bend=10.0,
            offset=0.2,
        ),
        SlopeCase(
            "valley",
            16,
            160000,
            1,
            1 - Fraction(1, 10**4),
            reach=0.02,
            bend=40.0,
            rise=1.0,
        ),
    ),
}
"""The same problems for Algorithm 2, which has longer steps in fewer epochs."""

FAMILY_6 = SlopeFamily(
    (4.0, 10.0),
    (14.0, 20.0),
    (0.0, 2.0),
    deltas=[Fraction(1, 2), *(Fraction(1, 10**k) for k in (3, 6, 12, 24))],
)
FAMILY_9 = SlopeFamily(
    (2.0, 6.0),
    (13.0, 16.0),
    (0.0, 2.0),
    deltas=[Fraction(1, 2), *(1 - Fraction(1, 10**k) for k in (1, 2, 4, 6))],
)

PRINTED_9 = SlopeCase("slope", 400, 160000, 1, ALMOST_1, reach=1 / 40, bend=5.0)


def _bound(statement: Statement, case: SlopeCase) -> float:
    return printed_side(statement, case.point)


def _top(statement: Statement, case: SlopeCase) -> float:
    return case.top


def _gradient_6(
    statement: Statement, case: SlopeCase, seed: int, fault: OptimizerFault = NO_FAULT
) -> float:
    """Return the mean gradient norm of a run of Algorithm 1."""
    return run_theorem_6(statement, case, seed, fault).gradient


def _seconds_6(case: SlopeCase) -> float:
    """Return the core seconds of a run of Algorithm 1: a measured value plus a fifth."""
    nanoseconds = 12.0 + 5.0 * case.dimension + (50.0 if case.offset else 0.0)
    return 1e-9 * nanoseconds * case.steps


def _gradient_9(
    statement: Statement,
    case: SlopeCase,
    seed: int,
    fault: OptimizerFault = NO_FAULT,
    box: bool = False,
) -> float:
    """Return the mean gradient norm of a run of Algorithm 2, with the noise of the proof or of the box."""
    return run_theorem_9(statement, case, seed, fault, box=box).gradient


def _seconds_9(case: SlopeCase) -> float:
    """Return the core seconds of a run of Algorithm 2: a measured value plus a fifth."""
    return 1e-9 * (580.0 + 30.0 * case.dimension) * case.steps


OTHERS = "floats; other problems and sizes"
_runs = partial(RunsCheck[SlopeCase], bound=_bound, top=_top, leaves_out=OTHERS)
_search = partial(SearchRunsCheck[SlopeCase], bound=_bound, top=_top, leaves_out=OTHERS)

CHECKS.add(
    *(
        _runs(
            "theorem-6",
            f"runs-ramp-{readings['ordering']}",
            cases=cases,
            least_budget="standard",
            measure=_gradient_6,
            seconds_each=_seconds_6,
            readings=readings,
            variants=("printed",),
            region="Algorithm 1 at the theorem's parameters on a ramp that no run can leave; identical examples",
            leaves_out="floats; the depth matters for T < 2N only",
        )
        for readings, cases in RAMP_CHECKS
    ),
    _runs(
        "theorem-6",
        "runs",
        cases={**SLOPES, "full": SLOPES["standard"]},
        measure=_gradient_6,
        faults=(
            (UPHILL, "slope"),
            (LOUD, "slope"),
            (UPHILL, "valley"),
            (SHORT_STEPS, "valley"),
        ),
        seconds_each=_seconds_6,
        readings=FRESH,
        variants=("amended",),
        region="Algorithm 1 at the theorem's parameters: slopes that end in a plain or a valley, privacy noise in one "
        "and more dimensions, antipodal gradients, large curvature",
    ),
    *(
        _runs(
            "theorem-9",
            f"runs-box-{ordering}",
            cases={"standard": (BOX,), "full": (BOX,)},
            least_budget=least,
            measure=partial(_gradient_9, box=True),
            seconds_each=_seconds_9,
            readings={"ordering": ordering},
            variants=("printed",),
            region="Algorithm 2 at the theorem's parameters with the noise of its box, delta_Delta = delta_r = 2 eta N "
            "without L, in units in which G and L are small; identical examples, so that the order does not matter",
            leaves_out="floats; with the proof's noise, L times as large, this problem is harmless",
        )
        for ordering, least in BOX_FROM.items()
    ),
    _runs(
        "theorem-9",
        "runs-printed",
        cases={"standard": (PRINTED_9,), "full": (PRINTED_9,)},
        least_budget="standard",
        measure=_gradient_9,
        seconds_each=_seconds_9,
        readings={"ordering": "fresh"},
        variants=("printed",),
        region="Algorithm 2 at the theorem's parameters with the noise of the proof's sensitivities, on a slope",
        leaves_out="floats; other problems and sizes; for small delta the printed bound is vacuous where runs can go",
    ),
    _runs(
        "theorem-9",
        "runs",
        cases={**SHORT_WAYS, "full": SHORT_WAYS["standard"]},
        measure=_gradient_9,
        faults=((UPHILL, "slope"), (UPHILL, "valley")),
        seconds_each=_seconds_9,
        readings={"ordering": "fresh"},
        variants=("amended",),
        region="Algorithm 2 at the theorem's parameters with the noise of the proof's sensitivities: a slope that ends "
        "in a plain, antipodal gradients, large curvature",
    ),
    _search(
        "theorem-6",
        "runs-search",
        family=FAMILY_6,
        effort={"standard": Effort(120, 8), "full": Effort(1000, 40)},
        least_budget="standard",
        measure=_gradient_6,
        seconds_each=0.012,
        readings=FRESH,
        region="slopes, valleys and antipodes; N to 1024, T to 2^20, d to 4, delta from 1/2 to 10^-24",
    ),
    _search(
        "theorem-9",
        "runs-search",
        family=FAMILY_9,
        effort={"standard": Effort(60, 4), "full": Effort(300, 30)},
        least_budget="standard",
        measure=_gradient_9,
        seconds_each=0.02,
        readings={"ordering": "fresh"},
        variants=("amended",),
        region="slopes, valleys and antipodes; N to 64, T to 2^16, d to 4, delta from 1/2 to 1 - 10^-6; the noise of "
        "the proof's sensitivities",
    ),
)
