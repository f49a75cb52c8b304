"""Compare section 4.2's statements on its methods on MNIST with a repetition of Figure 1 on a smaller grid."""

from __future__ import annotations

from dpverify.harness import PaperChecks
from dpverify.harness.simulation.recorded_orders import (
    RecordedExperiment,
    RecordedOrdersCheck,
)

CHECKS = PaperChecks("zhang2021", __name__)

FIGURE_1 = RecordedExperiment(
    "dpverify compare --experiment zhang2021:figure-1 --data mnist --epochs 1 --settings 4 --seeds 5",
    "208cbb97233d83dcabe42fc375714d5e71869ae939fc981e8c8804a5aeacab7c",
    "MNIST, epsilon 8, one pass over the data, 4 step sizes, 5 seeds",
)

for finding in ("stages", "early", "sgdm", "momentum"):
    for part in ("training", "testing"):
        CHECKS.add(
            RecordedOrdersCheck(
                f"section-4-2-{finding}-mnist-{part}",
                "repeated-figure",
                experiments=[FIGURE_1],
                leaves_out="longer runs, finer grids, and other choices of what is not printed, such as delta",
            )
        )
