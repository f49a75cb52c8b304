"""Time the forms of cases alternately in a fresh process, so that a crash affects only one case."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time, thread_time

from dpverify.bench.case import BenchCase, Clock, Form, Missing, Usage

CLOCKS: Mapping[Clock, Callable[[], float]] = {
    "thread": thread_time,
    "process": process_time,
    "wall": perf_counter,
}

# minimal seconds per measurement; faster forms are called several times
MIN_SECONDS = 0.02
# limit in seconds for all rounds of a case in one pass; at least one round is made
ROUND_BUDGET = 2.5
# forms with longer calls, in seconds, are not called again to measure memory
MAX_MEMORY_CALL = 2.0
FIRST_PASSES = 3  # passes in which memory is measured and ``sparse`` forms are timed

YARDSTICK = "the library's draw of 100,000 normals"
"""Baseline for a limit that is our own code. If such a limit becomes slower, all ratios
to it look better. Its own ratio to this draw, measured in the same turns, reveals this
when two runs are compared."""


@dataclass
class FormTimes:
    """Measurements of one form in one pass."""

    # seconds per call, one value per round
    seconds: list[float] = field(default_factory=list)
    # peak memory of child processes in bytes, if there are any
    peaks: list[int] = field(default_factory=list)
    # bytes that a call adds to the peak memory of this process
    added: int | None = None
    outside: bool = False  # other processes do the work


@dataclass
class Measured:
    """Measurements of one case in one pass."""

    # by form; includes the yardstick if the limit is ours
    times: dict[str, FormTimes] = field(default_factory=dict)
    # form that cannot be measured here -> reason
    missing: dict[str, str] = field(default_factory=dict)
    error: str = ""  # error message; the other fields are then empty


def measure_case(
    case: BenchCase, *, seed: int = 0, rounds: int = 5, pass_number: int = 0
) -> Measured:
    """Prepare a case and time its forms alternately, ``rounds`` times or as often as :data:`ROUND_BUDGET` allows."""
    forms = case.prepare(seed=seed, **case.parameters)
    if set(forms) != set(case.forms) or not {case.limit, *case.sparse} <= set(forms):
        raise ValueError(
            f"case {case.name}: its forms are {sorted(case.forms)}, and prepare gives {sorted(forms)}"
        )
    out = Measured(
        missing={
            name: form.why for name, form in forms.items() if isinstance(form, Missing)
        }
    )
    ready = {
        name: form for name, form in forms.items() if not isinstance(form, Missing)
    }
    often = {name: form for name, form in ready.items() if name not in case.sparse}
    if case.limit_is_ours:
        often[YARDSTICK] = yardstick()
    with _no_garbage_collection():
        _in_turns(often, case, rounds, pass_number, out.times)
        if pass_number < FIRST_PASSES:
            for name in case.sparse:
                if name in ready:
                    _time(
                        ready[name],
                        CLOCKS[case.clock],
                        1,
                        out.times.setdefault(name, FormTimes()),
                    )
            for name, form in ready.items():
                times = out.times[name]
                if not times.outside and min(times.seconds) < MAX_MEMORY_CALL:
                    times.added = added_memory(form)
    return out


def yardstick() -> Form:
    """Return a form that draws into a fixed array with numpy only."""
    import numpy as np

    rng = np.random.Generator(np.random.SFC64(0))
    out = np.empty(100_000)
    return lambda: rng.standard_normal(out=out)


def _in_turns(
    forms: Mapping[str, Form],
    case: BenchCase,
    rounds: int,
    pass_number: int,
    times_of: dict[str, FormTimes],
) -> None:
    """Time the forms round by round; their order rotates with the round and the pass."""
    clock = CLOCKS[case.clock]
    calls = dict[str, int]()
    round_seconds = 0.0
    for name, form in forms.items():
        begin = perf_counter()
        calls[name] = 1
        # a whole command: one call suffices, and nothing is compiled here
        if isinstance(form(), Usage):
            round_seconds += perf_counter() - begin
        else:
            calls[name], took = calls_for(form, clock)
            round_seconds += took
    names = list(forms)
    round_limit = min(
        rounds, case.rounds or rounds, int(ROUND_BUDGET / max(round_seconds, 1e-9))
    )
    for number in range(max(1, round_limit)):
        shift = (pass_number + number) % max(len(names), 1)
        for name in names[shift:] + names[:shift]:
            _time(
                forms[name], clock, calls[name], times_of.setdefault(name, FormTimes())
            )


def calls_for(
    form: Form, clock: Callable[[], float], shortest: float = MIN_SECONDS
) -> tuple[int, float]:
    """Return how many calls of a form make a measurement long enough, and the seconds that these calls take."""
    calls = 1
    seconds, wall = _seconds(form, clock, calls)
    # sleeping forms use no processor time
    while seconds < shortest and wall < 10 * shortest:
        needed = int(1.1 * shortest * calls / max(seconds, wall / 10, 1e-9)) + 1
        calls = max(2 * calls, min(needed, 20 * calls))
        seconds, wall = _seconds(form, clock, calls)
    return calls, max(seconds, wall)


def _seconds(form: Form, clock: Callable[[], float], calls: int) -> tuple[float, float]:
    turns = range(calls)
    wall = perf_counter()
    begin = clock()
    for _ in turns:
        form()
    return clock() - begin, perf_counter() - wall


def _time(form: Form, clock: Callable[[], float], calls: int, times: FormTimes) -> None:
    if calls > 1:
        times.seconds.append(_seconds(form, clock, calls)[0] / calls)
        return
    begin = clock()
    result = form()
    seconds = clock() - begin
    if isinstance(result, Usage):
        times.outside = True
        seconds = seconds if result.seconds is None else result.seconds
        times.peaks += [result.peak] if result.peak else []
    times.seconds.append(seconds)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_STATUS = Path("/proc/self/status")
_REFS = Path("/proc/self/clear_refs")


def added_memory(form: Form) -> int | None:
    """Return the bytes that a call adds to the peak resident memory, or None if unknown; warm the form up first."""
    gc.collect()
    # return freed memory to the system: the call could reuse it unseen
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        _REFS.write_text("5")
    except OSError:
        return None
    before = _field("VmRSS")
    form()
    return max(_field("VmHWM") - before, 0)


def _field(name: str) -> int:
    line = next(
        line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:")
    )
    return int(line.split()[1]) * 1024


ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""Linear algebra libraries use one thread, like all measured code unless a case says
otherwise. Whole commands run without these variables, as from a prompt."""

END_SECONDS = 10.0  # seconds in which a process must end after Ctrl-C


def measure_afresh(
    cases: Sequence[BenchCase], *, seed: int, rounds: int, pass_number: int
) -> Generator[Measured, None, None]:
    """Measure cases in order in a fresh process; if it dies, continue after the failed case in a new process."""
    remaining = list(cases)
    while remaining:
        context = get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(
            target=_answer, args=(sender, tuple(remaining), seed, rounds, pass_number)
        )
        process.start()
        sender.close()
        try:
            while remaining:
                measured: Measured = receiver.recv()
                remaining.pop(0)
                yield measured
            process.join()
        except EOFError:
            process.join()
            remaining.pop(0)
            yield Measured(
                error=f"the process that measured it ended with exit code {process.exitcode}"
            )
        finally:
            # SIGINT first, so that the process ends its commands
            for signal_number in (signal.SIGINT, signal.SIGKILL):
                if process.pid is not None and process.is_alive():
                    os.kill(process.pid, signal_number)
                    process.join(END_SECONDS)
            receiver.close()


def _answer(
    connection: Connection,
    cases: Sequence[BenchCase],
    seed: int,
    rounds: int,
    pass_number: int,
) -> None:
    """Measure the cases in the new process and send one message per case; discard what cases print."""
    os.environ.update(ONE_THREAD)  # before numpy is loaded
    with open(os.devnull, "wb") as null_device:  # noqa: PTH123  a device
        for stream in (1, 2):
            os.dup2(null_device.fileno(), stream)
    try:
        for case in cases:
            try:
                measured = measure_case(
                    case, seed=seed, rounds=rounds, pass_number=pass_number
                )
            except Exception as error:  # noqa: BLE001  whatever a case raises is that case's failure, not the run's
                measured = Measured(
                    error=f"{type(error).__name__}: {' '.join(str(error).split())}"[
                        :500
                    ]
                )
            connection.send(measured)
    except KeyboardInterrupt:
        sys.exit(130)
