"""Verification: whole runs, cold and warm, and what compiling takes of them.

The functions that time a whole command are here too; the group ``start-up`` uses them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from weakref import finalize

from dpverify.bench.case import BenchCase, Forms, Target, Usage
from dpverify.bench.measure import ONE_THREAD, YARDSTICK
from dpverify.processes import usable_cores

# folder of compiled kernels; a run with an empty folder is cold
CACHE_VARIABLE = "NUMBA_CACHE_DIR"

# exit codes of a completed run, whether or not its verdicts match the pinned ones
COMPLETED = (0, 1)

LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - begin
cores = used.ru_utime + used.ru_stime
os.write(int(sys.argv[1]), f"{os.waitstatus_to_exitcode(status)} {used.ru_maxrss} {seconds} {cores}".encode())
"""
"""A small process between this process and the command. The kernel counts the memory
that a process held before it became the command as memory of the command, and this
process may hold much."""


class CommandError(RuntimeError):
    """Raised if a measured command fails or gives inconsistent results."""


def run_python(
    *words: str, cache: Path | None = None, codes: Sequence[int] = (0,)
) -> Usage:
    """Run this interpreter with these arguments, discarding its output; compiled kernels are stored in ``cache``."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as usage_pipe, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                "-c",
                LAUNCHER,
                str(writing),
                sys.executable,
                *words,
            ],
            env=_environment(cache),
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            pass_fds=(writing,),
        )
        os.close(writing)
        try:
            process.wait()
        except BaseException:  # if interrupted, also end the command and its children
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise
        code, peak, seconds, cores = (
            float(word) for word in usage_pipe.read().split() or (1, 0, 0, 0)
        )
        if code not in codes:
            errors.seek(0)
            error_lines = errors.read().decode(
                errors="replace"
            ).strip().splitlines() or ["no message"]
            raise CommandError(
                f"python {' '.join(words)}: exit code {code:.0f}: {error_lines[-1]}"
            )
    return Usage(int(peak) * (1 if sys.platform == "darwin" else 1024), seconds, cores)


def _environment(cache: Path | None) -> dict[str, str]:
    """Return the environment of a command without ``ONE_THREAD``, with this package and kernel folder ``cache``."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in ONE_THREAD
    }
    home = str(Path(__file__).resolve().parents[3])
    inherited["PYTHONPATH"] = os.pathsep.join(
        filter(None, [home, inherited.get("PYTHONPATH")])
    )
    return inherited if cache is None else {**inherited, CACHE_VARIABLE: str(cache)}


@dataclass(frozen=True)
class VerifyRun:
    """A run of ``dpverify verify``."""

    usage: Usage
    checks: float  # core seconds of all checks
    verdicts: Sequence[tuple[str, str, str]]  # (claim, reading, status)


def verify(*words: str, cache: Path) -> VerifyRun:
    """Run ``dpverify verify`` with an empty store."""
    with tempfile.TemporaryDirectory(prefix="dpverify-run-") as folder:
        file = Path(folder) / "run.json"
        store = Path(folder) / "evidence.sqlite"
        # no results of earlier runs
        store_options = "--json", str(file), "--store", str(store)
        usage = run_python(
            "-m",
            "dpverify",
            "verify",
            *words,
            *store_options,
            cache=cache,
            codes=COMPLETED,
        )
        return VerifyRun(usage, *read_results(json.loads(file.read_bytes())["results"]))


def read_results(
    results: Sequence[Mapping[str, Any]],
) -> tuple[float, list[tuple[str, str, str]]]:
    """Return the seconds of all checks of a run, including those of amendments, and its verdicts."""
    checks = [
        check
        for result in results
        for part in (result, result["amendment"] or {})
        for check in part.get("checks", [])
    ]
    verdicts = [
        (
            result["claim"],
            json.dumps(result["reading"], sort_keys=True),
            result["status"],
        )
        for result in results
    ]
    return sum(float(check["seconds"]) for check in checks), verdicts


class ColdThenWarm:
    """A run with an empty folder of compiled kernels, and the same run with the kernels of the first."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self._cache = Path(tempfile.mkdtemp(prefix="dpverify-cold-"))
        self._runs: dict[str, VerifyRun] = {}
        # ignore_errors: an interrupted run may still write to the folder
        finalize(self, shutil.rmtree, self._cache, ignore_errors=True)

    def cold(self) -> Usage:
        """Run with an empty kernel folder."""
        shutil.rmtree(self._cache)
        self._cache.mkdir()
        return self._run("cold")

    def warm(self) -> Usage:
        """Run with the kernels of the previous run."""
        usage = self._run("warm")
        if self._runs["warm"].verdicts != self._runs["cold"].verdicts:
            raise CommandError(
                "the cold run and the warm one came to different verdicts"
            )
        return usage

    def cores(self) -> Usage:
        """Report the core seconds of the last warm run."""
        return Usage(seconds=self._runs["warm"].usage.core_seconds)

    def checks(self) -> Usage:
        """Report the core seconds of the checks of the last warm run, divided by the number of cores."""
        return Usage(seconds=self._runs["warm"].checks / usable_cores())

    def compilation(self) -> Usage:
        """Report how many seconds the last cold run took longer than the last warm run, at least 1 ms."""
        cold, warm = (
            self._runs[name].usage.seconds or 0.0 for name in ("cold", "warm")
        )
        return Usage(seconds=max(cold - warm, 1e-3))

    def compilation_on_one_core(self) -> Usage:
        """Report how many more core seconds the last cold run used than the last warm run, at least 1 ms."""
        cold, warm = (self._runs[name].usage.core_seconds for name in ("cold", "warm"))
        return Usage(seconds=max(cold - warm, 1e-3))

    def _run(self, name: str) -> Usage:
        self._runs[name] = verify(*self._words, cache=self._cache)
        return self._runs[name].usage


def cold_at_once(claim: str, processes: int) -> Usage:
    """Verify a claim in parallel processes that share an empty kernel folder; report the largest peak memory."""
    with (
        tempfile.TemporaryDirectory(
            prefix="dpverify-cold-", ignore_cleanup_errors=True
        ) as folder,
        ThreadPoolExecutor(processes) as threads,
    ):
        runs = [
            threads.submit(verify, claim, "--jobs", "1", cache=Path(folder))
            for _ in range(processes)
        ]
        done = [run.result() for run in runs]
    verdict_texts = {json.dumps(finished.verdicts, sort_keys=True) for finished in done}
    if len(verdict_texts) != 1:
        raise CommandError(
            f"{processes} processes that compiled at once came to {len(verdict_texts)} different verdicts"
        )
    return Usage(max(finished.usage.peak for finished in done))


COLD = "cold"
WARM = "warm"
CORES = "warm, seconds of cores"
CHECKS = "its checks, shared by the cores"
COMPILATION = "cold − warm"
ON_ONE_CORE = "cold − warm, seconds of cores"

# the warm run reuses the kernels of the cold run
IN_TURN = (COLD, WARM, CORES, CHECKS, COMPILATION, ON_ONE_CORE)


def _budget(budget: str, *, seed: int) -> Forms:

    runs = ColdThenWarm("--budget", budget)
    forms = (
        runs.cold,
        runs.warm,
        runs.cores,
        runs.checks,
        runs.compilation,
        runs.compilation_on_one_core,
    )
    return dict(zip(IN_TURN, forms, strict=True))


def _at_once(*, seed: int, processes: int) -> Forms:

    claim = "tran2022:theorem-4-sensitivity"
    return {
        "one process": lambda: cold_at_once(claim, 1),
        "at once": lambda: cold_at_once(claim, processes),
    }


def _whole(budget: str, *targets: Target) -> BenchCase:
    return BenchCase(
        budget,
        f"dpverify verify --budget {budget}, all claims",
        partial(_budget, budget),
        forms=IN_TURN,
        limit=CHECKS,
        limit_is_ours=True,
        clock="wall",
        sparse=IN_TURN,
        passes=1,
        long=True,
        targets=targets,
    )


CASES = (
    _whole(
        "smoke",
        Target(WARM, at_most=180.0, kind="seconds"),
        Target(
            CORES,
            at_most=135_000.0,
            to=YARDSTICK,
            words="100 s of cores where the draw takes 0.74 ms",
        ),
        Target(
            COMPILATION,
            at_most=60.0,
            kind="seconds",
            words="compiling all that it needs, on 2 cores",
        ),
    ),
    _whole("standard", Target(WARM, at_most=1800.0, kind="seconds")),
    BenchCase(
        "compile-at-once",
        "Processes that compile the same kernels into one empty folder at the same time, and get the same results",
        _at_once,
        forms=("one process", "at once"),
        limit_is_ours=True,
        parameters={"processes": 4},
        clock="wall",
        sparse=("one process", "at once"),
        passes=2,
        long=True,
    ),
)
