"""Compare section 6's statements on its methods with its own printed numbers and with repetitions."""

from __future__ import annotations

from fractions import Fraction

from dpverify.harness import Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.harness.search.derived_checks import of_variant
from dpverify.harness.simulation.recorded_orders import (
    RecordedExperiment,
    RecordedOrdersCheck,
)
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.experiments.printed_results import NETWORKS, TABLES

CHECKS = PaperChecks("wang2019", __name__)

BASELINES = ("dp-gd", "dp-agd", "rrpsgd")


def _smallest(
    point: Point,
    statement: Statement,
    *,
    factor: float = 1.0,
    exempt: tuple[str, ...] = (),
) -> Outcome:
    """Test whether DP-SRM's printed gradient norm, times a factor, is below every baseline's, except ``but`` on a9a."""
    del statement
    (table,) = (table for table in TABLES.values() if table.examples == point["n"])
    epsilon = float(point["epsilon"])
    srm_norm, _ = table.rows[epsilon, "dp-srm"].gradient_norm
    for baseline in BASELINES:
        baseline_norm, _ = table.rows[epsilon, baseline].gradient_norm
        left = Fraction(str(factor * srm_norm))
        right = Fraction(str(baseline_norm))
        if left >= right and not (table.data == "a9a" and baseline in exempt):
            return Outcome(
                False,
                left,
                right,
                f"on {table.data} DP-SRM has {srm_norm}, {baseline.upper()} {baseline_norm}",
            )
    return Outcome(True)


def _smallest_except_agd(point: Point, statement: Statement) -> Outcome:
    return _smallest(point, statement, exempt=("dp-agd",))


def _five_times(point: Point, statement: Statement) -> Outcome:
    return _smallest(point, statement, factor=5.0)


CHECKS.add(
    RuleCheck(
        "section-6-1-order-gradient-norm",
        "printed-tables",
        points=lambda _: (
            {"n": table.examples, "epsilon": epsilon}
            for table in TABLES.values()
            for epsilon in ("1/5", "1/2")
        ),
        is_satisfied=of_variant(_smallest, _smallest_except_agd),
        planted=[
            Planted("DP-SRM's norms five times as long", is_satisfied=_five_times)
        ],
        region="all four settings of Tables 2 and 3",
        leaves_out="the figures, and whether the numbers can be had again",
    )
)

REPETITIONS = (
    RecordedExperiment(
        "dpverify compare --experiment wang2019:table-2 --data a9a --test-data a9a.t",
        "f73c66554e29481c113fe90f5f84baa8ff5b3dfd4673d3732b3bbc74d717813b",
        "a9a, 10 seeds, epsilon 0.2 and 0.5, the noise as printed and as needed",
    ),
    RecordedExperiment(
        "dpverify compare --experiment wang2019:table-3 --data ijcnn1 --test-data ijcnn1.t",
        "742f3d9788382cda74b1a572c2216c1386909a73c0e4876d2fc074dd3c307e26",
        "ijcnn1, likewise",
    ),
)
for repeated in ("objective", "gradient-norm", "convergence", "test-error", "cpu-time"):
    CHECKS.add(
        RecordedOrdersCheck(
            f"section-6-1-order-{repeated}",
            "repeated-tables",
            variants=("printed",),
            experiments=REPETITIONS,
            leaves_out="other choices of what is not printed, such as b_0 (here b) and the grid of step lengths",
        )
    )

SECTION_6_2 = RecordedExperiment(
    "dpverify compare --experiment wang2019:section-6-2 --data mnist --epochs 4 --settings 3 --seeds 5",
    "139209dc4c44b9593285be3cafe62650f88f57c07bb9558566c525e2e982b660",
    "MNIST, epsilon 1.2, 3 and 7, four passes over the data, 3 settings, 5 seeds",
)
for repeated in ("error", "faster"):
    CHECKS.add(
        RecordedOrdersCheck(
            f"section-6-2-mnist-{repeated}",
            "repeated-network",
            experiments=[SECTION_6_2],
            leaves_out="longer runs, finer grids, and the number of iterations, which is not printed",
        )
    )


def _comparable(
    point: Point, statement: Statement, *, tolerance: float = 2.0, exempt: float = 0.0
) -> Outcome:
    """Test whether the printed test errors with CNN6 differ by less than ``within``, except at epsilon ``but``."""
    del statement
    epsilon = float(point["epsilon"])
    srm_error, sgd_error = NETWORKS["cnn6"].errors[epsilon]
    words = f"at epsilon = {epsilon:g} DP-SRM has {srm_error}% and DP-SGD {sgd_error}%"
    return Outcome(
        epsilon == exempt or abs(srm_error - sgd_error) < tolerance, note=words
    )


def _comparable_except_at_4(point: Point, statement: Statement) -> Outcome:
    return _comparable(point, statement, exempt=4.0)


def _nearly_equal(point: Point, statement: Statement) -> Outcome:
    return _comparable(point, statement, tolerance=0.05)


CHECKS.add(
    RuleCheck(
        "section-6-2-cnn6-comparable",
        "printed-numbers",
        points=lambda _: (
            {"epsilon": int(epsilon)} for epsilon in NETWORKS["cnn6"].errors
        ),
        is_satisfied=of_variant(_comparable, _comparable_except_at_4),
        planted=[
            Planted("nearer than a twentieth of a percent", is_satisfied=_nearly_equal)
        ],
        region="all three printed pairs",
        leaves_out="the figures, and whether the numbers can be had again",
    )
)
