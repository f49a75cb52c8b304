"""Update a report's folder atomically, even if the process is killed, without touching files of others.

A page about one recorded run, such as the page of the selftest, is written together with its data in the same way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, TypeVar

import msgspec

from dpverify.ledger.records import Record, encode
from dpverify.report.collect import ReportError
from dpverify.report.files import (
    check_folder,
    check_names,
    generated_files,
    has_marker,
    is_regular,
    path_inside,
    reason,
    replace_together,
)

FIGURES = {
    "comparison": "comparison-",
    "experiments": "experiment-",
    "benchmarks": "bench-",
    "selftest": "selftest-",
    "search": "search-",
    "rates": "rates-",
    "mutants": "mutants-",
    "peers": "peers-",
    "auditors": "auditors-",
}
"""Pages of a report's folder that show data other than verdicts, with the prefixes of their figures' names."""


# subfolder with completely written files of an update that are not all moved yet
UNFINISHED = "UNFINISHED"
# name of this subfolder before all files are written, and after all are moved
PREPARED = ".part"
# file in this subfolder that lists which files the update writes and deletes
PLAN = "names"


class UpdatePlan(Record, frozen=True, kw_only=True):
    """The files of an update by relative path. File number i of ``write`` is first stored under the name ``i``."""

    kind: Literal["dpverify report update"] = "dpverify report update"
    write: list[str]
    delete: list[str]


def outdated(folder: Path, contents: Mapping[str, bytes], page: str = "") -> list[str]:
    """Return the relative paths of outdated files: missing or changed ones first, then files without data.

    Files without data are listed for one page of :data:`FIGURES`, or for the pages of verdicts if ``page`` is empty.
    Files without dpverify's marker are not listed among them.
    """
    changed = [
        name for name, content in contents.items() if not _same(folder / name, content)
    ]
    names = generated_files(folder, ("*.md", "*/*.md", "figures/*.svg"))
    return [
        *changed,
        *(name for name in names if name not in contents and _page_of(name) == page),
    ]


def update(
    folder: Path,
    files: Mapping[str, bytes],
    page: str = "",
    elsewhere: Mapping[Path, bytes] | None = None,
) -> list[str]:
    """Write the files that differ, delete the files without data, and return the changed files, sorted.

    The update is atomic, even if the process is killed. All files are prepared in a subfolder and then moved; if the
    process ends in between, the next reader of the folder completes the update. A file that dpverify did not write is
    never overwritten or deleted: a ReportError names it before anything is changed. ``elsewhere`` has files outside the
    folder, which are replaced when the preparation is complete. Paths outside the folder are never read from the
    stored plan.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _move(folder)
        names = outdated(folder, files, page)
        check_names(folder, names)
        if unmarked := [
            name
            for name in names
            if name in files and not has_marker(name, files[name])
        ]:
            raise ReportError(
                f"{folder}: {unmarked[0]} was made without the marker of dpverify"
            )
        plan = UpdatePlan(
            write=[file for file in names if file in files],
            delete=[file for file in names if file not in files],
        )
        prepared = folder / PREPARED
        _remove(prepared)
        prepared.mkdir()
        (prepared / PLAN).write_bytes(msgspec.json.encode(plan))
        for number, name in enumerate(plan.write):
            (prepared / str(number)).write_bytes(files[name])
        # Before this renaming the folder has its old
        # state. After it, the folder has its new state.
        replace_together(elsewhere or {}, lambda: prepared.rename(folder / UNFINISHED))
        _move(folder)
    return sorted(names)


def finish(folder: Path) -> None:
    """Complete an update that was interrupted after all its files were prepared. Every reader of a report calls this.

    It waits for an update in another process. It raises a ReportError if it cannot write, or if the folder of the
    update was not written by dpverify.
    """
    if not os.path.lexists(folder / UNFINISHED):
        return
    try:
        with _locked(folder):
            _move(folder)
    except OSError as error:
        raise ReportError(
            f"{folder}: its last update was cut off, and cannot be ended here ({reason(error)})"
        ) from error


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a report for this process. The lock is released when the process ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _move(folder: Path) -> None:
    """Move prepared files to their places after checking every path and content, and delete the files without data."""
    finished = folder / UNFINISHED
    if not os.path.lexists(finished):
        return
    plan = _read_plan(finished)
    moves = [
        (finished / str(number), path_inside(folder, name))
        for number, name in enumerate(plan.write)
    ]
    remaining = [
        (source, target) for source, target in moves if os.path.lexists(source)
    ]
    for source, target in remaining:
        if not is_regular(source) or not has_marker(target.name, source.read_bytes()):
            raise ReportError(
                f"{source}: was not written by dpverify; delete the folder {finished}"
            )
    check_names(
        folder,
        [
            *(target.relative_to(folder).as_posix() for _, target in remaining),
            *plan.delete,
        ],
    )
    for source, target in remaining:
        target.parent.mkdir(exist_ok=True)
        source.replace(target)
    for name in plan.delete:
        target = folder / name
        target.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder is not empty
            if target.parent != folder:
                target.parent.rmdir()
    _remove(folder / PREPARED)
    # the update is complete, even if the process ends before the removal
    finished.rename(folder / PREPARED)
    _remove(folder / PREPARED)


def _read_plan(prepared: Path) -> UpdatePlan:
    """Read the plan of an update; raise a ReportError if the folder was not written by dpverify."""
    file = prepared / PLAN
    rule = "exists, and was not written by this version of dpverify; move it away"
    try:
        if prepared.is_symlink() or not is_regular(file):
            raise ReportError(f"{prepared}: {rule}")
        return msgspec.json.decode(file.read_bytes(), type=UpdatePlan)
    except (msgspec.DecodeError, UnicodeDecodeError, NotADirectoryError) as error:
        raise ReportError(f"{prepared}: {rule}") from error


def _remove(prepared: Path) -> None:
    """Delete the folder of an update with the files of its plan; raise a ReportError if it has other files."""
    if not os.path.lexists(prepared):
        return
    names = {path.name for path in prepared.iterdir()} if prepared.is_dir() else {PLAN}
    if names:
        plan = _read_plan(prepared)
        if foreign_files := sorted(names - {PLAN, *map(str, range(len(plan.write)))}):
            raise ReportError(
                f"{prepared / foreign_files[0]}: was not written by dpverify; move it away"
            )
        for name in sorted(names - {PLAN}):
            (prepared / name).unlink()
        (prepared / PLAN).unlink()
    prepared.rmdir()


def _page_of(name: str) -> str:
    return next(
        (
            page
            for page, figure in FIGURES.items()
            if name.startswith((f"{page}.md", f"figures/{figure}"))
        ),
        "",
    )


def _same(path: Path, content: bytes) -> bool:
    return is_regular(path) and path.read_bytes() == content


RunT = TypeVar("RunT", bound=Record)


@dataclass(frozen=True)
class RecordedPage(Generic[RunT]):
    """The page ``name``.md about the run in data/``name``.json. The run has the type ``kind``."""

    name: str
    kind: type[RunT]
    render: Callable[[RunT], str]
    figures: Callable[[RunT], Mapping[str, bytes]] = lambda _: {}  # files in figures/

    def read(self, folder: Path) -> RunT | None:
        """Return the recorded run of a report, or None."""
        finish(folder)
        path = folder / "data" / f"{self.name}.json"
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=self.kind)
        except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
            raise ReportError(
                f"data/{path.name}: {' '.join(str(error).split())}"
            ) from error

    def write(self, run: RunT, folder: Path) -> list[str]:
        """Record a run and write its page; return the changed files."""
        try:
            return update(
                folder,
                {f"data/{self.name}.json": encode(run), **self.files(run)},
                self.name,
            )
        except OSError as error:
            raise ReportError(
                f"{folder}: must be a folder that can be written ({error})"
            ) from error

    def check_target(self, folder: Path) -> None:
        """Raise an error before the run if the page could not be written to a folder, or its data cannot be read."""
        check_folder("report", folder)
        self.read(folder)
        check_names(folder, (f"{self.name}.md", f"data/{self.name}.json"))
        for inside in ("data", "figures"):
            check_folder("report", folder / inside)

    def files(self, run: RunT) -> dict[str, bytes]:
        """Return all files except the data, as relative path to content."""
        figures = {
            f"figures/{name}": content for name, content in self.figures(run).items()
        }
        return {f"{self.name}.md": self.render(run).encode(), **figures}

    def regenerate(self, folder: Path) -> list[str]:
        """Write the page from the data, and return the changed files."""
        return update(folder, self._rendered(folder), self.name)

    def check(self, folder: Path) -> list[str]:
        """Compare the page with its data, and return the files that differ."""
        return sorted(outdated(folder, self._rendered(folder), self.name))

    def _rendered(self, folder: Path) -> dict[str, bytes]:
        run = self.read(folder)
        return {} if run is None else self.files(run)
