"""The selftest: all checks must pass in a copy of the checkout; then each fault is planted in a copy of that copy.

An interrupted run can be resumed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import msgspec

from dpverify.foreign import interrupts_ignored
from dpverify.harness.run.manifest import commit, machine, versions
from dpverify.selftest.catalogue import (
    FOLDER,
    KINDS,
    CatalogueError,
    Fault,
    load_faults,
    planted,
)
from dpverify.selftest.detection import Children, run_guards
from dpverify.selftest.records import FaultOutcome, Selftest, Sighting
from dpverify.shared_types import ReportProgress

COPIED = (
    *("dpverify", "specs", "tests", "docs", "reports", ".ci"),
    *(
        "pyproject.toml",
        "constraints.txt",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "action.yml",
        "CITATION.cff",
    ),
)  # files that tests read
# seconds within which all claims and tests must pass on the code without a fault
BASELINE_SECONDS = 3600.0
OUTCOME_START = re.compile(rb'\["[0-9a-f]{64}",\{')  # beginning of a stored outcome


class FailingGuardsError(Exception):
    """Claims or tests that must notice faults fail, or do not run, on the code without a fault."""

    def __init__(self, sightings: Sequence[Sighting]) -> None:
        self.red = {sighting.check for sighting in sightings}
        super().__init__(
            "without a fault: "
            + ", ".join(f"{sighting.check}: {sighting.saw}" for sighting in sightings)
        )


class StateError(ValueError):
    """The file of stored outcomes is damaged, or is another kind of file; the message says where."""


def code_digest(root: Path) -> str:
    """Return a digest of library versions and of all copied files, except the catalogue, test modules and reports."""
    digest = hashlib.sha256(repr(sorted(versions().items())).encode())
    for name in (name for name in COPIED if name != "reports"):
        paths = (
            [root / name]
            if (root / name).is_file()
            else sorted((root / name).rglob("*"))
        )
        for path in paths:
            inside = path.relative_to(root)
            is_test = path.name.startswith("test_") or FOLDER in inside.parents
            if path.is_file() and not _is_ignored(inside) and not is_test:
                digest.update(f"{inside.as_posix()} {_digest(path)}\n".encode())
    return digest.hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_ignored(path: Path) -> bool:
    return "__pycache__" in path.parts or path.name.startswith(".")


def fault_key(fault: Fault, root: Path, code: str) -> str:
    """Return the key of an outcome: a digest of the fault, the code, and the tests that must notice the fault."""
    files = sorted({root / test.partition("::")[0] for test in fault.tests})
    parts = [code, *(_digest(path) for path in files if path.is_file())]
    return hashlib.sha256(
        msgspec.json.encode(fault) + "".join(parts).encode()
    ).hexdigest()


def load_outcomes(state: Path) -> dict[str, FaultOutcome]:
    """Return the outcomes of earlier runs by their keys; lines that an interrupted run left incomplete are ignored.

    Raises a :class:`StateError` if the file is damaged or has another format. The caller must not write to it then.
    """
    outcomes: dict[str, FaultOutcome] = {}
    try:
        lines = state.read_bytes().split(b"\n") if state.exists() else []
    except OSError as error:
        raise StateError(f"cannot be read: {error.strerror}") from None
    for number, line in enumerate(filter(None, lines), start=1):
        try:
            key, outcome = msgspec.json.decode(line, type=tuple[str, FaultOutcome])
        except msgspec.ValidationError as error:
            if OUTCOME_START.match(line):  # written by another version
                continue
            raise StateError(
                f"entry {number} is no outcome of a selftest: {error}"
            ) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if line.startswith(b'["'[: len(line)]) and (
                "truncated" in str(error) or not line.endswith(b"]")
            ):
                continue
            raise StateError(f"entry {number} is damaged: {error}") from None
        outcomes[key] = outcome
    return outcomes


def save_outcome(state: Path, key: str, outcome: FaultOutcome) -> None:
    """Append an outcome as a new line; the leading line break separates it from an incomplete line."""
    with state.open("ab") as file:
        file.write(b"\n" + msgspec.json.encode((key, outcome)) + b"\n")


def selftest(
    root: Path,
    faults: Sequence[Fault],
    state: Path,
    *,
    jobs: int = 1,
    limit: float = 300.0,
    report: ReportProgress | None = None,
) -> Selftest:
    """Plant each fault, and return all outcomes; outcomes in the file ``state`` are reused.

    ``limit``: seconds for one fault. Raises :class:`NotGreen` if a claim or test fails without a fault. Ctrl-C is
    raised again, and ``state`` then has the outcomes so far.
    """
    progress = report or (lambda done, total, label: None)
    code = code_digest(root)
    keys = {fault.id: fault_key(fault, root, code) for fault in faults}
    outcome_of_key = load_outcomes(state)
    todo = [fault for fault in faults if keys[fault.id] not in outcome_of_key]
    progress(len(faults) - len(todo), len(faults), "the code without a fault")
    if todo:
        with (
            work_folder("dpverify-selftest-") as work,
            closing(_outcomes(root, todo, work, jobs, limit)) as decisions,
        ):
            for outcome in decisions:
                key = keys[outcome.id]
                outcome_of_key[key] = outcome
                save_outcome(state, key, outcome)
                done = sum(
                    key_of_fault in outcome_of_key for key_of_fault in keys.values()
                )
                progress(
                    done,
                    len(faults),
                    f"{outcome.id}: {'MISSED' if outcome.missed else 'noticed'}",
                )
    outcomes = [outcome_of_key[keys[fault.id]] for fault in faults]
    return Selftest(
        versions=versions(),
        commit=commit(),
        machine=machine(),
        kinds=KINDS,
        modules=modules(root),
        faults=outcomes,
        catalogue=len(load_faults(root)),
    )


def _outcomes(
    root: Path, faults: Sequence[Fault], work: Path, jobs: int, limit: float
) -> Generator[FaultOutcome]:
    children = Children()
    green = work / "green"
    pool = ThreadPoolExecutor(jobs)
    try:
        copy(root, green)
        checks = list(
            dict.fromkeys(name for fault in faults for name in fault.noticed_by)
        )
        red = [
            sighting
            for sighting in run_green(pool, children, green, checks, jobs)
            if sighting.saw != "nothing"
        ]
        if red:
            raise FailingGuardsError(red)
        futures = [
            pool.submit(_run, children, green, work / f"fault-{n}", fault, limit)
            for n, fault in enumerate(faults)
        ]
        for future in as_completed(futures):
            yield future.result()
    finally:
        end_work(children, pool)


@contextmanager
def work_folder(prefix: str) -> Iterator[Path]:
    """Make a folder for copies, and delete it at the end, even if Ctrl-C is pressed."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        # a second Ctrl-C would leave a copy with a fault behind
        with interrupts_ignored():
            shutil.rmtree(folder, ignore_errors=True)


def end_work(children: Children, pool: ThreadPoolExecutor) -> None:
    """End all processes, and wait for the threads that control them, even if Ctrl-C is pressed."""
    with interrupts_ignored():
        children.end()
        pool.shutdown(cancel_futures=True)


def run_green(
    pool: ThreadPoolExecutor,
    children: Children,
    green: Path,
    checks: Sequence[str],
    jobs: int,
) -> list[Sighting]:
    """Run claims and tests on the code without a fault, in as many processes as there are jobs."""
    parts = [part for k in range(jobs) if (part := checks[k::jobs])]
    futures = [
        pool.submit(run_guards, children, green, part, BASELINE_SECONDS, stop=False)
        for part in parts
    ]
    return [sighting for future in futures for sighting in future.result()]


def copy(root: Path, to: Path) -> None:
    """Copy the relevant files of a checkout, including compiled kernels, whose names depend on their sources only.

    Test modules compiled by pytest are not copied. They contain paths of the checkout, and would cache kernels there.
    """
    to.mkdir()
    for name in COPIED:
        source = root / name
        if source.is_dir():
            ignore = shutil.ignore_patterns(".*", "*-pytest-*.pyc")
            shutil.copytree(source, to / name, ignore=ignore, copy_function=_copy_file)
        elif source.is_file():
            shutil.copy2(source, to / name)


def _copy_file(source: str, to: str) -> None:
    # a temporary file of a process that compiles in the checkout
    with suppress(FileNotFoundError):
        shutil.copy2(source, to)


@contextmanager
def plant(green: Path, folder: Path, fault: Fault, changed: str) -> Iterator[None]:
    """Make a copy of the passing copy with one changed file, and delete it at the end.

    Files are hard-linked, not copied, including compiled kernels. Files that are written in the copy are written under
    another name and then renamed, so they do not change the originals.
    """
    shutil.copytree(green, folder, copy_function=os.link)
    try:
        (folder / fault.path).unlink()
        for compiled in (folder / fault.path).parent.glob(
            f"__pycache__/{fault.path.stem}.*.pyc"
        ):
            # Python would use it if both sources have the same size and second
            compiled.unlink()
        (folder / fault.path).write_text(changed, "utf-8")
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    children: Children, green: Path, folder: Path, fault: Fault, limit: float
) -> FaultOutcome:
    """Plant one fault, and run the claims and tests that must notice it."""
    begin = time.monotonic()
    outcome = FaultOutcome(
        id=fault.id,
        kind=fault.kind,
        what=fault.what,
        module=fault.module,
        size=fault.size,
    )
    try:
        changed = planted((green / fault.path).read_text("utf-8"), fault)
    except CatalogueError as error:
        return msgspec.structs.replace(outcome, error=str(error))
    with plant(green, folder, fault, changed):
        sightings = run_guards(children, folder, fault.noticed_by, limit)
    return msgspec.structs.replace(
        outcome, seconds=round(time.monotonic() - begin, 1), sightings=sightings
    )


def modules(root: Path) -> list[str]:
    """Return the modules of the package that define a function or a class."""
    paths = sorted((root / "dpverify").rglob("*.py"))
    defining = [
        path
        for path in paths
        if any(word in path.read_text("utf-8") for word in ("def ", "class "))
    ]
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in defining]
