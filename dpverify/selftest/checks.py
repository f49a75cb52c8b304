"""Tests of the checks themselves: error rates over many seeds, and the search on planted inequalities.

An error of a statistical check is a false refutation or a missed fault. The planted inequalities are in
``specs/faults/search/inequalities.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import get_args

import msgspec
from scipy import stats

from dpverify.harness import Context, SearchCheck
from dpverify.harness.checks import BUDGETS, BudgetName
from dpverify.harness.run.engine import run_jobs
from dpverify.harness.run.suite import Suite
from dpverify.harness.run.tasks import Job
from dpverify.harness.search.candidates import complexity
from dpverify.harness.statistics.effects import proportion_limits
from dpverify.ledger.check_results import CheckResult, Number
from dpverify.ledger.formula import Compare, Formula, free_names, parse_relation
from dpverify.ledger.records import Record, Relation
from dpverify.ledger.specs import Specs
from dpverify.ledger.statements import Statement
from dpverify.ledger.vocabulary import Domain, parse_domain
from dpverify.papers import index
from dpverify.selftest.records import (
    CheckRates,
    RatesRun,
    SearchedInequality,
    SearchRun,
    Trial,
    count_false_refutations,
)


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
    spending_checks: dict[str, dict[str, tuple[Job, CheckResult]]] = {}
    for name in names:
        labels = {label for smaller in spending_checks.values() for label in smaller}
        judged = _run(
            specs, name, 0, workers, only, partial(_may_spend_alpha, excluded=labels)
        )
        spending_checks[name] = {
            job.label: (job, result) for job, result in judged if result.alpha > 0.0
        }
    results: dict[str, list[CheckResult]] = {
        label: [] for checks in spending_checks.values() for label in checks
    }
    for seed in range(1, seeds + 1):
        report(seed - 1, seeds, f"seed {seed}")
        for name in names:
            for job, result in _run(
                specs,
                name,
                seed,
                workers,
                only,
                partial(_has_label, spending_checks[name]),
            ):
                results[job.label].append(result)
    rates = [
        _rates(specs, name, job, result, results[label])
        for name in names
        for label, (job, result) in spending_checks[name].items()
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
    first_result: CheckResult,
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
        alpha=first_result.alpha,
        power=first_result.power,
        detects=first_result.detects,
        says=statuses,
        planted=len(declared),
        seen=detected,
        power_at_least=proportion_limits(detected, len(declared), 0.05)[0]
        if declared
        else 0.0,
        wrong=is_improbable(
            count_false_refutations(pinned, statuses), len(statuses), first_result.alpha
        )
        or is_improbable(
            len(declared) - detected, len(declared), 1.0 - first_result.power
        ),
    )


def is_improbable(count: int, trials: int, rate: float) -> bool:
    """Test whether ``count`` or more events in ``trials`` have a probability below one in a million at this rate."""
    return float(stats.binom.sf(count - 1, trials, rate)) < MAX_PROBABILITY


MAX_PROBABILITY = 1e-6

FILE = Path("specs") / "faults" / "search" / "inequalities.toml"
CHECK = SearchCheck("inequality", "search")
SEEDS = {"smoke": 3, "standard": 2}


class PlantedInequality(Record, frozen=True, kw_only=True):
    """The inequality ``says`` under the conditions ``requires``; a false one has a kind and a counterexample ``at``."""

    name: str
    says: str
    requires: list[str] = []
    kind: str = ""
    at: dict[str, str] = {}

    @property
    def bits(self) -> int:
        """Length of the known counterexample."""
        return sum(complexity(Fraction(value)) for value in self.at.values())


class PlantedInequalities(Record, frozen=True, kw_only=True):
    """Contents of the file: kinds with titles, domains of the symbols, and the false and the true inequalities."""

    kinds: dict[str, str]
    domains: dict[str, str]
    false: list[PlantedInequality]
    true: list[PlantedInequality]

    def named(self, glob: str) -> PlantedInequalities:
        """Return only the inequalities whose names match."""
        false, true = (
            [
                inequality
                for inequality in inequalities
                if fnmatchcase(inequality.name, glob)
            ]
            for inequalities in (self.false, self.true)
        )
        return PlantedInequalities(
            kinds=self.kinds, domains=self.domains, false=false, true=true
        )

    def statement(self, inequality: PlantedInequality) -> Statement:
        """Return the inequality as a statement of the ledger."""
        formula = parse_relation(inequality.says)
        requires = tuple(map(parse_relation, inequality.requires))
        (relation,), (lhs, rhs) = formula.ops, formula.operands
        names = frozenset[str]().union(
            *map(free_names, (*formula.operands, *_operands(requires)))
        )
        return Statement(
            key=f"planted:{inequality.name}",
            variant="printed",
            kind="inequality",
            reading={},
            quantity=None,
            lhs=lhs,
            relation=_relation(relation),
            rhs=rhs,
            words=None,
            requires=requires,
            let=(),
            assumes=(),
            domains={name: _domain(self.domains[name]) for name in sorted(names)},
            symbols={},
        )


def _operands(conditions: Sequence[Compare]) -> Iterator[Formula]:
    return (side for condition in conditions for side in condition.operands)


def _relation(text: str) -> Relation:
    relation: Relation = msgspec.convert(text, type=Relation)
    return relation


@lru_cache
def _domain(text: str) -> Domain:
    return parse_domain(text)


def read_inequalities(root: Path) -> PlantedInequalities:
    """Return the planted inequalities of a checkout."""
    return msgspec.toml.decode((root / FILE).read_bytes(), type=PlantedInequalities)


def hunt(statement: Statement, budget: str, seconds: float, seed: int) -> Trial:
    """Return the result of one search, run as the check of a claim runs it."""
    context = Context(statement, BUDGETS[budget], seed, CHECK.name, share=seconds)
    result = CHECK.run_block(context, 0)
    parameters = {name: _shown(number) for name, number in _smallest(result).items()}
    return Trial(
        seed=seed, points=result.n or 0, found=parameters, bits=_bits(parameters)
    )


def _smallest(result: CheckResult) -> Mapping[str, Number]:
    return next(
        (
            counterexample.parameters
            for counterexample in result.counterexamples
            if counterexample.kind == "smallest"
        ),
        {},
    )


def _shown(number: Number) -> str:
    """Return a coordinate of a point as text."""
    return number.exact or repr(number.float)


def _bits(parameters: Mapping[str, str]) -> int:
    return sum(complexity(Fraction(value)) for value in parameters.values())


def judge_search(
    planted: PlantedInequalities,
    seeds: Mapping[str, int] = SEEDS,
    among: Sequence[str] = (),
    report: Callable[[int, int, str], None] = lambda *_: None,
) -> SearchRun:
    """Return the results of searches on all or some inequalities; ``seeds`` has the number of seeds for each budget."""
    shares = {budget: index().search_seconds[budget] for budget in seeds}
    chosen = [
        inequality
        for inequality in (*planted.false, *planted.true)
        if not among or inequality.name in among
    ]
    searched: list[SearchedInequality] = []
    for inequality in chosen:
        report(len(searched), len(chosen), inequality.name)
        statement = planted.statement(inequality)
        trials = {
            budget: [
                hunt(statement, budget, shares[budget], seed) for seed in range(count)
            ]
            for budget, count in seeds.items()
        }
        searched.append(
            SearchedInequality(
                name=inequality.name,
                kind=inequality.kind,
                says=inequality.says,
                requires=inequality.requires,
                bits=inequality.bits,
                trials=trials,
            )
        )
    return SearchRun(kinds=planted.kinds, seconds=shares, inequalities=searched)
