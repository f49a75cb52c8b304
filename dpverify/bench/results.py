"""Records of a run of the benchmarks (``data/benchmarks.json``), and statistics of their samples.

The page is generated from these records only. The statistics are medians over passes
with distribution-free intervals, exponents, and the outcomes of targets.

Rounds in one process share memory layout and the state of the machine, so they are not independent. Each pass runs in
a separate process and gives the median of its rounds. Intervals are computed from these medians.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from dpverify.ledger.records import Record

SCHEMA = 2  # version of the JSON format

Role = Literal["limit", "measured", "peer", "yardstick"]
Change = Literal["slower", "faster", "no difference seen", "too few passes"]


class FormRecord(Record, frozen=True, kw_only=True):
    """One form of a case, or the yardstick, which is timed alternately if the limit is our own code."""

    name: str
    role: Role
    missing: str = ""
    # for each pass, the seconds of one call in each round
    samples: list[list[float]] = []
    added: list[int] = []  # bytes that a call added at its peak, in the first passes
    peaks: list[int] = []  # peak memory of child processes in bytes
    # numbers of operations; only in runs recorded by earlier versions
    counts: dict[str, float] = {}


class TargetRecord(Record, frozen=True, kw_only=True):
    """A target of a case; for exponents, of the sweep that contains the case."""

    form: str
    kind: str
    to: str = ""
    at_most: float | None = None
    at_least: float | None = None
    words: str = ""


class CaseRecord(Record, frozen=True, kw_only=True):
    """Measurements of one case."""

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
    # source -> (size, seconds) pairs printed in a paper
    printed: dict[str, list[tuple[float, float]]] = {}
    error: str = ""


class BenchInfo(Record, frozen=True, kw_only=True):
    """Settings, software and machine of the measurement of some groups."""

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
    earlier: int = 0  # number of passes of cases reused from an interrupted run


class Bench(Record, frozen=True, kw_only=True):
    """Measurements of one run, or of several runs of different groups; ``groups`` maps names to titles."""

    schema: int = SCHEMA
    kind: Literal["dpverify benchmarks"] = "dpverify benchmarks"
    runs: list[BenchInfo]
    groups: dict[str, str]
    cases: list[CaseRecord]


class SpeedChange(Record, frozen=True, kw_only=True):
    """Factor by which the ratio of a form ``to`` another changed between two runs, with a 95% interval."""

    group: str
    case: str
    form: str
    to: str
    factor: float
    low: float
    high: float
    corrected: float  # p-value, corrected for all comparisons of the two runs
    change: Change


BUSY = 0.1  # a run is disturbed if other processes keep more than this many cores busy


def busy(info: BenchInfo) -> bool:
    """Test whether other processes were busy during the measurement or, if that is unknown, just before."""
    return info.load_before > 0.5 if info.others is None else info.others > BUSY


def merged(new: Bench, old: Bench) -> Bench:
    """Merge two runs: ``new`` replaces its groups in ``old``; other groups and their settings are kept."""
    remaining = [
        (info, [name for name in info.groups if name not in new.groups])
        for info in old.runs
    ]
    return Bench(
        runs=[
            *(
                msgspec.structs.replace(info, groups=names)
                for info, names in remaining
                if names
            ),
            *new.runs,
        ],
        groups={**old.groups, **new.groups},
        cases=[
            *(case for case in old.cases if case.group not in new.groups),
            *new.cases,
        ],
    )


# minimal coverage of an interval for the median; impossible with fewer than six passes
LEVEL = 0.95

Outcome = Literal["met", "too close to tell", "missed", "not measured"]

Samples: TypeAlias = Sequence[Sequence[float]]  # pass -> values of its rounds


@dataclass(frozen=True)
class MedianInterval:
    """A median over passes with its confidence interval."""

    median: float
    low: float  # low and high are order statistics of the passes
    high: float
    level: float  # minimal coverage of the median, for any distribution
    passes: int


@dataclass(frozen=True)
class Growth:
    """Exponent fitted over a sweep to the seconds or the memory of one form, with one value per pass."""

    form: str
    what: Literal["seconds", "memory"]
    exponent: MedianInterval


@dataclass(frozen=True)
class JudgedTarget:
    """A target, its measured value, and whether the whole interval is on one side of the bound."""

    cases: Sequence[CaseRecord]  # the case of the target, or all cases of its sweep
    target: TargetRecord
    value: MedianInterval | None
    outcome: Outcome


def median_interval(passes: Samples) -> MedianInterval | None:
    """Return the median over passes with the narrowest symmetric pair of order statistics of sufficient coverage."""
    middles = np.sort([float(np.median(values)) for values in passes if values])
    n = len(middles)
    cut = 1
    if n == 0:
        return None
    while cut < n // 2 and _coverage(n, cut + 1) >= LEVEL:
        cut += 1
    low = float(middles[cut - 1])
    high = float(middles[n - cut])
    return MedianInterval(float(np.median(middles)), low, high, _coverage(n, cut), n)


def _coverage(n: int, cut: int) -> float:
    """Return the probability that the median is between the ``cut``-th smallest and largest of n values."""
    return 1 - 2 * sum(math.comb(n, below) for below in range(cut)) / float(2**n)


def ratios(form: Samples, to: Samples) -> list[list[float]]:
    """Return ratios of two forms for each pass, paired by round, or to the median if the numbers of rounds differ."""
    out = []
    for top, bottom in zip(form, to, strict=False):
        if top and bottom:
            below = (
                bottom
                if len(top) == len(bottom)
                else [float(np.median(bottom))] * len(top)
            )
            out.append([a / b for a, b in zip(top, below, strict=True)])
    return out


def exponents(sizes: Sequence[float], passes: Sequence[Samples]) -> list[list[float]]:
    """Return the exponent of the size, fitted by log-log least squares, for each pass that has all sizes."""
    x = np.log(np.asarray(sizes, dtype=float))
    medians = [
        [float(np.median(values)) for values in samples]
        for samples in zip(*passes, strict=False)
        if all(samples)
    ]
    return [[float(np.polyfit(x, np.log(middles), 1)[0])] for middles in medians]


def form_of(case: CaseRecord, name: str) -> FormRecord:
    """Return the form of a case with this name, or an empty record."""
    return next(
        (form for form in case.forms if form.name == name),
        FormRecord(name=name, role="measured"),
    )


def ratio_of(case: CaseRecord, form: str, to: str = "") -> MedianInterval | None:
    """Return the ratio of a form to another one, by default to the limit."""
    return median_interval(
        ratios(form_of(case, form).samples, form_of(case, to or case.limit).samples)
    )


def sweeps(bench: Bench, group: str) -> dict[str, list[CaseRecord]]:
    """Return the cases of each sweep of a group."""
    cases_of: dict[str, list[CaseRecord]] = {}
    for case in bench.cases:
        if case.group == group and case.sweep:
            cases_of.setdefault(case.sweep, []).append(case)
    return cases_of


def growth(cases: Sequence[CaseRecord]) -> Iterator[Growth]:
    """Yield exponents of a sweep: of seconds, for forms with all sizes in some pass, and of memory, if targeted."""
    sizes = [case.parameters[case.over] for case in cases]
    for name in dict.fromkeys(
        form.name for case in cases for form in case.forms if form.role != "yardstick"
    ):
        forms = [form_of(case, name) for case in cases]
        seconds = median_interval(exponents(sizes, [form.samples for form in forms]))
        if seconds is not None:
            yield Growth(name, "seconds", seconds)
        if any(
            (target.form, target.kind) == (name, "memory-exponent")
            for target in cases[0].targets
        ):
            # no added memory counts as one page, because its logarithm is taken
            added = [
                [[float(max(size, 4096))] for size in form.added] for form in forms
            ]
            memory = median_interval(exponents(sizes, added))
            if memory is not None:
                yield Growth(name, "memory", memory)


def judged_targets(bench: Bench) -> Iterator[JudgedTarget]:
    """Yield the judged targets by group: those of single cases, then those of sweeps."""
    for group in bench.groups:
        for case in bench.cases:
            for target in case.targets:
                if case.group == group and "exponent" not in target.kind:
                    yield _judged([case], target, _value(case, target))
        for cases in sweeps(bench, group).values():
            exponent_of = {
                (growth_of_form.form, growth_of_form.what): growth_of_form.exponent
                for growth_of_form in growth(cases)
            }
            for target in cases[0].targets:
                if "exponent" in target.kind:
                    value = exponent_of.get(
                        (
                            target.form,
                            "memory" if target.kind == "memory-exponent" else "seconds",
                        )
                    )
                    yield _judged(cases, target, value)


def _value(case: CaseRecord, target: TargetRecord) -> MedianInterval | None:
    if target.kind == "ratio":
        return ratio_of(case, target.form, target.to)
    form = form_of(case, target.form)
    if target.kind == "memory":
        return median_interval([[float(value)] for value in form.added])
    return median_interval(
        [[value / case.work for value in rounds] for rounds in form.samples]
    )


def _judged(
    cases: Sequence[CaseRecord], target: TargetRecord, value: MedianInterval | None
) -> JudgedTarget:
    outcome: Outcome = "not measured"
    if value is not None:
        least = -math.inf if target.at_least is None else target.at_least
        limit = math.inf if target.at_most is None else target.at_most
        inside = least <= value.low and value.high <= limit
        outside = value.high < least or value.low > limit
        outcome = "met" if inside else "missed" if outside else "too close to tell"
    return JudgedTarget(cases, target, value, outcome)


def counted(targets: Sequence[JudgedTarget], words: Mapping[Outcome, str]) -> str:
    """Return the numbers of targets by outcome: ``3 met, 1 missed``."""
    outcomes = [target.outcome for target in targets]
    return ", ".join(
        f"{outcomes.count(word)} {word}" for word in words if word in outcomes
    )
