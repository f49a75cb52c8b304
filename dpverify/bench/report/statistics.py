"""What the samples come to: medians over passes with intervals that assume no law, exponents, and targets met or not.

Rounds of one process share where its memory lies and how warm the machine is, so they are no independent values: the
unit is the pass, a process of its own. A pass gives the median of its rounds; intervals are made of those.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dpverify.bench.records import Bench, CaseRecord, FormRecord, TargetRecord

LEVEL = 0.95  # least probability with which an interval holds the median; with fewer than six passes none can

Outcome = Literal["met", "too close to tell", "missed", "not measured"]

Samples: TypeAlias = Sequence[Sequence[float]]  # values of the rounds of each pass


@dataclass(frozen=True)
class MedianInterval:
    """A median over passes with its confidence interval."""

    median: float
    low: float  # order statistics of the passes' values
    high: float
    level: float  # probability with which they hold the median at least, whatever the law
    passes: int


@dataclass(frozen=True)
class Growth:
    """A power of the size, fitted over a sweep to the seconds or the memory of one form; one value a pass."""

    form: str
    what: Literal["seconds", "memory"]
    exponent: MedianInterval


@dataclass(frozen=True)
class JudgedTarget:
    """A target, what was measured of it, and whether the whole interval is on one side of its bound."""

    cases: Sequence[CaseRecord]  # the case that it is of, or all cases of a sweep
    target: TargetRecord
    value: MedianInterval | None
    outcome: Outcome


def median_interval(passes: Samples) -> MedianInterval | None:
    """Median over the passes, with the narrowest symmetric pair of order statistics that holds it often enough."""
    middles = np.sort([float(np.median(values)) for values in passes if values])
    n = len(middles)
    cut = 1
    if n == 0:
        return None
    while cut < n // 2 and _holds(n, cut + 1) >= LEVEL:
        cut += 1
    low = float(middles[cut - 1])
    high = float(middles[n - cut])
    return MedianInterval(float(np.median(middles)), low, high, _holds(n, cut), n)


def _holds(n: int, cut: int) -> float:
    """Probability that the median lies between the values number ``cut`` from below and from above of n."""
    return 1 - 2 * sum(math.comb(n, below) for below in range(cut)) / float(2**n)


def ratios(form: Samples, to: Samples) -> list[list[float]]:
    """Ratios of one form to another in each pass, round by round, or to the median where rounds are not as many."""
    out = []
    for top, bottom in zip(form, to, strict=False):
        if top and bottom:
            below = bottom if len(top) == len(bottom) else [float(np.median(bottom))] * len(top)
            out.append([a / b for a, b in zip(top, below, strict=True)])
    return out


def exponents(sizes: Sequence[float], passes: Sequence[Samples]) -> list[list[float]]:
    """Fit a power of the size to each pass in which every size has a value, by least squares of logarithms."""
    x = np.log(np.asarray(sizes, dtype=float))
    medians = [
        [float(np.median(values)) for values in samples] for samples in zip(*passes, strict=False) if all(samples)
    ]
    return [[float(np.polyfit(x, np.log(middles), 1)[0])] for middles in medians]


def form_of(case: CaseRecord, name: str) -> FormRecord:
    """A form of a case by its name; one without values where there is none."""
    return next((form for form in case.forms if form.name == name), FormRecord(name=name, role="measured"))


def ratio_of(case: CaseRecord, form: str, to: str = "") -> MedianInterval | None:
    """Ratio of a form to another, to the limit by default."""
    return median_interval(ratios(form_of(case, form).samples, form_of(case, to or case.limit).samples))


def sweeps(bench: Bench, group: str) -> dict[str, list[CaseRecord]]:
    """Cases of each sweep of a group."""
    cases_of: dict[str, list[CaseRecord]] = {}
    for case in bench.cases:
        if case.group == group and case.sweep:
            cases_of.setdefault(case.sweep, []).append(case)
    return cases_of


def growth(cases: Sequence[CaseRecord]) -> Iterator[Growth]:
    """Exponents of a sweep: of the seconds of each form that has them at every size in some pass, and of its memory."""
    sizes = [case.parameters[case.over] for case in cases]
    for name in dict.fromkeys(form.name for case in cases for form in case.forms if form.role != "yardstick"):
        forms = [form_of(case, name) for case in cases]
        seconds = median_interval(exponents(sizes, [form.samples for form in forms]))
        if seconds is not None:
            yield Growth(name, "seconds", seconds)
        if any((target.form, target.kind) == (name, "memory-exponent") for target in cases[0].targets):
            # what adds no memory at all counts as one page, of which a logarithm can be taken
            added = [[[float(max(size, 4096))] for size in form.added] for form in forms]
            memory = median_interval(exponents(sizes, added))
            if memory is not None:
                yield Growth(name, "memory", memory)


def judged_targets(bench: Bench) -> Iterator[JudgedTarget]:
    """Every target, group by group: those of its cases, then those of growth."""
    for group in bench.groups:
        for case in bench.cases:
            for target in case.targets:
                if case.group == group and "exponent" not in target.kind:
                    yield _judged([case], target, _value(case, target))
        for cases in sweeps(bench, group).values():
            exponent_of = {
                (growth_of_form.form, growth_of_form.what): growth_of_form.exponent for growth_of_form in growth(cases)
            }
            for target in cases[0].targets:
                if "exponent" in target.kind:
                    value = exponent_of.get((target.form, "memory" if target.kind == "memory-exponent" else "seconds"))
                    yield _judged(cases, target, value)


def _value(case: CaseRecord, target: TargetRecord) -> MedianInterval | None:
    if target.kind == "ratio":
        return ratio_of(case, target.form, target.to)
    form = form_of(case, target.form)
    if target.kind == "memory":
        return median_interval([[float(value)] for value in form.added])
    return median_interval([[value / case.work for value in rounds] for rounds in form.samples])


def _judged(cases: Sequence[CaseRecord], target: TargetRecord, value: MedianInterval | None) -> JudgedTarget:
    outcome: Outcome = "not measured"
    if value is not None:
        least = -math.inf if target.at_least is None else target.at_least
        limit = math.inf if target.at_most is None else target.at_most
        inside = least <= value.low and value.high <= limit
        outside = value.high < least or value.low > limit
        outcome = "met" if inside else "missed" if outside else "too close to tell"
    return JudgedTarget(cases, target, value, outcome)


def counted(targets: Sequence[JudgedTarget], words: Mapping[Outcome, str]) -> str:
    """How many targets are met, missed, and so on: ``3 met, 1 missed``."""
    outcomes = [target.outcome for target in targets]
    return ", ".join(f"{outcomes.count(word)} {word}" for word in words if word in outcomes)
