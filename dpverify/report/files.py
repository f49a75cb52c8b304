"""Files that a command writes: refused beforehand where they cannot be written, never seen half written."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from dpverify.kernels.check import ArgumentError
from dpverify.ledger.errors import printable
from dpverify.problems.errors import DataError
from dpverify.report.collect import ReportError
from dpverify.report.words import GENERATED

STDOUT = "-"  # the target that stands for stdout


def check_target(name: str, target: Path | None, suffix: str = "") -> None:
    """Refuse a file that could not be written after the run."""
    if target is None:
        return
    if suffix and target.suffix != suffix:
        raise ArgumentError(name, str(target), f"must be a file named *{suffix}")
    if target.is_dir():
        raise ArgumentError(name, str(target), "must be a file, not a folder")
    if target.exists() and not target.is_file():
        return  # a device or a pipe
    _try_to_write(name, str(target), target.parent)


def check_folder(name: str, folder: Path) -> None:
    """Make a folder, and refuse one that could not be written to after the run."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(name, str(folder), f"cannot be made a folder ({_why(error)})") from error
    _try_to_write(name, str(folder), folder)


def write_whole(name: str, target: Path, content: bytes) -> None:
    """Write a file that is never seen half written."""
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        raise ArgumentError(name, str(target), f"must be a file that can be written ({_why(error)})") from error


def _replace(target: Path, content: bytes) -> None:
    aside = target.with_name(f".{target.name}.part")
    try:
        aside.write_bytes(content)
        aside.replace(target)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def write_json(name: str, target: str, content: bytes) -> None:
    """Write a finished document to a file, or to stdout for -, as UTF-8 whatever the terminal speaks."""
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_whole(name, Path(target), content)


def deliver(text: str, record: bytes, json: str | None, figure: Path | None, draw: Callable[[], bytes]) -> None:
    """Print what a person reads, and write the files; the text comes first, so that nothing done is lost."""
    out = sys.stderr if json == STDOUT else sys.stdout
    out.write(text + "\n")
    out.flush()
    if json is not None:
        write_json("json", json, record)
    if figure is not None:
        write_whole("figure", figure, draw())
    for target in (None if json == STDOUT else json, figure):
        if target is not None:
            out.write(f"wrote {target}\n")


def _try_to_write(name: str, value: str, folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ArgumentError(name, value, f"must be in a folder that can be written to ({_why(error)})") from error


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


FIGURES = {
    "comparison": "comparison-",
    "experiments": "experiment-",
    "benchmarks": "bench-",
    "selftest": "selftest-",
    "search": "search-",
    "rates": "rates-",
    "mutants": "mutants-",
    "peers": "peers-",
}
"""Pages of a report's folder that are made of other data than verdicts, and how the names of their figures begin."""


NEW = "UNFINISHED"  # in a report's folder: files that are finished, and not yet all in their places
PART = ".part"  # the same before all are finished, and after all are in their places


def outdated(folder: Path, wanted: Mapping[str, bytes], page: str = "") -> list[str]:
    """Files that are missing or have another content, in the order of ``wanted``, then those whose data are gone.

    Of the latter those of one page of :data:`FIGURES`, or else of the pages of verdicts. Paths below the folder.
    """
    changed = [name for name, content in wanted.items() if not _same(folder / name, content)]
    found = [path for pattern in ("*.md", "*/*.md") for path in folder.glob(pattern) if _generated(path)]
    names = [path.relative_to(folder).as_posix() for path in (*found, *folder.glob("figures/*.svg"))]
    return [*changed, *(name for name in names if name not in wanted and _page_of(name) == page)]


def update(
    folder: Path, files: Mapping[str, bytes], page: str = "", elsewhere: Mapping[Path, bytes] | None = None
) -> list[str]:
    """Write the files that differ, and take those away whose data are gone: all of it or nothing, whatever ends it.

    All is written aside first, and moved into place from there; whoever reads the folder next ends what was begun.
    ``elsewhere``: files outside the folder that belong to it, by their absolute paths. The files that changed, sorted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        _move(folder)
        names = outdated(folder, files, page)
        outside = {str(path): text for path, text in (elsewhere or {}).items()}
        wanted = {name: files.get(name) for name in names} | outside
        aside = folder / PART
        shutil.rmtree(aside, ignore_errors=True)  # of a run that was ended before it had written all
        aside.mkdir()
        for number, content in enumerate(wanted.values()):
            if content is not None:
                (aside / str(number)).write_bytes(content)
        (aside / "names").write_bytes(msgspec.json.encode(list(wanted)))
        aside.rename(folder / NEW)  # until here the folder is as it was; from here on it is the new one
        _move(folder)
    return sorted(names)


def finish(folder: Path) -> None:
    """Put in their places what an update has written aside, and did not come to move; who reads a report does so first.

    It waits for an update that is under way in another process; a ReportError where it cannot write.
    """
    if not (folder / NEW).is_dir():
        return
    try:
        with _alone(folder):
            _move(folder)
    except OSError as error:
        raise ReportError(f"{folder}: its last update was cut off, and cannot be ended here ({_why(error)})") from error


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
    if not (folder / NEW).is_dir():
        return
    names = msgspec.json.decode((folder / NEW / "names").read_bytes(), type=list[str])
    for number, name in enumerate(names):
        path, written = folder / name, folder / NEW / str(number)
        if written.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, written.read_bytes())
        else:
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # another file is in it
                if path.parent != folder:
                    path.parent.rmdir()
    shutil.rmtree(folder / PART, ignore_errors=True)
    (folder / NEW).rename(folder / PART)  # done, even if what follows is cut off
    shutil.rmtree(folder / PART)


def _page_of(name: str) -> str:
    return next((page for page, figure in FIGURES.items() if name.startswith((f"{page}.md", f"figures/{figure}"))), "")


def _generated(path: Path) -> bool:
    return path.read_bytes().startswith(GENERATED.removesuffix(" -->").encode())


def _same(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


DONE, BAD_INPUT, INTERRUPTED = 0, 2, 130


def answer(work: Callable[[], bool], json: str | None, figure: Path | None = None) -> int:
    """Do the work, which tells whether it was interrupted, and return the exit code; bad input gets one line."""
    try:
        check_target("json", Path(json) if json not in (None, STDOUT) else None)
        check_target("figure", figure, suffix=".svg")
        return INTERRUPTED if work() else DONE
    except (ArgumentError, DataError, ReportError) as error:
        sys.stderr.write(f"dpverify: {printable(str(error), 2000)}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("dpverify: interrupted\n")
        return INTERRUPTED
