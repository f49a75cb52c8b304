"""What a command writes is all there or not at all, wherever it is cut off."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dpverify.report.files import finish, update
from dpverify.report.words import GENERATED

OLD = {"a.md": "old a", "sub/b.md": "old b", "gone/c.md": "old c"}
NEW = {"a.md": "new a", "sub/b.md": "new b", "d.md": "new d"}


class Cut(BaseException):
    """The process is killed here."""


def content(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: f"{GENERATED}\n{text}".encode() for name, text in files.items()}


def state(folder: Path) -> dict[str, bytes]:
    found = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
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

    for name in ("write_bytes", "rename", "replace", "mkdir", "rmdir"):
        counted(name)
    return done


def test_an_update_is_whole_or_did_not_happen_wherever_it_is_cut_off(tmp_path: Path) -> None:
    old, new = content(OLD), content(NEW)
    ends: list[bool] = []
    for step in range(100):
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
        finish(folder)
        whole = (state(folder), target.read_bytes())
        assert whole in [(old, b"old"), (new, b"new")]
        ends.append(whole == (new, b"new"))
    else:
        pytest.fail("never finished")
    assert not ends[0]
    assert ends[-1]
    assert ends == sorted(ends), "what is once committed stays so"
    update(folder, new)
    assert (state(folder), target.read_bytes()) == (new, b"new")
    assert not list(folder.glob(".new*"))


def test_what_an_interrupted_update_left_behind_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".new.part").mkdir()
    (tmp_path / ".new.part" / "0").write_bytes(b"half")
    assert update(tmp_path, content(NEW)) == sorted(NEW)
    assert state(tmp_path) == content(NEW)
