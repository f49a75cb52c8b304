"""Exponents read from runs: what passes, what does not, and what the figure is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dpverify.harness import BUDGETS, Context
from dpverify.harness.simulation.slopes_check import Simulated, SlopesCheck
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement


@dataclass(frozen=True)
class Size:
    examples: int
    dimension: int = 1
    epsilon: float = 1.0

    @property
    def rate(self) -> float:
        return float((self.dimension / (self.examples * self.epsilon)) ** 0.5)


SWEEPS = {
    "n": [Size(n) for n in (100, 200, 400)],
    "d": [Size(400, d) for d in (1, 4)],
    "epsilon": [Size(400, 1, epsilon) for epsilon in (1.0, 2.0)],
}


def check(power: float) -> SlopesCheck[Size]:
    """Runs whose gradient is the rate, but for its power of n."""

    def measure(size: Size, seed: int) -> float:
        shaken = 1.0 + 0.01 * np.random.default_rng(seed).normal()
        return float(size.rate * size.examples ** (power + 0.5) * shaken)

    runs = Simulated[Size](
        measure=measure, seconds=lambda _: 1e-6, steps=lambda size: size.examples, bound=lambda size: 3.0 * size.rate,
        printed=None, unit=lambda size: size.rate, unit_name="root", rate={"n": -0.5, "d": 0.5, "epsilon": -0.5},
        words=lambda sweeps, found: f"{len(found['n'])} runs", region=lambda sweeps: "a rate",
        fixed=lambda sweeps: {"at:d": [1.0]}, figure="accuracy-slopes", leaves_out="all else",
        names=("n", "d", "epsilon"),
    )  # fmt: skip
    return SlopesCheck(
        "walk",
        "slopes",
        runs=runs,
        sweeps={"smoke": SWEEPS},
        replications={"smoke": 12},
        room=0.1,
    )


def judged(statement: Statement, power: float) -> CheckResult:
    one, context = check(power), Context(statement, BUDGETS["smoke"], 0, "slopes")
    return one.finish(
        context, [one.run_block(context, block) for block in range(one.blocks(context))]
    )


def test_the_rate_passes_and_both_faults_are_seen(
    statements: dict[str, Statement],
) -> None:
    found = judged(statements["walk"], -0.5)
    assert (found.status, found.message, found.n) == ("not refuted", "12 runs", 12)
    assert [control.refuted for control in found.controls] == [True] * 5
    columns = found.figures["accuracy-slopes"]
    assert columns["x:n"] == [100.0, 200.0, 400.0]
    assert "printed" not in columns
    assert columns["fit"] == pytest.approx([-0.5, 0.5, -0.5], abs=0.03)
    assert columns["fit-bound"] == pytest.approx([-0.5, 0.5, -0.5])


def test_a_slower_decay_is_told_and_refutes_nothing(
    statements: dict[str, Statement],
) -> None:
    found = judged(statements["walk"], -0.3)
    assert found.status == "inconclusive"
    assert "not shown: the decay in n" in found.message
    assert not found.counterexamples


def test_the_upper_end_of_the_interval_has_to_pass_and_not_its_middle(
    statements: dict[str, Statement],
) -> None:
    found = judged(statements["walk"], -0.404)
    columns = found.figures["accuracy-slopes"]
    assert columns["fit"][0] < columns["fit-bound"][0] + 0.1 < columns["fit-high"][0]
    assert found.status == "inconclusive"


def test_nothing_is_simulated_where_the_budget_has_no_place_for_it(
    statements: dict[str, Statement],
) -> None:
    context = Context(statements["walk"], BUDGETS["smoke"], 0, "slopes", share=1e-12)
    assert check(-0.5).blocks(context) == 0
