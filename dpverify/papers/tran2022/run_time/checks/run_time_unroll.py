"""A derivation of ours that a statement in words rests on: judged step by step, with planted faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dpverify.harness import Check, Context, PaperChecks
from dpverify.harness.checks import missed_controls
from dpverify.ledger.results import CheckResult, ControlResult, DerivationResult, Method

if TYPE_CHECKING:  # sympy is slow to import, and the worker of a simulation does not need it
    from dpverify.symbolic.derive.derivation import Derivation

CHECKS = PaperChecks("tran2022", __name__)


@dataclass(frozen=True)
class LemmaCheck(Check):
    """Judge a derivation that a proof in words uses; it says nothing of the statement by itself."""

    build: Callable[[], Derivation] = field(kw_only=True)  # makes the derivation
    # derivations with a planted fault, by its name; none of them may be complete
    faults: Mapping[str, Callable[[], Derivation]] = field(kw_only=True)

    method: ClassVar[Method] = "derivation"

    def cost(self, context: Context) -> float:
        """Declared core seconds."""
        return 0.01 * context.budget.points * (1 + len(self.faults))

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Check the derivation and those with a fault; one that is not complete is an error of ours."""
        from dpverify.symbolic.derive.derivation import check_derivation

        def judged(derivation: Derivation) -> DerivationResult:
            return check_derivation(derivation, points=context.budget.points, seed=context.seed)

        checked = judged(self.build())
        controls = []
        for place, (name, build) in enumerate(self.faults.items()):
            wrong = judged(build())
            fault = f"a derivation with a planted fault: {name}"
            controls.append(
                ControlResult(name=name, fault=fault, at_declared_size=place == 0, refuted=not wrong.complete)
            )
        missed = missed_controls(controls)
        failing = "" if checked.complete else f"our derivation {checked.name!r} is not complete"
        return CheckResult(
            name=self.name,
            method="derivation",
            status="inconclusive" if failing or missed else "not refuted",
            message="; ".join(filter(None, [failing or "complete: a lemma of the proof", missed])),
            error=failing,
            n=sum(step.points for step in checked.steps),
            detects="a step that is false at a point of its domain",
            leaves_out=self.leaves_out,
            derivation=checked,
            controls=controls,
        )


def _weight(fault: str = "") -> Derivation:
    from dpverify.papers.tran2022.run_time.unroll_derivations import weight

    return weight(fault=fault)


CHECKS.add(
    LemmaCheck(
        "algorithm-4-output",
        "stream-unrolls",
        readings={"ordering": "once"},
        variants=("amended",),
        build=_weight,
        faults={fault: partial(_weight, fault) for fault in ("no decay", "one epoch late")},
        leaves_out="the induction around the step, which is in words (NOTES_identities.md)",
    )
)
