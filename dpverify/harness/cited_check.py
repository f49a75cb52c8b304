"""Derivations that rest on other derivations: a statement with all that is cited, and one cited derivation by itself.

Only together do they prove the statement: one that is cited proves a premise alone, shown with its constants moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import msgspec

from dpverify.harness.budget import BudgetName
from dpverify.harness.checks import Check, missed_controls
from dpverify.harness.context import Context
from dpverify.harness.derivation_check import DerivationCheck, judge_moved
from dpverify.ledger.results import CheckResult, DerivationResult, Method
from dpverify.symbolic.derive.cited import derivations_under, taken_for_granted
from dpverify.symbolic.derive.derivation import Derivation, check_derivation
from dpverify.symbolic.derive.perturb import Perturbation, perturbations
from dpverify.symbolic.derive.prepare import prepared

MOST_TRIED = 12  # moved constants that are tried before a chain counts as one that cannot fail

_checked: dict[tuple[str, int, int], tuple[Derivation, DerivationResult]] = {}


def checked_once(chain: Derivation, points: int, seed: int) -> DerivationResult:
    """Check a cited derivation; several statements may rest on the same one."""
    key = (chain.name, points, seed)
    if key not in _checked or _checked[key][0] != chain:
        _checked[key] = chain, check_derivation(chain, points=points, seed=seed)
    return _checked[key][1]


def _around_the_fault(chain: Derivation, fault: Perturbation) -> Perturbation:
    """The faulty step and the next one: if they are refused, the whole chain is."""
    clean, steps = prepared(chain), fault.derivation.steps
    place = next(k for k, (old, new) in enumerate(zip(clean.steps, steps, strict=True)) if old != new)
    start = clean.steps[place - 1].expr if place else clean.start
    return replace(fault, derivation=replace(fault.derivation, start=start, steps=steps[place : place + 2]))


@dataclass(frozen=True)
class WholeDerivationCheck(DerivationCheck):
    """A derivation with all that it cites."""

    def cost(self, context: Context) -> float:
        """Declared core seconds: most of them are the cited derivations', which a worker checks once."""
        return super().cost(context) + 1.5

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Do what the base does; "proved" only if every derivation that is cited is complete as well."""
        result = super().run_block(context, block)
        derivation = self.build(context.statement)
        broken, seen = [], []
        for name, chain in derivations_under(derivation):
            found = checked_once(chain, context.budget.points, context.seed)
            seen.append(chain.name)
            if not found.complete:
                broken.append(f"{chain.name} ({name})")
        rests = f"cites {len(seen)} derivations: {'; '.join(seen)}"
        granted = f"takes from elsewhere: {'; '.join(taken_for_granted(derivation)) or 'nothing'}"
        message = "; ".join(filter(None, [result.message, rests, granted]))
        if not broken:
            return msgspec.structs.replace(result, message=message)
        error = f"cited derivations of ours are not complete: {'; '.join(broken)}"
        return msgspec.structs.replace(result, status="inconclusive", message=message, error=error)


@dataclass(frozen=True)
class CitedDerivationCheck(Check):
    """A derivation that others cite, judged by itself; the smoke budget checks it with the statements that cite it."""

    build: Callable[[], Derivation] = field(kw_only=True)  # makes it
    least_budget: BudgetName = field(default="standard", kw_only=True)

    method: ClassVar[Method] = "derivation"

    def cost(self, context: Context) -> float:
        """Declared core seconds."""
        return 0.5 + 0.01 * context.budget.points

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Check and perturb the derivation; it proves a premise, so that the most it says is "not refuted"."""
        chain = self.build()
        found = checked_once(chain, context.budget.points, context.seed)
        tried = list(perturbations(chain))[::-1][:MOST_TRIED] if found.complete else []
        around = (_around_the_fault(chain, one) for one in tried)
        controls, slack = judge_moved(around, context.seed, most=context.budget.perturbed)
        missed = missed_controls(controls)
        fine = found.complete and not missed
        ends = f"from {found.steps[0].expression} to {found.steps[-1].expression}"
        message = f"complete: a premise of others, {ends}" if found.complete else "not complete"
        return self.result(
            status="not refuted" if fine else "inconclusive",
            message="; ".join(filter(None, [message, missed if found.complete else "", *slack])),
            error="" if found.complete else f"our derivation {found.name!r} is not complete",
            n=sum(step.points for step in found.steps),
            detects="a step that is false at a point of its domain, or not proven",
            leaves_out=self.leaves_out or "all of the statement but this premise",
            derivation=found,
            controls=controls,
        )
