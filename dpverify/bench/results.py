"""Results of a run of the benchmarks: typed records (``data/benchmarks.json``), and the statistics of their samples.

The records are all that the page needs. The statistics are medians over passes with intervals that assume no
distribution, exponents, and whether each target is met.

Rounds of one process share where its memory lies and how warm the machine is, so they are not independent values: the
unit is the pass, a process of its own. A pass gives the median of its rounds; intervals are computed from those.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from dpverify.ledger.records import Record

SCHEMA = 2  # the version of the JSON that this code reads and writes

Role = Literal["limit", "measured", "peer", "yardstick"]
Change = Literal["slower", "faster", "no difference seen", "too few passes"]


class FormRecord(Record, frozen=True, kw_only=True):
    """One form of a case, or the yardstick, timed in the same turns where the limit is our own code."""

    name: str
    role: Role
    missing: str = ""
    samples: list[list[float]] = []  # for each pass, the seconds of one call in each round
    added: list[int] = []  # bytes that a call added at its peak, in each of the first passes
    peaks: list[int] = []  # the most bytes that a child process held
    counts: dict[str, float] = {}  # of operations; only runs recorded before have them


class TargetRecord(Record, frozen=True, kw_only=True):
    """A target of a case, or of the sweep that it is part of where it is about growth."""

    form: str
    kind: str
    to: str = ""
    at_most: float | None = None
    at_least: float | None = None
    words: str = ""


class CaseRecord(Record, frozen=True, kw_only=True):
    """One case, measured."""

    group: str
    name: str
    title: str
    limit: str
    parameters: dict[str, float] = {}
    work: float = 1.0
    item: str = "call"
    clock: str = "thread"
    sweep: str = ""
    over: str = ""
    forms: list[FormRecord] = []
    targets: list[TargetRecord] = []
    limit_is_ours: bool = False
    printed: dict[str, list[tuple[float, float]]] = {}  # words to sizes and seconds that a paper prints of such work
    error: str = ""


class BenchInfo(Record, frozen=True, kw_only=True):
    """How, with what and on what some groups were measured."""

    groups: list[str]
    versions: dict[str, str]
    commit: str
    machine: dict[str, str]
    cores: int
    seed: int
    passes: int
    rounds: int
    quick: bool = False
    load_before: float = 0.0
    load_after: float = 0.0
    others: float | None = None
    seconds: float = 0.0
    interrupted: bool = False
    earlier: int = 0  # passes of cases that a run which was ended had measured, in another sitting


class Bench(Record, frozen=True, kw_only=True):
    """What was measured in one run, or in several that measured different groups; ``groups`` is name to title."""

    schema: int = SCHEMA
    kind: Literal["dpverify benchmarks"] = "dpverify benchmarks"
    runs: list[BenchInfo]
    groups: dict[str, str]
    cases: list[CaseRecord]


class SpeedChange(Record, frozen=True, kw_only=True):
    """By which factor the ratio of one form ``to`` another has changed between two runs, with a 95% interval."""

    group: str
    case: str
    form: str
    to: str
    factor: float
    low: float
    high: float
    corrected: float  # p after the correction for all comparisons of the two runs
    change: Change


BUSY = 0.1  # cores that other processes may keep busy before a run is said to be disturbed


def busy(info: BenchInfo) -> bool:
    """Whether other processes were at work while it was measured, or, where nobody can tell, just before."""
    return info.load_before > 0.5 if info.others is None else info.others > BUSY


def merged(new: Bench, old: Bench) -> Bench:
    """Put a run in the place of an older one of the same groups; other groups stay, with how they were measured."""
    remaining = [(info, [name for name in info.groups if name not in new.groups]) for info in old.runs]
    return Bench(
        runs=[*(msgspec.structs.replace(info, groups=names) for info, names in remaining if names), *new.runs],
        groups={**old.groups, **new.groups},
        cases=[*(case for case in old.cases if case.group not in new.groups), *new.cases],
    )


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
