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
        self._begin, self._all, self._own = (
            perf_counter(),
            _all_seconds(),
            _own_seconds(),
        )

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return perf_counter() - self._begin

    def others(self) -> float | None:
        """Return the mean number of cores kept busy by other processes since the start, or None if unknown."""
        now = _all_seconds()
        if now is None or self._all is None:
            return None
        spent = now - self._all - (_own_seconds() - self._own)
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


def _own_seconds() -> float:
    """Return the processor seconds of this process and of its child processes that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _all_seconds() -> float | None:
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


STANDARD, QUICK = Amount(11, 5), Amount(3, 3)
"""With eleven passes per run, a comparison of all cases can detect changes even if times of both runs overlap."""


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
    found: list[Measured] = field(default_factory=list)
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

    def due(self, turn: int) -> bool:
        return not self.error and turn < (self.case.passes or turn + 1)


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
    earlier = 0
    try:
        earlier = _measure(cases, amount, seed, progress or (lambda *_: None), cache)
        if store is not None and not store.failure:
            store.drop(cases)
    except KeyboardInterrupt:
        interrupted = True
    records = [
        case_record(
            passes_of_case.group,
            passes_of_case.case,
            passes_of_case.found,
            passes_of_case.error,
        )
        for passes_of_case in cases
        if passes_of_case.found or passes_of_case.error
    ]
    measured = {
        group.name: group.title
        for group in groups
        if any(record.group == group.name for record in records)
    }
    info = BenchInfo(
        groups=list(measured),
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
        others=watch.others(),
        seconds=round(watch.seconds(), 1),
        interrupted=interrupted,
        earlier=earlier,
    )
    return Bench(runs=[info], groups=measured, cases=records)


def _measure(
    cases: Sequence[_Passes],
    amount: Amount,
    seed: int,
    progress: Progress,
    cache: BlockCache | None,
) -> int:
    """Measure all passes that are not stored, and return the number of stored passes."""
    drawn = int(SeedSequence(seed).generate_state(1)[0])
    total = sum(
        min(amount.passes, passes_of_case.case.passes or amount.passes)
        for passes_of_case in cases
    )
    finished_passes = (
        {}
        if cache is None
        else {
            passes_of_case.request_key: cache.stored_blocks(place)
            for place, passes_of_case in enumerate(cases)
        }
    )
    done = earlier = 0
    for turn in range(amount.passes):
        for group in dict.fromkeys(passes_of_case.group for passes_of_case in cases):
            due_cases = [
                (place, passes_of_case)
                for place, passes_of_case in enumerate(cases)
                if passes_of_case.group == group and passes_of_case.due(turn)
            ]
            for _, passes_of_case in due_cases:
                if turn in finished_passes.get(passes_of_case.request_key, {}):
                    passes_of_case.found.append(
                        msgspec.json.decode(
                            finished_passes[passes_of_case.request_key][turn].part,
                            type=Measured,
                        )
                    )
                    done = done + 1
                    earlier = earlier + 1
            due_cases = [
                (place, passes_of_case)
                for place, passes_of_case in due_cases
                if turn not in finished_passes.get(passes_of_case.request_key, {})
            ]
            answers = measure_afresh(
                [passes_of_case.case for _, passes_of_case in due_cases],
                seed=drawn,
                rounds=amount.rounds,
                turn=turn,
            )
            try:
                for place, passes_of_case in due_cases:
                    progress(
                        done,
                        total,
                        f"pass {turn + 1} of {amount.passes}: {group}/{passes_of_case.case.name}",
                    )
                    outcome = next(answers)
                    done, passes_of_case.error = done + 1, outcome.error
                    passes_of_case.found += [] if outcome.error else [outcome]
                    if cache is not None and not outcome.error:
                        cache.save(
                            place,
                            turn,
                            BlockOutcome(msgspec.json.encode(outcome).decode(), 0.0),
                        )
            finally:
                answers.close()  # ends the measuring process
    return earlier


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
            **_same(target, TARGET_FIELDS),
        )
        for target in case.targets
    ]
    return CaseRecord(
        group=group,
        parameters={name: float(value) for name, value in case.parameters.items()},
        forms=[form for form in forms if form.missing or any(form.samples)],
        targets=targets,
        error=error,
        **_same(case, CASE_FIELDS),
    )


def _same(source: object, names: Sequence[str]) -> dict[str, Any]:
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
