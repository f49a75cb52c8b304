"""What a command writes is all there or not at all, wherever it is cut off."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from dpverify.bench.report.page import recorded_bench
from dpverify.compare.experiments.page import EXPERIMENTS_PAGE
from dpverify.compare.page import COMPARISON_PAGE
from dpverify.report.collect import ReportError
from dpverify.report.folder import UpdatePlan, finish, update
from dpverify.report.pages.write import check, read_runs
from dpverify.report.words import GENERATED
from dpverify.selftest.check_pages import RATES_PAGE
from tests.for_each import for_each

OLD = {"a.md": "old a", "sub/b.md": "old b", "gone/c.md": "old c"}
NEW = {"a.md": "new a", "sub/b.md": "new b", "d.md": "new d"}


class Cut(BaseException):
    """The process is killed here."""


def content(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: f"{GENERATED}\n{text}".encode() for name, text in files.items()}


def state(folder: Path) -> dict[str, bytes]:
    found = {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file()
    }
    return {name: text for name, text in found.items() if not name.startswith(".")}


def cut_at(step: int, patch: pytest.MonkeyPatch) -> list[str]:
    """Count what is done to files, and cut it off before one of these steps; gives what was done."""
    done: list[str] = []

    def counted(name: str) -> None:
        real = getattr(Path, name)

        def instead(*arguments: object, **more: object) -> object:
            if len(done) >= step:
                raise Cut
            done.append(name)
            return real(*arguments, **more)

        patch.setattr(Path, name, instead)

    for name in ("open", "write_bytes", "rename", "replace", "mkdir", "rmdir"):
        counted(name)
    return done


READERS: dict[str, Callable[[Path], object]] = {
    "verdicts": read_runs,
    "check": check,
    "recorded page": RATES_PAGE.read,
    "benchmarks": recorded_bench,
    "comparisons": COMPARISON_PAGE.read,
    "experiments": EXPERIMENTS_PAGE.read,
}


@for_each("reader", READERS)
def test_an_update_is_whole_or_did_not_happen_wherever_it_is_cut_off(
    reader: str, tmp_path: Path
) -> None:
    """The next reader of the folder sees all of the old files or all of the new ones.

    A file outside the folder is whole, and new only where the folder is new: the reader never writes to it.
    """
    old, new = content(OLD), content(NEW)
    ends: list[bool] = []
    for step in range(200):
        folder, target = tmp_path / str(step), tmp_path / f"{step}.json"
        update(folder, old)
        target.write_bytes(b"old")
        with pytest.MonkeyPatch.context() as patch:
            done = cut_at(step, patch)
            try:
                update(folder, new, elsewhere={target: b"new"})
            except Cut:
                assert len(done) == step
            else:
                break
        READERS[reader](folder)
        outside = target.read_bytes()
        assert (state(folder), outside) in [(old, b"old"), (new, b"old"), (new, b"new")]
        ends.append(state(folder) == new)
        update(folder, new, elsewhere={target: b"new"})
        assert (state(folder), target.read_bytes()) == (new, b"new")
    else:
        pytest.fail("never finished")
    assert not ends[0]
    assert ends[-1]
    assert ends == sorted(ends), "what is once committed stays so"
    update(folder, new)
    assert (state(folder), target.read_bytes()) == (new, b"new")
    assert not list(folder.glob(".part*")) + list(folder.glob("UNFINISHED"))


def test_what_an_interrupted_update_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    prepared = tmp_path / ".part"
    prepared.mkdir()
    (prepared / "names").write_bytes(
        msgspec.json.encode(UpdatePlan(write=["a.md"], delete=[]))
    )
    (prepared / "0").write_bytes(b"half")
    assert update(tmp_path, content(NEW)) == sorted(NEW)
    assert state(tmp_path) == content(NEW)
    assert not prepared.exists()


def cut_off(folder: Path) -> None:
    """An update that ends between two of its moves."""
    update(folder, content(OLD))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **_more: (_ for _ in ()).throw(Cut))
        with pytest.raises(Cut):
            update(folder, content(NEW))
    assert (folder / "UNFINISHED").is_dir()


def test_a_reader_who_cannot_end_what_was_begun_refuses_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(tmp_path)

    def refused(*_: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(
        ReportError,
        match=r"its last update was cut off, and cannot be ended here \(permission denied\)$",
    ):
        read_runs(tmp_path)


def test_nobody_else_moves_files_of_a_report_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(tmp_path)
    real = Path.unlink
    tried = []

    def watched(target: Path, missing_ok: bool = False) -> None:
        handle = os.open(tmp_path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)
        tried.append(target)
        real(target, missing_ok)

    monkeypatch.setattr(Path, "unlink", watched)
    finish(tmp_path)
    assert tmp_path / "gone" / "c.md" in tried
    assert state(tmp_path) == content(NEW)
