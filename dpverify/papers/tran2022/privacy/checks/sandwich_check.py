"""Check printed >= proof >= exact >= audited for the epsilon of the corrected theorems; a violation is our error.

For a printed theorem, the check uses runs outside the corrected conditions. An audited epsilon above the printed one
refutes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from dpverify.harness import Context, PaperChecks
from dpverify.harness.checks import Check, missed_controls
from dpverify.harness.exact_results import numbers
from dpverify.harness.neighbours import neighbour_result
from dpverify.ledger.check_results import (
    CheckResult,
    ControlResult,
    Counterexample,
    Method,
    Number,
)
from dpverify.ledger.records import Status
from dpverify.papers.tran2022.accounting.audit import (
    LIPSCHITZ,
    AuditedRun,
    Epsilons,
    sandwich,
)
from dpverify.papers.tran2022.sensitivity.checks import witnesses
from dpverify.privacy.gaussian import delta_of

DOUBT = 1e-6  # Probability that one audited value is above the truth

NAMES = ("printed", "proof", "exact", "audited")
OUTPUTS = {"smoke": 4_000, "standard": 40_000, "full": 200_000}


@dataclass(frozen=True)
class SandwichCheck(Check):
    """Compute four values of epsilon per run and compare each with the next."""

    # runs that meet the conditions of the corrected
    # theorem; the fault is planted in the first run
    settings: Sequence[AuditedRun] = field(kw_only=True)
    # runs that meet the printed conditions only
    outside: Sequence[AuditedRun] = field(kw_only=True)
    # the planted fault multiplies the audited noise by this factor
    short: float = field(kw_only=True)

    method: ClassVar[Method] = "exact-law"

    def cost(self, context: Context) -> float:
        """Return the declared core seconds."""
        steps = sum(setting.steps for setting in (*self.settings, *self.outside))
        return 1e-6 * OUTPUTS[context.budget.name] * steps

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Compare the values; a wrong order is an error, an audited epsilon above the printed one a refutation."""
        if context.statement.variant == "printed":
            return self._outside(context)
        outputs = OUTPUTS[context.budget.name]
        results = [
            sandwich(setting, context.rng(i), outputs, DOUBT)
            for i, setting in enumerate(self.settings, start=block)
        ]
        fault = sandwich(
            self.settings[0], context.rng(0, "short"), outputs, DOUBT, self.short
        )
        controls = [
            ControlResult(
                name="noise too small",
                fault=f"the audited noise is {self.short:g} times what it should be",
                at_declared_size=True,
                refuted=fault.audited > fault.exact,
                statistic=f"audited {fault.audited:.4g}, exact {fault.exact:.4g}",
            )
        ]
        wrong = "; ".join(
            filter(
                None,
                (inversion(s, e) for s, e in zip(self.settings, results, strict=True)),
            )
        )
        missed = missed_controls(controls)
        status: Status = "inconclusive" if wrong or missed else "not refuted"
        return self.result(
            status=status,
            message="; ".join(filter(None, [*(row(e) for e in results), missed])),
            error=f"the order of the bounds on epsilon is upset: {wrong}"
            if wrong
            else "",
            n=2 * outputs * len(results),
            alpha=DOUBT * len(results),
            detects=f"noise {self.short:g} times what it should be, in the first of the runs",
            region="; ".join(described(setting) for setting in self.settings),
            leaves_out=self.leaves_out or "floats, not real arithmetic",
            controls=controls,
            figures=figure(results, self.settings[0].delta),
        )

    def _outside(self, context: Context) -> CheckResult:
        """Compare audited and printed epsilon in runs outside the corrected conditions."""
        outputs = OUTPUTS[context.budget.name]
        results = [
            sandwich(s, context.rng(i, "outside"), outputs, DOUBT)
            for i, s in enumerate(self.outside)
        ]
        wrong = [
            described(s)
            for s, e in zip(self.outside, results, strict=True)
            if e.audited > e.exact
        ]
        beyond = [
            (s, e) for s, e in zip(self.outside, results, strict=True) if is_beyond(e)
        ]
        refuted = any(is_beyond(e._replace(printed=e.exact)) for e in results)
        neighbour = neighbour_result(
            "exact for printed", "the exact epsilon as the printed one", refuted=refuted
        )
        return self.result(
            status="inconclusive" if wrong else "refuted" if beyond else "not refuted",
            message="; ".join(row(e, " ; ") for e in results),
            error=f"audited above exact: {'; '.join(wrong)}" if wrong else "",
            n=2 * outputs * len(results),
            alpha=DOUBT * len(results),
            detects="an epsilon that is larger than printed",
            region="; ".join(described(setting) for setting in self.outside),
            leaves_out=self.leaves_out or "floats, not real arithmetic",
            counterexamples=[]
            if wrong
            else [_counterexample(s, e) for s, e in beyond[:1]],
            true_neighbours=[neighbour],
        )


def is_beyond(eps: Epsilons) -> bool:
    """Test whether the audited value exceeds the printed one; possibly no single loss attains the exact value."""
    return eps.audited > eps.printed


def inversion(setting: AuditedRun, eps: Epsilons) -> str:
    """Return a message about the first value that is above its predecessor, or an empty string."""
    for (upper, larger), (lower, smaller) in pairwise(zip(NAMES, eps, strict=True)):
        if smaller > larger:
            return f"{described(setting)}: {lower} {smaller:.6g} is above {upper} {larger:.6g}"
    return ""


def _counterexample(setting: AuditedRun, eps: Epsilons) -> Counterexample:
    """Return the exact delta of linear losses at the printed epsilon, rounded up, as a counterexample to delta."""
    epsilon = Fraction(math.ceil(eps.printed * 10**6), 10**6)
    exact = delta_of(replace(setting, smoothness=0.0).mu().lower, float(epsilon))
    values = {
        "N": Fraction(setting.examples),
        "T": Fraction(setting.steps),
        "alpha": _short(setting.alpha),
        "sigma": _short(setting.sigma),
        "delta": _short(setting.delta),
        "epsilon": epsilon,
        "eta": _short(setting.eta),
        "G": Fraction(LIPSCHITZ),
        "L": Fraction(setting.smoothness),
    }
    return Counterexample(
        kind="largest-ratio",
        parameters=numbers(values),
        lhs=Number(float=exact),
        rhs=Number(float=setting.delta),
        note=f"epsilon: {eps.exact:.4g} exact, {eps.audited:.4g} at least by an audit, {eps.printed:.4g} printed",
    )


def _short(value: float) -> Fraction:
    """Return a float setting as a fraction with a small denominator."""
    return Fraction(value).limit_denominator(10**6)


def row(eps: Epsilons, between: str = " >= ") -> str:
    """Return a text of the four values and the gaps between them."""
    gaps = [
        larger / smaller if smaller > 0.0 else float("inf")
        for larger, smaller in pairwise(eps)
    ]
    values = [f"{name} {value:.4g}" for name, value in zip(NAMES, eps, strict=True)]
    return between.join(values) + f" (gaps {', '.join(f'{gap:.3g}' for gap in gaps)})"


def described(setting: AuditedRun) -> str:
    """Return a description of a run."""
    size = f"N={setting.examples}, T={setting.steps}, alpha={setting.alpha:.4g}, sigma={setting.sigma:g}"
    return f"{setting.algorithm} {size}, {setting.ordering}"


def figure(
    results: Sequence[Epsilons], delta: float
) -> dict[str, dict[str, list[float]]]:
    """Return the columns of the figure "epsilon"."""
    columns = {name: [float(getattr(eps, name)) for eps in results] for name in NAMES}
    return {
        "epsilon": {
            "x": [float(i + 1) for i in range(len(results))],
            **columns,
            "at:delta": [delta],
        }
    }


WITNESSES = {**witnesses.OPPOSED, **witnesses.UPDATE_1, **witnesses.UPDATE_2}
CHECKS = PaperChecks("tran2022", __name__, WITNESSES)

# Slightly more than one epoch; whole epochs; a
# partial last epoch; less than one epoch; many epochs
NSGD = (
    AuditedRun("dp-nsgd", 33, 40, 1 / 33, 0.5),
    AuditedRun("dp-nsgd", 16, 64, 1 / 16, 1.0),
    AuditedRun("dp-nsgd", 16, 60, 1 / 4, 0.5, "once"),
    AuditedRun("dp-nsgd", 100, 60, 1 / 100, 0.5),
    AuditedRun("dp-nsgd", 4, 64, 1 / 4, 0.5),
)

SR_NSGD = (  # Whole epochs; a partial last epoch; larger alpha; less than one epoch
    AuditedRun("sr-nsgd", 8, 48, 1 / 8, 0.5, "once"),
    AuditedRun("sr-nsgd", 16, 50, 1 / 16, 0.5, "once"),
    AuditedRun("sr-nsgd", 16, 64, 1 / 4, 0.5, "once"),
    AuditedRun("sr-nsgd", 64, 40, 1 / 64, 0.5, "once"),
)

NSGD_OUTSIDE = (  # alpha below 1/N; T below N/4; epsilon far above log(1/delta)
    AuditedRun("dp-nsgd", 1, 64, 1 / 1000, 0.5),
    AuditedRun("dp-nsgd", 1000, 10, 1 / 1000, 0.5),
    AuditedRun("dp-nsgd", 1, 1, 1.0, 1 / 29, delta=0.5),
)

# Epsilon far above log(1/delta)
SR_NSGD_OUTSIDE = (AuditedRun("sr-nsgd", 4, 5, 1 / 4, 0.00084, "once", delta=0.5),)

CHECKS.add(
    SandwichCheck(
        "theorem-4-dp",
        "epsilon-sandwich",
        settings=NSGD,
        outside=NSGD_OUTSIDE,
        short=0.85,
        readings={"ordering": "fresh", "depth": "levels"},
    ),
    SandwichCheck(
        "theorem-8-dp",
        "epsilon-sandwich",
        settings=SR_NSGD,
        outside=SR_NSGD_OUTSIDE,
        short=0.2,
        readings={"ordering": "once"},
        leaves_out="the audit sees m-hat under constant gradients, so nothing of Delta and r; floats",
    ),
)
