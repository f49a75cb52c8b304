"""Take times of the forms of a case in turns, in this process."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time, thread_time

from dpverify.bench import yardstick
from dpverify.bench.case import Case, Clock, Form, Missing, Usage
from dpverify.bench.memory import AddedPeak, added_memory, can_measure_memory

CLOCKS: Mapping[Clock, Callable[[], float]] = {"thread": thread_time, "process": process_time, "wall": perf_counter}

SHORTEST = 0.02
"""Seconds that one measurement lasts at least: a form that is faster is called several times."""

ROUND_BUDGET = 2.5
"""Seconds that all rounds of a case may take in one pass; at least one round is made."""

LONGEST = 2.0
"""Seconds of a call beyond which it is not made twice more for its memory alone."""

SPARSE_PASSES = 3
"""Passes in which a form is timed that is too slow for every round."""


@dataclass
class Times:
    """Times of one form in one pass."""

    seconds: list[float] = field(default_factory=list)  # of one call, one value a round
    repeats: int = 1  # how many calls a value is the mean of
    peaks: list[int] = field(default_factory=list)  # peak memory of child processes in bytes, where the form runs one
    # seconds of the parts of a child process, where it tells
    parts: dict[str, list[float]] = field(default_factory=dict)
    added: int | None = None  # bytes that a call added to this process at its peak; taken in the first pass


@dataclass
class Measured:
    """One case in one pass."""

    times: dict[str, Times] = field(default_factory=dict)  # by form
    missing: dict[str, str] = field(default_factory=dict)  # forms that cannot be measured here, and why
    yardstick: Times | None = None  # what a limit of ours is compared with; see ``bench.yardstick``

    def medians(self) -> dict[str, float]:
        """Median seconds of one call by form."""
        return {name: median(times.seconds) for name, times in self.times.items()}


def measure_case(case: Case, *, seed: int = 0, rounds: int = 5, turn: int = 0) -> Measured:
    """Prepare a case and time its forms in turns.

    ``rounds``: how often each form is timed; fewer where that would take longer than :data:`ROUND_BUDGET`, at least
    one.
    """
    forms = case.prepare(seed=seed, **case.parameters)
    _check(case, set(forms))
    out = Measured(missing={name: form.why for name, form in forms.items() if isinstance(form, Missing)})
    ready = {name: form for name, form in forms.items() if not isinstance(form, Missing)}
    often = {name: form for name, form in ready.items() if name not in case.sparse}
    if case.limit_is_ours:
        often[yardstick.NAME] = yardstick.yardstick()
    clock = CLOCKS[case.clock]
    with _quiet():
        spent = _calibrate(often, clock, out)
        names = list(often)
        most = rounds if case.rounds is None else min(rounds, case.rounds)
        for number in range(max(1, min(most, int(ROUND_BUDGET / max(spent, 1e-9))))):
            shift = (turn + number) % max(len(names), 1)
            for name in names[shift:] + names[:shift]:
                _time(often[name], clock, out.times[name])
        for name in case.sparse if turn < SPARSE_PASSES else ():
            if name in ready:
                out.times[name] = Times()
                peak = AddedPeak() if turn == 0 and can_measure_memory() else None
                command = _time(ready[name], clock, out.times[name])
                out.times[name].added = None if peak is None or command else peak.read()
    out.yardstick = out.times.get(yardstick.NAME) if case.limit_is_ours else None
    out.times = {name: out.times[name] for name in ready if name in out.times}
    for name, times in out.times.items():
        short = name in often and not times.peaks and min(times.seconds) < LONGEST
        if turn == 0 and short and can_measure_memory():
            times.added = added_memory(often[name])
    return out


def _check(case: Case, forms: set[str]) -> None:
    named = {case.limit, *case.names()}
    strange = sorted(named - forms) or (sorted(forms - named) if case.forms else [])
    if strange:
        raise ValueError(
            f"case {case.name}: it names {sorted(named)} and prepare gives {sorted(forms)}: {strange[0]!r}"
        )


def _calibrate(forms: Mapping[str, Form], clock: Callable[[], float], out: Measured) -> float:
    """Call each form once untimed, and set how often it is called in one measurement; seconds of a round."""
    spent = 0.0
    for name, form in forms.items():
        times = out.times[name] = Times()
        begin = perf_counter()
        if isinstance(form(), Usage):  # a whole command: one call is a measurement, and nothing is compiled here
            spent += perf_counter() - begin
        else:
            times.repeats, took = calls_for(form, clock)
            spent += took
    return spent


def calls_for(form: Form, clock: Callable[[], float], shortest: float = SHORTEST) -> tuple[int, float]:
    """Find out how often a form must be called so that a measurement is long enough.

    The number of calls, and the seconds that so many take.
    """
    calls = 1
    took, wall = _seconds(form, clock, calls)
    while took < shortest and wall < 10 * shortest:
        needed = int(1.1 * shortest * calls / max(took, wall / 10, 1e-9)) + 1
        calls = max(2 * calls, min(needed, 20 * calls))
        took, wall = _seconds(form, clock, calls)
    return calls, max(took, wall)


def _seconds(form: Form, clock: Callable[[], float], repeats: int) -> tuple[float, float]:
    turns = range(repeats)
    wall = perf_counter()
    begin = clock()
    for _ in turns:
        form()
    return clock() - begin, perf_counter() - wall


def _time(form: Form, clock: Callable[[], float], times: Times) -> bool:
    """Take one measurement; whether it was a command's, whose memory is not this process's."""
    if times.repeats > 1:
        times.seconds.append(_seconds(form, clock, times.repeats)[0] / times.repeats)
        return False
    begin = clock()
    result = form()
    took = clock() - begin
    if not isinstance(result, Usage):
        times.seconds.append(took)
        return False
    times.seconds.append(took if result.seconds is None else result.seconds)
    if result.peak:
        times.peaks.append(result.peak)
    for name, seconds in result.parts.items():
        times.parts.setdefault(name, []).append(seconds)
    return True


@contextmanager
def _quiet() -> Iterator[None]:
    """No garbage collection while times are taken."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
