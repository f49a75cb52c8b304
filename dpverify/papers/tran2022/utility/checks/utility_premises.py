"""The derivations that others cite: Lemma 7 under fresh permutations, and what Theorems 6 and 9 take from the momentum.

Two kinds of checks. One judges a statement by its derivation and by every derivation that it cites, at any depth: only
together they prove it. The other judges one cited derivation by itself, with constants moved against it, and shows it;
it proves a premise, and of the statement nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import msgspec

from dpverify.harness import Check, Context, DerivationCheck, PaperChecks
from dpverify.harness.budget import BudgetName
from dpverify.harness.checks import missed_controls
from dpverify.harness.derivation_check import judge_moved
from dpverify.ledger.results import CheckResult, DerivationResult, Method
from dpverify.papers.tran2022.momentum import reorder_total_derivations as reorder_total
from dpverify.papers.tran2022.noise import sr_sharp_derivations as sr_sharp
from dpverify.papers.tran2022.reorder import reorder_lemma_derivations as lemma
from dpverify.papers.tran2022.reorder import reorder_mean_derivations as mean
from dpverify.papers.tran2022.reorder import reorder_rates_derivations as rates
from dpverify.papers.tran2022.reorder import reorder_weights_derivations as weights
from dpverify.papers.tran2022.sensitivity import level_sum_derivations as level_sum
from dpverify.papers.tran2022.utility import reorder_once_derivations as once
from dpverify.papers.tran2022.utility import utility_once_derivations as utility_once
from dpverify.papers.tran2022.utility import utility_premises_derivations as parts
from dpverify.papers.tran2022.utility import utility_sampling_derivations as sampling
from dpverify.papers.tran2022.utility import utility_theorem_derivations as theorems
from dpverify.symbolic.derive.cited import derivations_under, taken_for_granted
from dpverify.symbolic.derive.derivation import Derivation, check_derivation
from dpverify.symbolic.derive.perturb import Perturbation, perturbations
from dpverify.symbolic.derive.prepare import prepared

CHECKS = PaperChecks("tran2022", __name__)

MOST_TRIED = 12
"""Moved constants that are tried before a chain counts as one that cannot fail."""

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
        """Do what the base does, and check every derivation that is cited.

        "proved" only if every cited derivation is complete as well.
        """
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
        """Check the derivation, and move its constants against it.

        "not refuted" where the derivation is complete: it proves a premise, not the statement.
        """
        chain = self.build()
        found = checked_once(chain, context.budget.points, context.seed)
        tried = list(perturbations(chain))[::-1][:MOST_TRIED] if found.complete else []
        around = (_around_the_fault(chain, one) for one in tried)
        controls, slack = judge_moved(around, context.seed, most=context.budget.perturbed)
        missed = missed_controls(controls)
        fine = found.complete and not missed
        ends = f"from {found.steps[0].expression} to {found.steps[-1].expression}"
        message = f"complete: a premise of others, {ends}" if found.complete else "not complete"
        return CheckResult(
            name=self.name,
            method="derivation",
            status="not refuted" if fine else "inconclusive",
            message="; ".join(filter(None, [message, missed if found.complete else "", *slack])),
            error="" if found.complete else f"our derivation {found.name!r} is not complete",
            n=sum(step.points for step in found.steps),
            detects="a step that is false at a point of its domain, or not proven",
            leaves_out=self.leaves_out or "all of the statement but this premise",
            derivation=found,
            controls=controls,
        )


FRESH, ONCE = {"ordering": "fresh"}, {"ordering": "once"}
FRESH_6, ONCE_6 = ({**ordering, "depth": "levels"} for ordering in (FRESH, ONCE))
AMENDED = ("amended",)

CITED: tuple[tuple[str, dict[str, str], dict[str, Callable[[], Derivation]]], ...] = (
    (
        "lemma-7",
        FRESH,
        {
            "reorder-lemma-one-epoch": lemma.one_epoch,
            "reorder-lemma-all-epochs": lemma.all_epochs,
            "reorder-weights-difference": weights.difference,
            "reorder-weights-change": weights.change,
            "reorder-rates-difference-rate": rates.difference_rate,
            "reorder-rates-sum-rate": rates.sum_rate,
            "reorder-lemma-difference": lemma.difference,
            "reorder-lemma-change": lemma.change,
        },
    ),
    (
        "theorem-9",
        FRESH,
        {
            "reorder-weights-estimate": weights.estimate,
            "reorder-lemma-estimate": lemma.estimate,
            "reorder-rates-block-rate": rates.block_rate,
            "reorder-rates-plain-rate": rates.plain_rate,
            "reorder-mean-settled": mean.settled,
            "reorder-mean-one-square": mean.one_square,
            "reorder-mean-one-step": mean.one_step,
            "reorder-mean-all-windows": mean.all_windows,
            "reorder-mean-run-sum": mean.run_sum,
            "reorder-mean-run-mean": mean.run_mean,
            "utility-sampling-sampling": sampling.sampling,
            "sr-sharp-variance": sr_sharp.variance,
            "sr-sharp-norm": sr_sharp.norm,
        },
    ),
    (
        "theorem-6",
        FRESH_6,
        {
            "utility-premises-sampling": parts.sampling,
            "utility-premises-anchor-distance": parts.anchor_distance,
            "utility-premises-anchors": parts.anchors,
            "utility-premises-lag": parts.lag,
            "utility-premises-startup": parts.startup,
            "level-sum-levels-above": level_sum.levels_above,
            "level-sum-count": level_sum.count,
        },
    ),
    (
        "lemma-11-sampling",
        ONCE,
        {
            "reorder-once-above": once.above,
            "reorder-once-below": once.below,
            "reorder-once-near": once.near,
            "reorder-once-around-a-number": once.around_a_number,
            "reorder-once-mean-square": once.mean_square,
            "reorder-once-sampling": once.sampling,
        },
    ),
    (
        "theorem-6",
        ONCE_6,
        {"utility-once-first-gradient": utility_once.first_gradient, "utility-once-walk": utility_once.walk},
    ),
)
"""Every cited derivation, once, beside a statement that rests on it, under the name of its check."""


CHECKS.add(
    *(
        CitedDerivationCheck(claim, f"premise-{name}", build=build, readings=reading, variants=AMENDED)
        for claim, reading, chains in CITED
        for name, build in chains.items()
    ),
    *(
        WholeDerivationCheck(claim, "whole-derivation", build=reorder_total.bias, readings=FRESH, variants=AMENDED)
        for claim in ("lemma-7", "lemma-7-norm")
    ),
    WholeDerivationCheck("theorem-6", "whole-derivation", build=theorems.theorem_6, variants=AMENDED),
    WholeDerivationCheck("theorem-9", "whole-derivation", build=theorems.theorem_9, variants=AMENDED),
    WholeDerivationCheck("theorem-6-v", "whole-derivation", build=level_sum.derive_6_v, variants=AMENDED),
    WholeDerivationCheck(
        "theorem-8-count-later-log", "whole-derivation", build=level_sum.derive_count_later_log, variants=AMENDED
    ),
)
