"""The base of all checks. A check judges one statement and returns a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from dpverify.harness.admissible import Property
from dpverify.harness.budget import BudgetName
from dpverify.harness.context import Context
from dpverify.ledger.results import CheckResult, ControlResult, Method
from dpverify.ledger.statements import Statement

CANNOT_FAIL = "this check cannot fail"
CANNOT_PASS = "this check cannot pass"


@dataclass(frozen=True)
class Check:
    """Base of all checks. The parts of its blocks are joined in order, whichever process ran them."""

    claim: str  # id of the claim without its paper: "lemma-12"
    name: str  # name of the check, unique for the claim: "noise-law"
    readings: Mapping[str, str] = field(default_factory=dict, kw_only=True)  # choices it is about; empty for all
    variants: tuple[str, ...] = field(default=("printed", "amended"), kw_only=True)  # any of these and "held"
    # By which property of its problems each assumption of the statement holds, by the assumption's name; a condition
    # whose letters the points lack is declared by its text.
    meets: Mapping[str, Property] = field(default_factory=dict, kw_only=True)
    leaves_out: str = field(default="", kw_only=True)  # what the evidence leaves out, for the report
    # The smallest budget in which the check runs; in smaller ones it costs nothing and its statement stays untested.
    least_budget: BudgetName = field(default="smoke", kw_only=True)

    method: ClassVar[Method]
    divisible: ClassVar[bool] = False  # whether a smaller share means less work, instead of none
    parts: ClassVar[tuple[type, ...]] = (CheckResult,)  # types that its parts hold beside plain values and arrays

    @property
    def runs_from(self) -> str:
        """Describe the smallest budget in which the check runs, or "" if it runs in all."""
        return "" if self.least_budget == "smoke" else f"runs from the {self.least_budget} budget on"

    def applies(self, statement: Statement) -> bool:
        """Return whether this check can judge a statement of its claim: its variant, its reading and its form."""
        chosen = all(statement.reading.get(name) == choice for name, choice in self.readings.items())
        return chosen and statement.variant in self.variants and self.can_judge(statement)

    def can_judge(self, statement: Statement) -> bool:
        """Return whether the check can judge a statement of this form; by default true."""
        return True

    def cost(self, context: Context) -> float:
        """Core seconds the check is declared to take; by default 1."""
        return 1.0

    def beyond_share(self, context: Context) -> str:
        """Describe the cost beyond the check's share of the budget, or return "" if it fits."""
        needs = self.cost(context)
        share = context.share
        budget = context.budget.name
        if needs <= share:
            return ""
        return f"it needs {needs:.3g} core seconds, and its share of the {budget} budget is {share:.3g}"

    def blocks(self, context: Context) -> int:
        """Number of blocks, at least 0; by default 1."""
        return 1

    def run_block(self, context: Context, block: int) -> Any:
        """Run one block, counted from 0, and return its part: sufficient statistics that can be pickled."""
        raise NotImplementedError(f"{type(self).__name__} must define run_block.")

    def fold(self, sofar: Any, part: Any) -> Any:
        """Join the part of the next block to those before it, None at first; by default a list."""
        return [*(sofar or []), part]

    def finish(self, context: Context, total: Any) -> CheckResult:
        """Return the result of the folded parts, None if no block fits into the budget. ``seconds`` is added later."""
        if total is None and (reason := self.beyond_share(context)):
            return self.result(status="inconclusive", message=reason)
        if total is None or len(total) != 1:
            raise NotImplementedError(f"{type(self).__name__} must define finish, or have one block.")
        result: CheckResult = total[0]
        return result

    def result(self, **fields: Any) -> CheckResult:
        """Make a result of this check, with its name, its method and what it leaves out.

        A refutation counts only if the check did not refute the true neighbours of its claim. Otherwise the check is
        wrong, and nothing is said of the paper.
        """
        result = CheckResult(**{"name": self.name, "method": self.method, "leaves_out": self.leaves_out, **fields})
        if result.status != "refuted" or not (refuted := refuted_neighbours(result.true_neighbours)):
            return result
        return msgspec.structs.replace(result, status="inconclusive", error=refuted, counterexamples=[])


def refuted_neighbours(neighbours: Sequence[ControlResult]) -> str:
    """Describe which true neighbours a check refuted, or return "" if there was one and none was refuted."""
    if not neighbours:
        return f"{CANNOT_PASS}: it refuted the statement and has no true neighbour, which it must not refute"
    refuted = [f"{neighbour.name} ({neighbour.fault})" for neighbour in neighbours if neighbour.refuted]
    return f"{CANNOT_PASS}: it refuted the true neighbour {'; '.join(refuted)}" if refuted else ""


def missed_controls(controls: list[ControlResult]) -> str:
    """Describe which planted faults a check missed, or return "" if there was one and all were refuted."""
    if not controls:
        return f"{CANNOT_FAIL}: it has no control"
    missed = [f"{c.name} ({c.fault})" for c in controls if not c.refuted]
    return f"{CANNOT_FAIL}: it missed the planted fault {'; '.join(missed)}" if missed else ""
