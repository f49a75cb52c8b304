"""What a run of the benchmarks found, as typed records: ``data/benchmarks.json``. The page needs nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec

from dpverify.ledger.records import Record

SCHEMA = 1
"""The version of the JSON that this code reads and writes."""

Role = Literal["limit", "measured", "peer"]
Outcome = Literal["met", "too close to tell", "missed", "not measured"]
Change = Literal["slower", "faster", "no difference seen", "too few passes"]


class Interval(Record, frozen=True, kw_only=True):
    """A median over passes with its confidence interval, and the spread of all rounds.

    ``low`` and ``high`` are order statistics of the passes' values; they hold the median with probability ``level`` at
    least, whatever the law. ``quartiles`` and ``extremes`` describe single rounds, over all passes.
    """

    median: float
    low: float
    high: float
    level: float
    passes: int
    rounds: int
    quartiles: tuple[float, float]
    extremes: tuple[float, float]


class FormRecord(Record, frozen=True, kw_only=True):
    """One form of a case: every sample, and what they come to.

    ``samples[k]`` are the seconds of one call in each round of pass k, ``repeats[k]`` how many calls one of them is the
    mean of. ``added`` are bytes that a call added at its peak in fresh processes, ``call_added`` in that of the
    first pass; ``peaks`` is the most that a child process held.
    """

    name: str
    role: Role
    missing: str = ""
    samples: list[list[float]] = []
    repeats: list[int] = []
    added: list[int] = []
    peaks: list[int] = []
    call_added: int | None = None
    parts: dict[str, list[float]] = {}
    counts: dict[str, float] = {}
    seconds: Interval | None = None
    ratio: Interval | None = None


class TargetRecord(Record, frozen=True, kw_only=True):
    """A target, what was measured of it, and whether it is met."""

    form: str
    kind: str
    to: str = ""
    at_most: float | None = None
    at_least: float | None = None
    words: str = ""
    value: Interval | None = None
    outcome: Outcome = "not measured"


class CaseRecord(Record, frozen=True, kw_only=True):
    """One case, measured.

    ``yardstick[k]`` are the seconds that the library's draw of 100,000 normal numbers took in each round of pass k,
    where the limit is our own code: by it a comparison of two runs sees that the limit itself became slower.
    """

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
    yardstick: list[list[float]] = []
    error: str = ""


class FitRecord(Record, frozen=True, kw_only=True):
    """A power of the size, fitted over a sweep to the seconds or the memory of one form; one value a pass."""

    group: str
    sweep: str
    over: str
    form: str
    what: Literal["seconds", "memory"]
    exponent: Interval
    sizes: list[float]
    target: TargetRecord | None = None


class AimRecord(Record, frozen=True, kw_only=True):
    """A target that there is, whether it was measured or not: of a case, or of a sweep where it is about growth."""

    group: str
    name: str
    title: str
    target: TargetRecord


class BenchInfo(Record, frozen=True, kw_only=True):
    """How, with what and on what some groups were measured.

    Load averages are those of the last minute; ``others`` is how many cores other processes kept busy meanwhile, in the
    mean, where the system tells.
    """

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


class Bench(Record, frozen=True, kw_only=True):
    """What was measured in one run, or in several that measured different groups; ``groups`` is name to title.

    ``aims`` are the targets of all groups, so that a reader learns of those that were not measured.
    """

    schema: int = SCHEMA
    kind: Literal["dpverify benchmarks"] = "dpverify benchmarks"
    runs: list[BenchInfo]
    groups: dict[str, str]
    cases: list[CaseRecord]
    fits: list[FitRecord] = []
    aims: list[AimRecord] = []


class Comparison(Record, frozen=True, kw_only=True):
    """One form of one case in two runs: by which factor its ratio to the limit has changed.

    Of the limit itself (``of_limit``), where that is our own code: its ratio to the yardstick ``to``.
    """

    group: str
    case: str
    form: str
    to: str
    of_limit: bool = False
    factor: float
    low: float
    high: float
    level: float
    p: float
    corrected: float
    would_see: float | None
    change: Change


def decode(data: bytes) -> Bench:
    """Decode a run; raises ``msgspec.DecodeError`` where the JSON is not one."""
    return msgspec.json.decode(data, type=Bench)


BUSY = 0.1
"""Cores that other processes may keep busy before a run is said to be disturbed."""


def busy(info: BenchInfo) -> bool:
    """Whether other processes were at work while it was measured, or, where nobody can tell, just before."""
    return info.load_before > 0.5 if info.others is None else info.others > BUSY


def merged(new: Bench, old: Bench) -> Bench:
    """Put a run in the place of an older one of the same groups; other groups stay, with how they were measured.

    Groups in the order of ``old``, then those that it has not.
    """
    taken = set(new.groups)
    kept = [(info, [name for name in info.groups if name not in taken]) for info in old.runs]
    return Bench(
        runs=[*(msgspec.structs.replace(info, groups=names) for info, names in kept if names), *new.runs],
        groups={**old.groups, **new.groups},
        cases=[*(case for case in old.cases if case.group not in taken), *new.cases],
        fits=[*(fit for fit in old.fits if fit.group not in taken), *new.fits],
        aims=new.aims or old.aims,
    )
