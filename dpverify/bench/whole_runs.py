"""Whole runs of ``dpverify verify`` as forms: cold and warm, alone and several at once."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

from dpverify.bench.case import Usage
from dpverify.bench.commands import CommandError, dpverify, empty_cache, run_command
from dpverify.bench.cores import usable_cores

JUDGED = (0, 1)
"""Exit codes of a run that went to its end; what it says of its pins is not what is measured."""


class ColdThenWarm:
    """A run with an empty folder of compiled kernels, then the same run with what it left there."""

    def __init__(self, *words: str) -> None:
        self._words = words
        self._cache = Path(tempfile.mkdtemp(prefix="dpverify-cold-"))
        self._runs: dict[str, _WholeRun] = {}
        # ignore_errors: a run that was interrupted may still write to it.
        finalize(self, shutil.rmtree, self._cache, ignore_errors=True)

    def cold(self) -> Usage:
        """Run with an empty folder."""
        shutil.rmtree(self._cache)
        self._cache.mkdir()
        return replace(self._run("cold"), parts={})

    def warm(self) -> Usage:
        """Run with the folder as the run before left it. Peak memory, and the seconds of each check."""
        used = self._run("warm")
        if self._runs["warm"].verdicts != self._runs["cold"].verdicts:
            raise CommandError("the cold run and the warm one came to different verdicts")
        return used

    def checks(self) -> Usage:
        """Tell how long the checks of the last warm run take if all cores share them evenly and nothing else is done.

        Its time is the sum of the checks' own seconds over the cores.
        """
        return Usage(0, seconds=self._runs["warm"].checks / usable_cores())

    def compilation(self) -> Usage:
        """Tell how much longer the last cold run took than the last warm one.

        Its time is the difference, at least a millisecond.
        """
        return Usage(0, seconds=max(self._runs["cold"].seconds - self._runs["warm"].seconds, 1e-3))

    def compilation_on_one_core(self) -> Usage:
        """Tell how many more seconds of cores the last cold run used than the last warm one.

        Its time is the difference, at least a millisecond.
        """
        return Usage(0, seconds=max(self._runs["cold"].core_seconds - self._runs["warm"].core_seconds, 1e-3))

    def _run(self, name: str) -> Usage:
        used, found = _verify(*self._words, cache=self._cache)
        parts = check_seconds(found)
        seconds = 0.0 if used.seconds is None else used.seconds
        self._runs[name] = _WholeRun(seconds, used.core_seconds, sum(parts.values()), verdicts(found))
        return replace(used, parts=parts)


class _WholeRun(NamedTuple):
    """What is kept of a run: its seconds, those of cores, those of its checks, and its verdicts."""

    seconds: float
    core_seconds: float
    checks: float
    verdicts: Sequence[tuple[str, str, str]]


class Crowd:
    """Several processes that judge one claim at once, with one empty folder of compiled kernels for all."""

    def __init__(self, claim: str, processes: int) -> None:
        self._claim, self._processes = claim, processes

    def alone(self) -> Usage:
        """Run one process with an empty folder."""
        return self._cold(1)

    def together(self) -> Usage:
        """Run all of them with one empty folder. The largest peak memory among them."""
        return self._cold(self._processes)

    def _cold(self, count: int) -> Usage:
        with empty_cache() as folder, ThreadPoolExecutor(count) as threads:
            runs = [threads.submit(_verify, self._claim, "--jobs", "1", cache=folder) for _ in range(count)]
            done = [run.result() for run in runs]
        told = {json.dumps(verdicts(found), sort_keys=True) for _, found in done}
        if len(told) != 1:
            raise CommandError(f"{count} processes that compiled at once came to {len(told)} different verdicts")
        return Usage(max(used.peak for used, _ in done))


def _verify(*words: str, cache: Path) -> tuple[Usage, Mapping[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="dpverify-run-") as folder:
        file = Path(folder) / "run.json"
        used = run_command(dpverify("verify", *words, "--json", str(file)), cache=cache, codes=JUDGED)
        return used, json.loads(file.read_bytes())


def check_seconds(run: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of every check of a run. ``claim[reading|printed|check]`` to core seconds."""
    found = {}
    for result in run["results"]:
        reading = ",".join(f"{name}={choice}" for name, choice in result["reading"].items())
        amended = (result.get("amendment") or {}).get("checks", [])
        for variant, checks in (("printed", result["checks"]), ("amended", amended)):
            for check in checks:
                inside = "|".join(filter(None, [reading, variant, check["name"]]))
                found[f"{result['claim']}[{inside}]"] = float(check["seconds"])
    return found


def verdicts(run: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What a run says: claim, reading and status."""
    return [(each["claim"], json.dumps(each["reading"], sort_keys=True), each["status"]) for each in run["results"]]
