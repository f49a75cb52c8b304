"""All that an answer may follow from: any change of it is another digest, whatever the time stamps say."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dpverify import cache_files
from dpverify.harness import finished as module
from dpverify.harness.finished import Inputs
from dpverify.ledger.errors import SpecError
from tests.for_each import for_each

FILES = {
    "dpverify/kernels/noise.py": "SCALE = 1\n",
    "dpverify/papers/toy/checks/check.py": "from dpverify.kernels.noise import SCALE\n",
    "dpverify/papers/toy/bound.py": "def bound(x=2):\n    return x\n",
    "dpverify/problems/data.bin": "1,2,3\n",
    "specs/toy/claims.toml": 'printed = "2*x"\n',
    "specs/proofs/rules.json": "[1]\n",
    "reports/data/toy.json": '{"n": 1}\n',
    "reports/certificates/toy.json": '{"m": 1}\n',
    "own/toy/claims.toml": 'printed = "3*x"\n',
    "site-packages/numpy-1.26.0.dist-info/METADATA": "Name: numpy\n",
}


def make_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a small checkout of dpverify, which this process loads later than its files were written."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "dpverify")
    monkeypatch.setattr(module, "bundled", lambda name: tmp_path / name)
    monkeypatch.setattr(module, "outside_papers", lambda _: {})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages")])
    monkeypatch.setattr(cache_files, "LOADED_AT", time.time_ns() + 3_600_000_000_000)
    return tmp_path


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_checkout(tmp_path, monkeypatch)


def inputs_of(checkout: Path) -> Inputs:
    return Inputs(checkout / "own")


def changed(text: str) -> str:
    """The same number of characters, and another number in it."""
    return text.translate(str.maketrans("123", "987"))


def edit_unseen(file: Path) -> None:
    """Change the content, and give the file the size and the times that it had."""
    before = file.stat()
    file.write_text(changed(file.read_text(encoding="utf-8")), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (
        before.st_size,
        before.st_mtime_ns,
    )


@for_each("name", [name for name in FILES if changed(FILES[name]) != FILES[name]])
def test_a_change_that_keeps_size_and_times_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    checkout = make_checkout(tmp_path, monkeypatch)
    before = inputs_of(checkout).digest
    edit_unseen(checkout / name)
    assert inputs_of(checkout).digest != before
    edit_unseen(checkout / name)
    (checkout / name).write_text(FILES[name], encoding="utf-8")
    assert inputs_of(checkout).digest == before


@for_each("seconds", [-10_000, 0, 10_000])
@for_each("name", ["dpverify/kernels/noise.py", "own/toy/claims.toml"])
def test_the_content_decides_and_no_time_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, seconds: int
) -> None:
    checkout = make_checkout(tmp_path, monkeypatch)
    file = checkout / name
    before = inputs_of(checkout).digest
    stamp = file.stat().st_mtime + seconds
    os.utime(file, (stamp, stamp))
    assert inputs_of(checkout).digest == before
    file.write_text(changed(FILES[name]), encoding="utf-8")
    os.utime(file, (stamp, stamp))
    assert inputs_of(checkout).digest != before


def remove(file: Path) -> None:
    file.unlink()


def add(file: Path) -> None:
    (file.parent / "late.toml").write_text("", encoding="utf-8")


def rename(file: Path) -> None:
    file.rename(file.with_name("other.toml"))


def rename_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("other"))


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def replace_by_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def replace_by_link(file: Path) -> None:
    target = file.parents[3] / "elsewhere.toml"
    target.write_text(changed(file.read_text(encoding="utf-8")), encoding="utf-8")
    file.unlink()
    file.symlink_to(target)


def break_link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parent / "nowhere")


CHANGES = [
    remove,
    add,
    rename,
    rename_folder,
    replace_by_folder,
    replace_by_pipe,
    replace_by_link,
    break_link,
]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@for_each("change", CHANGES)
@for_each(
    "name",
    ["specs/toy/claims.toml", "own/toy/claims.toml", "dpverify/papers/toy/bound.py"],
)
def test_a_file_that_comes_goes_or_becomes_something_else_is_seen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    change: Callable[[Path], None],
) -> None:
    checkout = make_checkout(tmp_path, monkeypatch)
    before = inputs_of(checkout).digest
    change(checkout / name)
    assert inputs_of(checkout).digest != before


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@for_each("place", ["dpverify/kernels", "specs/toy", "own/toy"])
def test_what_a_linked_folder_holds_is_seen_and_a_link_upwards_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    checkout = make_checkout(tmp_path, monkeypatch)
    target = checkout / "elsewhere"
    (checkout / place).rename(target)
    (checkout / place).symlink_to(target)
    (target / "upwards").symlink_to((checkout / place).parent)
    before = inputs_of(checkout).digest
    assert before
    (file,) = (path for path in target.iterdir() if path.is_file())
    edit_unseen(file)
    assert inputs_of(checkout).digest != before


def test_two_files_that_change_places_are_seen(checkout: Path) -> None:
    first, second = (
        checkout / "specs/toy/claims.toml",
        checkout / "specs/proofs/rules.json",
    )
    before = inputs_of(checkout).digest
    texts = first.read_bytes(), second.read_bytes()
    first.write_bytes(texts[1])
    second.write_bytes(texts[0])
    assert inputs_of(checkout).digest != before


def test_another_version_of_a_library_is_seen(checkout: Path) -> None:
    before = inputs_of(checkout).digest
    libraries = checkout / "site-packages"
    (libraries / "numpy-1.26.0.dist-info").rename(libraries / "numpy-1.26.1.dist-info")
    assert inputs_of(checkout).digest != before


@for_each(
    ("owner", "name"), [(sys, "version"), (sys, "platform"), (platform, "machine")]
)
def test_another_python_or_machine_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    checkout = make_checkout(tmp_path, monkeypatch)
    before = inputs_of(checkout).digest
    with monkeypatch.context() as patch:
        patch.setattr(
            owner, name, (lambda: "another") if owner is platform else "another"
        )
        assert inputs_of(checkout).digest != before
    assert inputs_of(checkout).digest == before


def test_another_checkout_and_another_folder_of_records_are_seen(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = inputs_of(checkout).digest
    assert Inputs(None).digest not in {"", before}
    assert Inputs(checkout / "specs").digest not in {"", before}
    shutil.copytree(checkout / "dpverify", checkout / "copy" / "dpverify")
    monkeypatch.setattr(module, "PACKAGE", checkout / "copy" / "dpverify")
    assert inputs_of(checkout).digest not in {"", before}


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_a_switch_of_branches_is_seen_and_the_way_back_too(checkout: Path) -> None:
    def git(*words: str) -> None:
        identity = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "-c",
            "commit.gpgsign=false",
        ]
        subprocess.run(
            ["git", *identity, *words], cwd=checkout, check=True, capture_output=True
        )

    git("init", "-q", "-b", "first")
    git("add", "-A")
    git("commit", "-qm", "first")
    first = inputs_of(checkout).digest
    git("checkout", "-qb", "second")
    edit_unseen(checkout / "dpverify/kernels/noise.py")
    git("add", "-A")
    git("commit", "-qm", "second")
    second = inputs_of(checkout).digest
    digests = []
    for branch in ("first", "second", "first"):
        git("checkout", "-qf", branch)
        digests.append(inputs_of(checkout).digest)
    assert digests == [first, second, first]
    assert first != second


def test_what_changes_during_a_command_is_not_kept(checkout: Path) -> None:
    inputs = inputs_of(checkout)
    assert inputs.are_unchanged
    edit_unseen(checkout / "specs/toy/claims.toml")
    assert not inputs.are_unchanged


def test_what_changes_and_changes_back_during_a_command_is_not_kept(
    checkout: Path,
) -> None:
    inputs = inputs_of(checkout)
    file = checkout / "specs/toy/claims.toml"
    text = file.read_bytes()
    file.write_bytes(b"")
    file.write_bytes(text)
    assert inputs_of(checkout).digest == inputs.digest
    assert not inputs.are_unchanged


@pytest.mark.parametrize("ahead", [0, 100_000_000_000])
def test_files_newer_than_the_process_or_from_the_future_are_not_kept(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    inputs = inputs_of(checkout)
    assert inputs.are_unchanged
    newest = (checkout / "own/toy/claims.toml").stat().st_ctime_ns
    monkeypatch.setattr(cache_files, "LOADED_AT", newest - ahead)
    assert not inputs.are_unchanged


def test_a_clock_of_whole_seconds_is_given_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second = 1_000_000_000
    monkeypatch.setattr(cache_files, "LOADED_AT", 100 * second)
    older = [
        cache_files.Snapshot("", changed_at).is_older_than_process
        for changed_at in (97 * second, 99 * second)
    ]
    assert older == [True, False]
    assert cache_files.Snapshot("", 99 * second + 1).is_older_than_process


def test_papers_of_others_a_missing_package_and_a_file_out_of_reach_have_no_digest(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    for owner, name, value in (
        (module, "outside_papers", lambda _: {"theirs": Path()}),
        (module, "PACKAGE", checkout / "nowhere"),
        (Path, "read_bytes", refuse),
    ):
        assert inputs_of(checkout).digest
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            inputs = inputs_of(checkout)
        assert (inputs.digest, inputs.are_unchanged) == ("", False)


def test_a_copy_without_specs_and_reports_has_a_digest(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Path:
        raise SpecError(name, "", "", "", "missing")

    before = inputs_of(checkout).digest
    monkeypatch.setattr(module, "bundled", missing)
    assert inputs_of(checkout).digest not in {"", before}
