"""Run claims and tests in a copy of the checkout, and return which of them detected the fault in the copy, and how.

They run in processes that are forked from a process with the libraries already loaded.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from xml.etree import ElementTree

import msgspec

from dpverify.ledger.results import Result, decode, lost_proofs
from dpverify.selftest.records import Detection, Sighting

LIBRARIES = (
    "flint",
    "mpmath",
    "msgspec",
    "numba",
    "numpy",
    "pytest",
    "scipy.special",
    "sympy",
)
"""Libraries that most claims and tests import. Importing them takes as long as a typical test."""

LAUNCHER = """
import contextlib, importlib, json, os, runpy, sys, threading, time, warnings
if sys.platform == "linux":  # elsewhere it is not safe to fork after that
    for name in sys.argv[1:]:
        with contextlib.suppress(ImportError):  # who needs it will say so
            importlib.import_module(name)
parent = os.getppid()
for line in sys.stdin:
    with warnings.catch_warnings(action="ignore"):  # of the threads that numpy may have begun, which stay behind
        child = os.fork()
    if not child:
        break
    os.setpgid(child, child)
    print(child, flush=True)
    ended = 0
    while not ended:
        if os.getppid() != parent:
            sys.exit()
        time.sleep(0.01)
        ended, status = os.waitpid(child, os.WNOHANG)
    print(os.waitstatus_to_exitcode(status), flush=True)
else:
    sys.exit()

folder, *sys.argv = json.loads(line)
for stream in (0, 1):
    os.dup2(os.open(os.devnull, os.O_RDWR), stream)
os.chdir(folder)
os.environ["PYTHONPATH"] = folder
sys.path.insert(0, folder)
def watch(launcher):
    while os.getppid() == launcher:
        time.sleep(1)
    os.killpg(0, 9)
threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Runs modules as ``python -m`` does, each in a separate process, and prints the number and exit code of that process.

It first imports the libraries that are its arguments. It ends when the process that started it has ended. Its child
then also ends, with its process group.
"""


class Children:
    """Running child processes. A child ends at its time limit; all children end with the run or when it is aborted."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._live = set[int]()
        self.ended = False
        self._launchers = list[subprocess.Popen[bytes]]()  # launchers without a child

    def run(self, folder: Path, words: Sequence[str], until: float) -> int | None:
        """Run a Python module in a copy, and return its exit code, or None if it did not end before ``until``."""
        with self._lock:
            if self.ended or time.monotonic() > until:
                return None
            launcher = self._launchers.pop() if self._launchers else _launcher()
            self._live.add(launcher.pid)
        requests = launcher.stdin
        replies = launcher.stdout
        assert requests is not None, "a pipe"
        assert replies is not None, "a pipe"
        code = b""
        in_time = True
        pids = {launcher.pid}
        # `end` was called, or the launcher has died
        with suppress(OSError, ValueError):
            requests.write(json.dumps([str(folder), *words]).encode() + b"\n")
            child = int(replies.readline())
            pids.add(child)
            with self._lock:
                self._live |= pids
            in_time = bool(
                select.select([replies], [], [], max(until - time.monotonic(), 0.1))[0]
            )
            _kill(child)  # also ends the processes that it has started
            code = replies.readline()
        with self._lock:
            self._live -= pids
            if code and not self.ended:
                self._launchers.append(launcher)
            else:
                _close(launcher)
        return int(code or -signal.SIGKILL) if in_time else None

    def end(self) -> None:
        """End all running processes, and start no others."""
        with self._lock:
            self.ended = True
            for pid in self._live:
                _kill(pid)
            while self._launchers:
                _close(self._launchers.pop())


def _launcher() -> subprocess.Popen[bytes]:
    """Start a launcher, whose children cache compiled kernels beside the sources of their copy."""
    removed_variables = {
        "NUMBA_CACHE_DIR",
        "PYTEST_ADDOPTS",
        "PYTHONPATH",
        "PYTHONSAFEPATH",
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-c", LAUNCHER, *LIBRARIES],
        env={
            name: value
            for name, value in os.environ.items()
            if name not in removed_variables
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )


def _close(launcher: subprocess.Popen[bytes]) -> None:
    with launcher:  # closes both pipes, and waits
        launcher.kill()


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


NOT_IMPORTED = re.compile(
    r"\W*(ImportError|ModuleNotFoundError|SyntaxError|NameError|AttributeError|numba\S*(Typing|Lowering)Error)\b"
)
"""Errors of code that does not fit together. Nobody would commit it, so these errors do not count as detections."""
ASSERTION = re.compile(r"\W*(assert\b|AssertionError|Failed\b)")
# pytest adds it to the failures of the rows of a test
SUMMARY = re.compile(r"contains \d+ failed subtest")


def run_guards(
    children: Children,
    folder: Path,
    checks: Sequence[str],
    seconds: float,
    *,
    stop: bool = True,
) -> list[Sighting]:
    """Run claims and tests in a copy, within a number of seconds; return what each of them saw, in their order.

    ``stop``: stop at the first failure if whole files of tests are run. Claims use a store for this call only. The hash
    of the evidence does not cover every change, and results with a fault must not be taken for results without.
    """
    until = time.monotonic() + seconds
    tests = [name for name in checks if name.startswith("tests/")]
    claims = [name for name in checks if name not in tests]
    # not in the copy, which other threads may use too
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        sightings = {
            sighting.check: sighting
            for sighting in _claims(
                children, folder, claims, until, Path(out, "claims.json")
            )
        }
        target = Path(out, "tests.xml")
        sightings |= {
            sighting.check: sighting
            for sighting in _tests(children, folder, tests, until, target, stop=stop)
        }
    return [sightings[name] for name in checks]


def _claims(
    children: Children, folder: Path, claims: Sequence[str], until: float, target: Path
) -> Iterator[Sighting]:
    if not claims:
        return
    options = [
        "--fresh",
        "--store",
        str(target.with_suffix(".sqlite")),
        "--json",
        str(target),
    ]
    words = [
        "dpverify",
        "verify",
        *claims,
        "--budget",
        "smoke",
        "--jobs",
        "1",
        *options,
    ]
    code = children.run(folder, words, until)
    results: list[Result] = []
    with suppress(OSError, msgspec.DecodeError):
        results = decode(target.read_bytes()).results
    for claim in claims:
        matches = [result for result in results if result.claim == claim]
        if code not in {0, 1} or not matches:
            yield Sighting(
                check=claim, saw="time limit" if code is None else "did not run"
            )
        else:
            sightings = (
                [sighting for result in matches for sighting in _sightings_of(result)]
                if code == 1
                else []
            )
            yield (
                msgspec.structs.replace(sightings[0], check=claim)
                if sightings
                else Sighting(check=claim, saw="nothing")
            )


def _sightings_of(result: Result) -> Iterator[Sighting]:
    """Yield what a result shows against our code or the pins, the strongest evidence first."""
    checks = result.all_checks

    def sighting(saw: Detection, names: Sequence[str]) -> Sighting:
        sizes = [
            check.detects for check in checks if check.name in names and check.detects
        ]
        return Sighting(
            check=result.claim,
            saw=saw,
            by=list(dict.fromkeys(names)),
            detects=list(dict.fromkeys(sizes)),
        )

    if result.sources_disagree:
        kernels = [check.name for check in checks if check.kernel_disagrees]
        yield sighting("sources disagree", kernels)
    if result.contradicts:
        yield sighting(
            "pin contradicted",
            [check.name for check in checks if check.status == "refuted"],
        )
    if missed := [
        check.name
        for check in checks
        if not all(control.refuted for control in check.controls)
    ]:
        yield sighting("control missed", missed)
    if result.loosened:
        yield sighting(
            "slack moved", [check.name for check in checks if check.slack is not None]
        )
    if lost := lost_proofs(result):
        yield sighting("proof lost", [name.partition(":")[0] for name in lost])
    broken = [check for check in checks if check.error]
    if broken:
        is_unfit = all(NOT_IMPORTED.match(check.error) for check in broken)
        yield sighting(
            "did not run" if is_unfit else "exception raised",
            [check.name for check in broken],
        )


def _tests(
    children: Children,
    folder: Path,
    tests: Sequence[str],
    until: float,
    target: Path,
    *,
    stop: bool,
) -> Iterator[Sighting]:
    if not tests:
        return
    options = ["-x"] if stop and not any("::" in test for test in tests) else []
    words = [
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *options,
        f"--junitxml={target}",
        *tests,
    ]
    code = children.run(folder, words, until)
    cases: list[ElementTree.Element] = []
    with suppress(OSError, ElementTree.ParseError):
        cases = list(ElementTree.parse(target).iter("testcase"))
    for test in tests:
        file, *names = test.split("::")
        dotted = ".".join([file.removesuffix(".py").replace("/", "."), *names])
        pairs = [
            (case, f"{case.get('classname')}.{case.get('name')}".partition("[")[0])
            for case in cases
        ]
        matches = [
            case
            for case, name in pairs
            if name == dotted or (not names and name.startswith(f"{dotted}."))
        ]
        if code is None or not matches:
            yield Sighting(
                check=test, saw="time limit" if code is None else "did not run"
            )
        else:
            detections = [
                _detection(case)
                for case in matches
                if names or case.find("skipped") is None
            ]
            yield Sighting(
                check=test, saw=min(detections, key=ORDER.index, default="did not run")
            )


ORDER: tuple[Detection, ...] = (
    "assertion failed",
    "exception raised",
    "did not run",
    "nothing",
)


def _detection(case: ElementTree.Element) -> Detection:
    messages = [failure.get("message", "") for failure in case.findall("failure")]
    meanings = [
        _failure_kind(message) for message in messages if not SUMMARY.match(message)
    ]
    if meanings:
        return min(meanings, key=ORDER.index)
    is_incomplete = case.find("skipped") is not None or case.find("error") is not None
    return "did not run" if is_incomplete else "nothing"


def _failure_kind(message: str) -> Detection:
    if ASSERTION.match(message):
        return "assertion failed"
    return "did not run" if NOT_IMPORTED.match(message) else "exception raised"
