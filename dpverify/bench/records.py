"""What a run of the benchmarks measured, as typed records: ``data/benchmarks.json``. The page needs nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec

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
