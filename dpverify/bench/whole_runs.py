"""Whole runs of ``dpverify verify`` as forms: cold and warm, alone and several at once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

from dpverify.bench.case import Usage
from dpverify.bench.commands import CommandError, dpverify, empty_cache, run_command

JUDGED = (0, 1)
"""Exit codes of a run that went to its end; what it says of its pins is not what is measured."""


class ColdThenWarm:
    """A run with an empty folder of compiled kernels, then the same run with what it left there.

    Parameters
    ----------
    *words : str
        After ``dpverify verify``.
    """

    def __init__(self, *words: str) -> None:
        self._words = words
        self._cache = tempfile.TemporaryDirectory(prefix="dpverify-cold-", ignore_cleanup_errors=True)
        self._seconds: dict[str, float] = {}

    def cold(self) -> Usage:
        """Run with a new empty folder.

        Returns
        -------
        Usage
            Peak memory, and the seconds of each check.
        """
        self._cache.cleanup()
        self._cache = tempfile.TemporaryDirectory(prefix="dpverify-cold-", ignore_cleanup_errors=True)
        return self._run("cold")

    def warm(self) -> Usage:
        """Run with the folder as the run before left it.

        Returns
        -------
        Usage
            Peak memory, and the seconds of each check.
        """
        return self._run("warm")

    def compilation(self) -> Usage:
        """Tell how much longer the last cold run took than the last warm one.

        Returns
        -------
        Usage
            Its time is the difference, at least a millisecond.
        """
        return Usage(0, seconds=max(self._seconds["cold"] - self._seconds["warm"], 1e-3))

    def _run(self, name: str) -> Usage:
        begin = perf_counter()
        used, found = _verify(*self._words, cache=Path(self._cache.name))
        self._seconds[name] = perf_counter() - begin
        return Usage(used.peak, parts=check_seconds(found))


class Crowd:
    """Several processes that judge one claim at once, with one empty folder of compiled kernels for all.

    Parameters
    ----------
    claim : str
        The claim.
    processes : int
        How many.
    """

    def __init__(self, claim: str, processes: int) -> None:
        self._claim, self._processes = claim, processes

    def alone(self) -> Usage:
        """Run one process with an empty folder.

        Returns
        -------
        Usage
            Its peak memory.
        """
        return self._cold(1)

    def together(self) -> Usage:
        """Run all of them with one empty folder.

        Returns
        -------
        Usage
            The largest peak memory among them.

        Raises
        ------
        CommandError
            When they do not all come to the same verdicts.
        """
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
    """Seconds of every check of a run.

    Parameters
    ----------
    run : mapping
        Its JSON.

    Returns
    -------
    dict of str to float
        ``claim[reading|printed|check]`` to core seconds.
    """
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
    """What a run says: claim, reading and status.

    Parameters
    ----------
    run : mapping
        Its JSON.

    Returns
    -------
    list of (str, str, str)
        In its order.
    """
    return [(each["claim"], json.dumps(each["reading"], sort_keys=True), each["status"]) for each in run["results"]]
