"""Update of a report's folder: all files or none, whatever ends the process, and only files that dpverify wrote.

A page about one recorded run, such as that of the selftest, is written with its data in the same way.
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
"""Pages of a report's folder that are made of other data than verdicts, and how the names of their figures begin."""


FINISHED = "UNFINISHED"  # in a report's folder: files that are finished, and not yet all in their places
PREPARED = ".part"  # the same before all are finished, and after all are in their places
PLAN = "names"  # in one of these: which files are written and which are deleted


class UpdatePlan(Record, frozen=True, kw_only=True):
    """Files of an update, by their paths below the folder. The file with number i in ``write`` is prepared as ``i``."""

    kind: Literal["dpverify report update"] = "dpverify report update"
    write: list[str]
    delete: list[str]


def outdated(folder: Path, contents: Mapping[str, bytes], page: str = "") -> list[str]:
    """Files that are missing or have another content, in the order of ``contents``, then those whose data are gone.

    Of the latter those of one page of :data:`FIGURES`, or else of the pages of verdicts. Files without our marker are
    not among them. Paths below the folder.
    """
    changed = [name for name, content in contents.items() if not _same(folder / name, content)]
    names = generated_files(folder, ("*.md", "*/*.md", "figures/*.svg"))
    return [*changed, *(name for name in names if name not in contents and _page_of(name) == page)]


def update(
    folder: Path, files: Mapping[str, bytes], page: str = "", elsewhere: Mapping[Path, bytes] | None = None
) -> list[str]:
    """Write the files that differ, and delete those whose data are gone: all of it or nothing, whatever ends it.

    All is prepared in a folder of its own and moved from there; the next reader of the folder ends what was begun.
    A file that dpverify did not write is never overwritten or deleted: a ReportError names it before anything is
    changed. ``elsewhere``: files outside the folder, which are replaced at the moment when the update counts; no path
    outside the folder is ever read from the folder. Returns the files that changed, sorted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _move(folder)
        names = outdated(folder, files, page)
        check_names(folder, names)
        if unmarked := [name for name in names if name in files and not has_marker(name, files[name])]:
            raise ReportError(f"{folder}: {unmarked[0]} was made without the marker of dpverify")
        plan = UpdatePlan(write=[n for n in names if n in files], delete=[n for n in names if n not in files])
        prepared = folder / PREPARED
        _remove(prepared)
        prepared.mkdir()
        (prepared / PLAN).write_bytes(msgspec.json.encode(plan))
        for number, name in enumerate(plan.write):
            (prepared / str(number)).write_bytes(files[name])
        # Until the renaming the folder is as it was; from there on it is the new one.
        replace_together(elsewhere or {}, lambda: prepared.rename(folder / FINISHED))
        _move(folder)
    return sorted(names)


def finish(folder: Path) -> None:
    """End an update that was cut off after all its files were prepared; every reader of a report does so first.

    It waits for an update that is under way in another process; a ReportError where it cannot write, or where the
    folder of the update was not written by dpverify.
    """
    if not os.path.lexists(folder / FINISHED):
        return
    try:
        with _alone(folder):
            _move(folder)
    except OSError as error:
        raise ReportError(
            f"{folder}: its last update was cut off, and cannot be ended here ({reason(error)})"
        ) from error


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Be the only process that changes a report; the lock goes with the process, whatever ends that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _move(folder: Path) -> None:
    """Move prepared files to their places, after a check of every path and content, and delete those of no data."""
    finished = folder / FINISHED
    if not os.path.lexists(finished):
        return
    plan = _read_plan(finished)
    moves = [(finished / str(number), path_inside(folder, name)) for number, name in enumerate(plan.write)]
    remaining = [(source, target) for source, target in moves if os.path.lexists(source)]
    for source, target in remaining:
        if not is_regular(source) or not has_marker(target.name, source.read_bytes()):
            raise ReportError(f"{source}: was not written by dpverify; delete the folder {finished}")
    check_names(folder, [*(target.relative_to(folder).as_posix() for _, target in remaining), *plan.delete])
    for source, target in remaining:
        target.parent.mkdir(exist_ok=True)
        source.replace(target)
    for name in plan.delete:
        target = folder / name
        target.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # another file is in it
            if target.parent != folder:
                target.parent.rmdir()
    _remove(folder / PREPARED)
    finished.rename(folder / PREPARED)  # done, even if what follows is cut off
    _remove(folder / PREPARED)


def _read_plan(prepared: Path) -> UpdatePlan:
    """Read which files an update writes and deletes; a ReportError where the folder was not written by dpverify."""
    file = prepared / PLAN
    rule = "exists, and was not written by this version of dpverify; move it away"
    try:
        if prepared.is_symlink() or not is_regular(file):
            raise ReportError(f"{prepared}: {rule}")
        return msgspec.json.decode(file.read_bytes(), type=UpdatePlan)
    except (msgspec.DecodeError, UnicodeDecodeError, NotADirectoryError) as error:
        raise ReportError(f"{prepared}: {rule}") from error


def _remove(prepared: Path) -> None:
    """Delete the folder of an update with the files that belong to its plan; a ReportError where it holds others."""
    if not os.path.lexists(prepared):
        return
    names = {path.name for path in prepared.iterdir()} if prepared.is_dir() else {PLAN}
    if names:
        plan = _read_plan(prepared)
        if foreign_files := sorted(names - {PLAN, *map(str, range(len(plan.write)))}):
            raise ReportError(f"{prepared / foreign_files[0]}: was not written by dpverify; move it away")
        for name in sorted(names - {PLAN}):
            (prepared / name).unlink()
        (prepared / PLAN).unlink()
    prepared.rmdir()


def _page_of(name: str) -> str:
    return next((page for page, figure in FIGURES.items() if name.startswith((f"{page}.md", f"figures/{figure}"))), "")


def _same(path: Path, content: bytes) -> bool:
    return is_regular(path) and path.read_bytes() == content


RunT = TypeVar("RunT", bound=Record)


@dataclass(frozen=True)
class RecordedPage(Generic[RunT]):
    """The page ``name``.md of the run in data/``name``.json, which is of the type ``kind``."""

    name: str
    kind: type[RunT]
    render: Callable[[RunT], str]
    figures: Callable[[RunT], Mapping[str, bytes]] = lambda _: {}  # files in figures/

    def read(self, folder: Path) -> RunT | None:
        """The run that a report holds; None where it has none."""
        finish(folder)
        path = folder / "data" / f"{self.name}.json"
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=self.kind)
        except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
            raise ReportError(f"data/{path.name}: {' '.join(str(error).split())}") from error

    def write(self, run: RunT, folder: Path) -> list[str]:
        """Record a run, and write its page; returns the files that changed."""
        try:
            return update(folder, {f"data/{self.name}.json": encode(run), **self.files(run)}, self.name)
        except OSError as error:
            raise ReportError(f"{folder}: must be a folder that can be written ({error})") from error

    def check_target(self, folder: Path) -> None:
        """Refuse a folder that could not take the page after the run, or whose data cannot be read."""
        check_folder("report", folder)
        self.read(folder)
        check_names(folder, (f"{self.name}.md", f"data/{self.name}.json"))
        for inside in ("data", "figures"):
            check_folder("report", folder / inside)

    def files(self, run: RunT) -> dict[str, bytes]:
        """Make every file but the data; path below the folder to content."""
        figures = {f"figures/{name}": content for name, content in self.figures(run).items()}
        return {f"{self.name}.md": self.render(run).encode(), **figures}

    def regenerate(self, folder: Path) -> list[str]:
        """Write the page from the data, and return the files that changed."""
        return update(folder, self._rendered(folder), self.name)

    def check(self, folder: Path) -> list[str]:
        """Compare the page with its data, and return the files that differ."""
        return sorted(outdated(folder, self._rendered(folder), self.name))

    def _rendered(self, folder: Path) -> dict[str, bytes]:
        run = self.read(folder)
        return {} if run is None else self.files(run)
