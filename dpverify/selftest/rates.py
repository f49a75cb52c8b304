"""Error rates of all statistical checks over many seeds: false refutations and missed faults."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import get_args

from scipy import stats

from dpverify.harness.budget import BUDGETS, BudgetName
from dpverify.harness.run.engine import run_jobs
from dpverify.harness.run.suite import Suite
from dpverify.harness.run.tasks import Job
from dpverify.harness.statistics.effects import proportion_limits
from dpverify.ledger.results import CheckResult
from dpverify.ledger.specs import Specs
from dpverify.selftest.records import CheckRates, RatesRun, count_false_reds


def measure_rates(
    specs: Specs,
    seeds: int,
    workers: int,
    only: str = "*",
    report: Callable[[int, int, str], None] = lambda *_: None,
    budget: BudgetName = "standard",
) -> RatesRun:
    """Run the checks that spend alpha with the seeds 1, ..., ``seeds``, for claims whose id matches ``only``.

    Each check runs with the smallest budget in which it spends alpha. Checks that spend alpha only in budgets larger
    than ``budget`` are left out. A first run of all statistical checks with the seed 0, which is not counted, shows
    which checks spend alpha.
    """
    report(0, seeds, "which checks spend alpha")
    names = [name for name in get_args(BudgetName) if BUDGETS[budget].reaches(name)]
    # by budget, then by label
    first: dict[str, dict[str, tuple[Job, CheckResult]]] = {}
    for name in names:
        labels = {label for smaller in first.values() for label in smaller}
        judged = _run(
            specs, name, 0, workers, only, partial(_may_spend_alpha, excluded=labels)
        )
        first[name] = {
            job.label: (job, result) for job, result in judged if result.alpha > 0.0
        }
    results: dict[str, list[CheckResult]] = {
        label: [] for checks in first.values() for label in checks
    }
    for seed in range(1, seeds + 1):
        report(seed - 1, seeds, f"seed {seed}")
        for name in names:
            for job, result in _run(
                specs, name, seed, workers, only, partial(_has_label, first[name])
            ):
                results[job.label].append(result)
    rates = [
        _rates(specs, name, job, result, results[label])
        for name in names
        for label, (job, result) in first[name].items()
    ]
    return RatesRun(budget=budget, seeds=seeds, checks=rates)


def _may_spend_alpha(job: Job, excluded: Container[str]) -> bool:
    return job.find().method in STATISTICAL and job.label not in excluded


def _has_label(labels: Container[str], job: Job) -> bool:
    return job.label in labels


def _run(
    specs: Specs,
    budget: str,
    seed: int,
    workers: int,
    only: str,
    is_wanted: Callable[[Job], bool],
) -> list[tuple[Job, CheckResult]]:
    """Run the checks that ``is_wanted`` selects, and return their results."""
    suite = Suite(specs, budget, seed)
    claims = [claim for claim in specs.claims() if fnmatchcase(claim.key, only)]
    jobs = [
        job
        for claim in claims
        for case in suite.cases(claim)
        for job in case.jobs
        if job.is_due and is_wanted(job)
    ]
    results, interrupted = run_jobs(jobs, workers)
    if interrupted:
        raise KeyboardInterrupt
    return list(zip(jobs, results, strict=True))


STATISTICAL = ("monte-carlo", "exact-law")
"""Methods whose checks may spend alpha. A check that spends none, because it computes exactly, is left out."""


def _rates(
    specs: Specs,
    budget: str,
    job: Job,
    first: CheckResult,
    results: Sequence[CheckResult],
) -> CheckRates:
    statement = job.context.statement
    declared = [
        control
        for result in results
        for control in result.controls
        if control.at_declared_size
    ]
    detected = sum(control.refuted for control in declared)
    statuses = [result.status for result in results]
    pinned = specs.claim(statement.key).pinned(statement.reading, statement.variant)
    return CheckRates(
        check=job.label,
        budget=budget,
        pinned=pinned,
        alpha=first.alpha,
        power=first.power,
        detects=first.detects,
        says=statuses,
        planted=len(declared),
        seen=detected,
        power_at_least=proportion_limits(detected, len(declared), 0.05)[0]
        if declared
        else 0.0,
        wrong=is_improbable(
            count_false_reds(pinned, statuses), len(statuses), first.alpha
        )
        or is_improbable(len(declared) - detected, len(declared), 1.0 - first.power),
    )


def is_improbable(count: int, trials: int, rate: float) -> bool:
    """Test whether ``count`` or more events in ``trials`` have a probability below one in a million at this rate."""
    return float(stats.binom.sf(count - 1, trials, rate)) < MAX_PROBABILITY


MAX_PROBABILITY = 1e-6
