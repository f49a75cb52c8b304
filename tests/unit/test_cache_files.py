"""Files of a cache: whole or missing, never wrong, and never a reason for a failure."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dpverify import cache_files
from dpverify.cache_files import default_store, digest_of, read_cached, write_cached
from tests.for_each import for_each

KEY = digest_of(["source"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPVERIFY_STORE", str(tmp_path / "evidence.sqlite"))
    return tmp_path / "evidence.cache"


def test_what_is_kept_is_recalled_under_its_key_only(folder: Path) -> None:
    write_cached("kind", KEY, b"payload")
    assert read_cached("kind", KEY) == b"payload"
    assert read_cached("kind", digest_of(["other"])) is None
    assert read_cached("another", KEY) is None
    assert [file.name for file in folder.iterdir()] == [f"kind.{KEY}.kept"]


@for_each("damage", [b"", b"payload", b"\0" * 64])
def test_a_damaged_file_counts_as_missing_and_is_written_again(
    folder: Path, damage: bytes
) -> None:
    write_cached("kind", KEY, b"payload")
    (file,) = folder.iterdir()
    file.write_bytes(damage)
    assert read_cached("kind", KEY) is None
    write_cached("kind", KEY, b"payload")
    assert read_cached("kind", KEY) == b"payload"


def test_one_changed_byte_counts_as_missing(folder: Path) -> None:
    write_cached("kind", KEY, b"payload")
    (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert read_cached("kind", KEY) is None


def test_a_folder_that_cannot_be_made_changes_nothing(folder: Path) -> None:
    folder.write_text("a file stands where the folder should be", encoding="utf-8")
    write_cached("kind", KEY, b"payload")
    assert read_cached("kind", KEY) is None


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0,
    reason="the superuser may write anywhere",
)
def test_a_read_only_folder_changes_nothing(folder: Path) -> None:
    write_cached("kind", KEY, b"payload")
    folder.chmod(0o500)
    write_cached("kind", digest_of(["other"]), b"other")
    assert read_cached("kind", KEY) == b"payload"
    assert read_cached("kind", digest_of(["other"])) is None
    folder.chmod(0o700)


@for_each("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@for_each("step", ["mkdir", "write_bytes", "replace"])
def test_a_write_that_fails_leaves_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    def refuse(self: Path, *args: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    folder.mkdir(exist_ok=True)
    monkeypatch.setattr(Path, step, refuse)
    write_cached("kind", KEY, b"payload")
    assert list(folder.iterdir()) == []
    assert read_cached("kind", KEY) is None


def test_a_folder_in_place_of_a_file_counts_as_missing(folder: Path) -> None:
    (folder / f"kind.{KEY}.kept").mkdir(parents=True)
    write_cached("kind", KEY, b"payload")
    assert read_cached("kind", KEY) is None
    assert [file.name for file in folder.iterdir()] == [f"kind.{KEY}.kept"]


@for_each("length", [0, 1, 31, 32, 33, 38])
def test_a_file_that_is_cut_off_counts_as_missing(folder: Path, length: int) -> None:
    write_cached("kind", KEY, b"payload")
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:length])
    assert read_cached("kind", KEY) is None


def test_a_user_without_a_home_folder_has_no_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("DPVERIFY_STORE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    write_cached("kind", KEY, b"payload")
    assert read_cached("kind", KEY) is None


def test_many_writers_and_readers_at_once_see_whole_files(folder: Path) -> None:
    payloads = [bytes([number]) * 200_000 for number in range(8)]

    def work(number: int) -> bytes | None:
        write_cached("kind", KEY, payloads[number % 8])
        return read_cached("kind", KEY)

    with ThreadPoolExecutor(8) as pool:
        assert all(payload in payloads for payload in pool.map(work, range(64)))
    assert [file.name for file in folder.iterdir()] == [f"kind.{KEY}.kept"]


def test_two_processes_that_write_at_once_leave_a_whole_file(folder: Path) -> None:
    program = (
        "import sys; from dpverify.cache_files import read_cached, write_cached\n"
        f"for _ in range(100): write_cached('kind', {KEY!r}, sys.argv[1].encode() * 50_000); "
        f"assert read_cached('kind', {KEY!r})"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, letter]) for letter in "abc"
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert read_cached("kind", KEY) in {
        letter * 50_000 for letter in (b"a", b"b", b"c")
    }
    assert [file.name for file in folder.iterdir()] == [f"kind.{KEY}.kept"]


def test_old_files_of_a_kind_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_files, "MAX_FILES", 3)
    for number in range(6):
        write_cached("kind", digest_of([str(number)]), b"payload")
    write_cached("another", KEY, b"payload")
    assert sum(file.name.startswith("kind.") for file in folder.iterdir()) == 3
    assert read_cached("another", KEY) == b"payload"


def test_a_digest_knows_where_texts_end() -> None:
    assert digest_of(["ab", "c"]) != digest_of(["a", "bc"])
    assert digest_of(["ab"]) != digest_of(["ab", ""])
    assert digest_of(["a"]) == digest_of([b"a"])


def test_the_cache_lies_beside_the_store(folder: Path) -> None:
    write_cached("kind", KEY, b"payload")
    assert folder == default_store().with_suffix(".cache")
    assert folder.is_dir()
