"""Run benchmarks. A pass measures all groups in fresh processes, so the passes of one case are far apart in time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from numpy.random import SeedSequence

from dpverify.bench.case import BenchCase, Group
from dpverify.bench.measure import YARDSTICK, FormTimes, Measured, measure_afresh
from dpverify.bench.results import (
    Bench,
    BenchInfo,
    CaseRecord,
    FormRecord,
    Role,
    TargetRecord,
)
from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.cluster import fingerprint
from dpverify.harness.run.manifest import commit, versions
from dpverify.harness.run.store import BlockCache, Store
from dpverify.processes import usable_cores


class Watch:
    """Stopwatch that also measures the load by other processes."""

    def __init__(self) -> None:
        self.load = load()
        self._begin = perf_counter()
        self._machine_seconds = _machine_seconds()
        self._process_seconds = _process_seconds()

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return perf_counter() - self._begin

    def load_by_others(self) -> float | None:
        """Return the mean number of cores kept busy by other processes since the start, or None if unknown."""
        now = _machine_seconds()
        if now is None or self._machine_seconds is None:
            return None
        spent = (
            now - self._machine_seconds - (_process_seconds() - self._process_seconds)
        )
        return round(max(spent, 0.0) / max(self.seconds(), 1e-9), 3)


def machine() -> dict[str, str]:
    """Return system, architecture and cores of the machine, and its processor and memory if known, but not its name."""
    from dpverify.harness.run import manifest

    description = manifest.machine()
    with suppress(OSError):
        lines = (
            Path("/proc/cpuinfo")
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
        names = [
            line.partition(":")[2].strip()
            for line in lines
            if line.startswith("model name")
        ]
        description |= {"processor": names[0]} if names else {}
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        description["memory"] = (
            f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB"
        )
    return description


def load() -> float:
    """Return the load average of the last minute, or 0 if unknown."""
    with suppress(OSError, AttributeError):
        return os.getloadavg()[0]
    return 0.0


def _process_seconds() -> float:
    """Return the processor seconds of this process and of its child processes that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _machine_seconds() -> float | None:
    """Return the busy processor seconds of the machine, including those stolen by a hypervisor, or None if unknown."""
    try:
        words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    # user nice system idle iowait irq softirq steal; idle and iowait are not busy
    ticks = [int(word) for word in words[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


# called with measurements done, total, and the current case
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Amount:
    """Number of passes and rounds of a run."""

    passes: int  # repetitions of all cases, each in fresh processes
    rounds: int  # timings of a form per pass


STANDARD = Amount(11, 5)
"""With eleven passes per run, a comparison of all cases can detect a change even if the times of two runs overlap."""
QUICK = Amount(3, 3)


# fields of cases and targets that records copy unchanged
CASE_FIELDS = (
    "name",
    "title",
    "limit",
    "work",
    "item",
    "clock",
    "sweep",
    "over",
    "limit_is_ours",
    "printed",
)
TARGET_FIELDS = ("form", "kind", "at_most", "at_least", "words")


@dataclass
class _Passes:
    """A case with the results of its passes so far."""

    group: str
    case: BenchCase
    amount: Amount
    seed: int
    measurements: list[Measured] = field(default_factory=list)
    reused: int = 0  # number of measurements that an earlier run stored
    error: str = ""  # error message; a case with an error is not measured again
    terms = ()
    parts = ()

    @property
    def label(self) -> str:
        return f"{self.group}/{self.case.name}"

    @property
    def request_key(self) -> str:
        """Key under which the store keeps the passes until the run is complete."""
        return (
            f"bench {self.label} {dict(self.case.parameters)} {self.amount} {self.seed}"
        )

    def is_due(self, pass_number: int) -> bool:
        return not self.error and pass_number < (self.case.passes or pass_number + 1)


def run(
    groups: Sequence[Group],
    amount: Amount = STANDARD,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    store: Store | None = None,
    fresh: bool = False,
) -> Bench:
    """Measure groups and return the results; after Ctrl-C, return the results so far.

    ``store`` keeps each pass of a case until the run is complete, so that an interrupted run can be continued on the
    same machine with the same code. With ``fresh``, stored passes are ignored.
    """
    watch = Watch()
    interrupted = False
    cases = [
        _Passes(group.name, case, amount, seed)
        for group in groups
        for case in group.cases
    ]
    cache = (
        None
        if store is None
        else BlockCache(store, cases, [_evidence()] * len(cases), fresh)
    )
    try:
        _measure(cases, amount, seed, progress or (lambda *_: None), cache)
        if store is not None and not store.failure:
            store.drop(cases)
    except KeyboardInterrupt:
        interrupted = True
    records = [
        case_record(
            passes_of_case.group,
            passes_of_case.case,
            passes_of_case.measurements,
            passes_of_case.error,
        )
        for passes_of_case in cases
        if passes_of_case.measurements or passes_of_case.error
    ]
    measured_groups = {
        group.name: group.title
        for group in groups
        if any(record.group == group.name for record in records)
    }
    info = BenchInfo(
        groups=list(measured_groups),
        versions=versions(),
        commit=commit(),
        machine=machine(),
        cores=usable_cores(),
        seed=seed,
        passes=amount.passes,
        rounds=amount.rounds,
        quick=amount == QUICK,
        load_before=round(watch.load, 2),
        load_after=round(load(), 2),
        others=watch.load_by_others(),
        seconds=round(watch.seconds(), 1),
        interrupted=interrupted,
        earlier=sum(passes_of_case.reused for passes_of_case in cases),
    )
    return Bench(runs=[info], groups=measured_groups, cases=records)


def _measure(
    cases: Sequence[_Passes],
    amount: Amount,
    seed: int,
    progress: Progress,
    cache: BlockCache | None,
) -> None:
    """Measure all passes that are not stored."""
    drawn = int(SeedSequence(seed).generate_state(1)[0])
    total = sum(
        min(amount.passes, passes_of_case.case.passes or amount.passes)
        for passes_of_case in cases
    )
    stored_passes = [
        {} if cache is None else cache.stored_blocks(place)
        for place in range(len(cases))
    ]
    done = 0
    for pass_number in range(amount.passes):
        for group in dict.fromkeys(passes_of_case.group for passes_of_case in cases):
            due_cases = [
                (place, passes_of_case)
                for place, passes_of_case in enumerate(cases)
                if passes_of_case.group == group and passes_of_case.is_due(pass_number)
            ]
            missing_cases = []
            for place, passes_of_case in due_cases:
                if pass_number in stored_passes[place]:
                    passes_of_case.measurements.append(
                        msgspec.json.decode(
                            stored_passes[place][pass_number].part, type=Measured
                        )
                    )
                    passes_of_case.reused += 1
                    done += 1
                else:
                    missing_cases.append((place, passes_of_case))
            answers = measure_afresh(
                [passes_of_case.case for _, passes_of_case in missing_cases],
                seed=drawn,
                rounds=amount.rounds,
                pass_number=pass_number,
            )
            try:
                for place, passes_of_case in missing_cases:
                    progress(
                        done,
                        total,
                        f"pass {pass_number + 1} of {amount.passes}: {group}/{passes_of_case.case.name}",
                    )
                    measured = next(answers)
                    done += 1
                    passes_of_case.error = measured.error
                    if measured.error:
                        continue
                    passes_of_case.measurements.append(measured)
                    if cache is not None:
                        cache.save(
                            place,
                            pass_number,
                            BlockOutcome(msgspec.json.encode(measured).decode(), 0.0),
                        )
            finally:
                answers.close()  # ends the measuring process


def _evidence() -> str:
    """Return a text that identifies our code and the machine, on which times depend."""
    return f"{fingerprint()['code']} {sorted(machine().items())} {usable_cores()}"


def case_record(
    group: str, case: BenchCase, passes: Sequence[Measured], error: str = ""
) -> CaseRecord:
    """Return the record of a case and its passes."""
    forms = [_form_record(case, name, passes) for name in (*case.forms, YARDSTICK)]
    targets = [
        TargetRecord(
            to=(target.to or case.limit) if target.kind == "ratio" else "",
            **_copied_fields(target, TARGET_FIELDS),
        )
        for target in case.targets
    ]
    return CaseRecord(
        group=group,
        parameters={name: float(value) for name, value in case.parameters.items()},
        forms=[form for form in forms if form.missing or any(form.samples)],
        targets=targets,
        error=error,
        **_copied_fields(case, CASE_FIELDS),
    )


def _copied_fields(source: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def _form_record(case: BenchCase, name: str, passes: Sequence[Measured]) -> FormRecord:
    roles: dict[str, Role] = {
        **dict.fromkeys(case.peers, "peer"),
        case.limit: "limit",
        YARDSTICK: "yardstick",
    }
    times = [measured.times.get(name, FormTimes()) for measured in passes]
    return FormRecord(
        name=name,
        role=roles.get(name, "measured"),
        missing=next(
            (measured.missing[name] for measured in passes if name in measured.missing),
            "",
        ),
        samples=[
            form_times.seconds for form_times in times
        ],  # empty for passes that did not time a sparse form; passes stay aligned
        added=[
            form_times.added for form_times in times if form_times.added is not None
        ],
        peaks=[peak for form_times in times for peak in form_times.peaks],
    )
