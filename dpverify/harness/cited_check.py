"""Check of a single cited derivation: it proves a premise of other claims, and constants are changed to test it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from dpverify.harness.checks import BudgetName, Check, Context, missed_controls
from dpverify.harness.derivation_check import judge_perturbations
from dpverify.ledger.check_results import CheckResult, Method
from dpverify.ledger.statements import Statement
from dpverify.symbolic.certify.certificates import certify_chain
from dpverify.symbolic.certify.judge import judge_derivation
from dpverify.symbolic.derive.perturb import perturbations
from dpverify.symbolic.derive.steps import Derivation

# changed constants that are tried before a chain counts as unable to fail
MOST_TRIED = 12


def _refusal(derivation: Derivation) -> str:
    """Return why a derivation has no certificate on its own, or "" if it has one."""
    return certify_chain(derivation).reason


@dataclass(frozen=True)
class CitedDerivationCheck(Check):
    """Judge a cited derivation on its own. The smoke budget judges it only as a part of the statements that cite it."""

    # makes it for a statement that cites it
    build: Callable[[Statement], Derivation] = field(kw_only=True)
    least_budget: BudgetName = field(default="standard", kw_only=True)

    method: ClassVar[Method] = "derivation"

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        return 0.5 + 0.01 * context.budget.points

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Check and perturb the derivation. It proves only a premise, so the best status is "not refuted"."""
        chain = self.build(context.statement)
        checked = judge_derivation(
            chain, certify_chain(chain), context.budget.points, context.seed
        )
        tried = (
            list(perturbations(chain))[::-1][:MOST_TRIED] if checked.complete else []
        )
        controls, slack = judge_perturbations(
            tried, _refusal, context.seed, limit=context.budget.perturbed
        )
        missed = missed_controls(controls)
        fine = checked.complete and not missed
        ends = f"from {checked.steps[0].expression} to {checked.steps[-1].expression}"
        message = (
            f"the derivation, a premise of other claims, is complete: {ends}"
            if checked.complete
            else "not complete"
        )
        return self.result(
            status="not refuted" if fine else "inconclusive",
            message="; ".join(
                filter(None, [message, missed if checked.complete else "", *slack])
            ),
            error=""
            if checked.complete
            else f"our derivation {checked.name!r} is not complete",
            n=sum(step.points for step in checked.steps),
            detects="a step that is false at a point of its domain, or not proved",
            leaves_out=self.leaves_out or "all of the statement but this premise",
            derivation=checked,
            controls=controls,
        )
