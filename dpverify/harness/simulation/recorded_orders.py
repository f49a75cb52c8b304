"""Orderings of methods that a paper claims, compared with a recorded repetition of its experiment.

``dpverify compare --experiment`` repeats an experiment. Its recorded result contains every ordering with a confidence
interval of the mean difference over seeds. All intervals of a data set hold jointly at 95%. A check compares the
intervals of its claim with 0. It never refutes: a paper does not print all settings of its experiments, so the settings
that we chose may cause a disagreement. The claim is then "inconclusive", and the message shows the differences.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from dpverify.harness.checks import Check, Context, missed_controls
from dpverify.ledger.check_results import CheckResult, ControlResult, Method
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import bundled

MOST_SHOWN: Final = 3
AS_CLAIMED: Final = "as claimed"
OPPOSITE: Final = "the other way round"


class RecordedExperiment(NamedTuple):
    """A result on the page of experiments, and the digest of its tables, which ties the evidence to it."""

    command: str
    tables_sha256: str
    region: str  # data, grid and seeds


class DifferenceInterval(msgspec.Struct, frozen=True):
    """Confidence interval of the mean difference, method minus other, over the seeds."""

    mean: float
    low: float
    high: float

    @property
    def seen(self) -> str:
        """Description of the difference; lower values are better."""
        if self.high < 0.0:
            return AS_CLAIMED
        return OPPOSITE if self.low > 0.0 else "no difference seen"

    def centred_at(self, mean: float) -> DifferenceInterval:
        """Return the same interval around another mean."""
        shift = mean - self.mean
        return DifferenceInterval(mean, self.low + shift, self.high + shift)


class RecordedOrder(msgspec.Struct, frozen=True):
    """An ordering of the recorded result. Further fields are ignored."""

    claim: str
    epsilon: float
    column: str
    method: str
    other: str
    difference: DifferenceInterval
    noise: str = ""

    def words(self) -> str:
        """Describe the ordering with its interval."""
        noise = f", noise as {self.noise}" if self.noise else ""
        mean, low, high = (
            self.difference.mean,
            self.difference.low,
            self.difference.high,
        )
        comparison = (
            f"{self.method} minus {self.other}, {self.column.replace('_', ' ')}, "
            f"epsilon {self.epsilon:g}{noise}"
        )
        return f"{comparison}: {mean:+.3g} ({low:+.3g} to {high:+.3g})"


@dataclass(frozen=True)
class RecordedOrdersCheck(Check):
    """Judge the orderings of a claim by recorded experiments on the paper's own data."""

    experiments: Sequence[RecordedExperiment] = field(kw_only=True)

    method: ClassVar[Method] = "measurement"

    def cost(self, context: Context) -> float:
        """Return the declared core seconds for reading a file."""
        return 0.05

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Compare every ordering with 0. As a control, orderings that are moved to a mean of 0 must not pass."""
        del context, block
        orders: list[RecordedOrder] = []
        seeds: list[int] = []
        for experiment in self.experiments:
            result = recorded(experiment)
            if result is None:
                message = (
                    "reports/data/experiments.json has no result of "
                    f"{experiment.command} with the recorded tables"
                )
                return self.result(status="untested", message=message)
            seeds.append(result["seeds"])
            orders += _orders_of(result["tables"], self.claim)
        if not orders:
            return self.result(
                status="untested",
                message="the recorded tables have no ordering of this claim",
            )
        control = ControlResult(
            name="no difference",
            fault="the same intervals, moved to a mean of 0",
            at_declared_size=True,
            refuted=not any(
                order.difference.centred_at(0.0).seen == AS_CLAIMED for order in orders
            ),
        )
        missed = missed_controls([control])
        agrees = all(order.difference.seen == AS_CLAIMED for order in orders)
        widest = max(
            (order.difference.high - order.difference.low) / 2 for order in orders
        )
        return self.result(
            status="not refuted" if agrees and not missed else "inconclusive",
            message="; ".join(filter(None, [_summary(orders), missed])),
            n=min(seeds),
            detects=f"a mean difference of {widest:.2g}",
            statistic="Student's intervals over seeds, all of a data set together at 95%",
            region="; ".join(experiment.region for experiment in self.experiments),
            controls=[control],
        )


def recorded(experiment: RecordedExperiment) -> dict[str, Any] | None:
    """Return the recorded result of a command, or None if its tables are not those that the check was written for."""
    try:
        path = bundled("reports") / "data" / "experiments.json"
    except SpecError:  # a copy of the package without its reports
        return None
    if not path.is_file():
        return None
    page = json.loads(path.read_bytes())
    results = [*page.get("experiments", ()), *page.get("networks", ())]
    for result in results:
        if (
            result["command"] == experiment.command
            and tables_sha256(result["tables"]) == experiment.tables_sha256
        ):
            return dict(result)
    return None


def tables_sha256(tables: Any) -> str:
    """Return the digest of the tables of a result, independent of the layout of its file."""
    return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()


def _orders_of(tables: Sequence[dict[str, Any]], claim: str) -> list[RecordedOrder]:
    """Return the orderings of a claim in the tables for the paper's own data."""
    of_paper = chain.from_iterable(
        table["orderings"] for table in tables if table["real"]
    )
    return [
        msgspec.convert(order, RecordedOrder)
        for order in of_paper
        if order["claim"] == claim
    ]


def _summary(orders: Sequence[RecordedOrder]) -> str:
    """Count the outcomes, and show the orderings that most clearly contradict the claim."""
    counts = Counter(order.difference.seen for order in orders)
    words = ", ".join(
        f"{verdict} in {count}" for verdict, count in sorted(counts.items())
    )
    opposite_orders = [order for order in orders if order.difference.seen == OPPOSITE]
    opposite_orders.sort(
        key=lambda order: order.difference.low / max(order.difference.high, 1e-300),
        reverse=True,
    )
    shown = "; ".join(order.words() for order in opposite_orders[:MOST_SHOWN])
    return f"of {len(orders)} orderings {words}" + (
        f", such as {shown}" if shown else ""
    )
