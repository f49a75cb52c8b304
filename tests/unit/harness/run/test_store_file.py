"""A store that is damaged, or none, is refused in one line and stays as it is; what a killed run leaves is of use."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpverify.cli import main
from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.backend import Backend
from dpverify.harness.run.store import BlockCache, Store
from dpverify.harness.run.store_file import VERSION, StoreError
from tests.for_each import for_each

BLOCKS = 40
# bytes of noise, as many as a page has: they hit what is kept wherever they stand
SURELY = 4096
COMMANDS = {
    "verify": ("verify", "tran2022:proposition-13"),
    "compare": ("compare", "--epsilon", "2", "--delta", "1e-5", "--no-figure"),
    "audit": ("audit", "random:gauss"),
    "bench": ("bench", "audit", "--quick"),
}


@dataclass(frozen=True)
class Numbers:
    """Work whose pieces are lists of numbers."""

    label = request_key = "numbers"
    terms: tuple[str, ...] = ()
    parts: tuple[type, ...] = ()

    def run(self, block: int) -> list[float]:
        return [block / 7.0] * 200


def filled(path: Path) -> bytes:
    store = Store(path)
    for block in range(BLOCKS):
        store.save(Numbers(), "hash", block, BlockOutcome(Numbers().run(block), 0.5))
    store.close()
    return path.read_bytes()


def noise(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + random.Random(0).randbytes(SURELY) + data[at + SURELY :]


def number_changed(data: bytes) -> bytes:
    """Change one bit of one number, which sqlite does not see."""
    at = data.index(b"\xcb" + b"\x3f\xf2\x49\x24\x92\x49\x24\x92")  # 8/7
    return data[: at + 4] + bytes([data[at + 4] ^ 1]) + data[at + 5 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "half of it": lambda data: data[: len(data) // 2],
    "not whole pages": lambda data: data[:5000],
    "a part of its head": lambda data: data[:60],
    "noise in the middle": noise,
    "noise throughout": lambda data: random.Random(1).randbytes(len(data)),
    "zeros": lambda data: bytes(len(data)),
    "one bit of one number": number_changed,
}


@for_each("damage", DAMAGES)
def test_a_damaged_store_is_refused_and_stays_as_it_is(
    damage: str, tmp_path: Path
) -> None:
    path = tmp_path / "evidence.sqlite"
    damaged = DAMAGES[damage](filled(path))
    path.write_bytes(damaged)
    with pytest.raises(
        StoreError, match="is no store of evidence that can be used: "
    ) as error:
        Store(path)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == damaged


@for_each(
    "changed",
    ["block = 100 + block", "check_of = 'others'", "evidence = 'x'", "seconds = 0.25"],
)
def test_a_block_that_stands_under_another_name_is_damage(
    changed: str, tmp_path: Path
) -> None:
    """Else what one block gave would be counted as another's."""
    path = tmp_path / "evidence.sqlite"
    filled(path)
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"update blocks set {changed} where block = 3")
        file.commit()
    with pytest.raises(StoreError, match="it is damaged: block"):
        Store(path)


@for_each("command", COMMANDS)
def test_a_command_with_a_damaged_store_ends_with_one_line_and_exit_code_2(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evidence.sqlite"
    damaged = number_changed(filled(path))
    path.write_bytes(damaged)
    for store, said in ((path, "it is damaged"), (tmp_path, "it is a folder")):
        assert main([*COMMANDS[command], "--store", str(store)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n"), said in err) == ("", 1, True), err
    assert path.read_bytes() == damaged


def test_a_database_with_other_tables_is_refused_and_gets_none_of_ours(
    tmp_path: Path,
) -> None:
    for number, (table, said) in enumerate(
        [
            ("create table notes (text)", r"other tables \(notes\)"),
            ("create table blocks (a, b)", "its table blocks has the columns a, b"),
            (f"pragma user_version = {VERSION + 1}", "by another version of dpverify"),
            (f"pragma user_version = {VERSION}", "its table is gone"),
        ]
    ):
        path = tmp_path / f"{number}.sqlite"
        with closing(sqlite3.connect(path)) as file:
            file.execute(table)
            file.commit()
        before = path.read_bytes()
        with pytest.raises(StoreError, match=said):
            Store(path)
        assert path.read_bytes() == before


def copied_while_open(path: Path, to: Path) -> None:
    """Leave what a killed run leaves: the file, and the log beside it that holds its last blocks."""
    store = Store(path)
    for block in range(BLOCKS):
        store.save(Numbers(), "hash", block, BlockOutcome(Numbers().run(block), 0.5))
    for end in ("", "-wal"):
        to.with_name(to.name + end).write_bytes(
            path.with_name(path.name + end).read_bytes()
        )
    store.close()


def test_a_log_that_is_damaged_or_alone_is_refused_and_one_that_is_gone_costs_time_only(
    tmp_path: Path,
) -> None:
    path = tmp_path / "evidence.sqlite"
    log = tmp_path / "evidence.sqlite-wal"
    copied_while_open(tmp_path / "first.sqlite", path)
    whole, logged = path.read_bytes(), log.read_bytes()
    for content, file, said in (
        (whole, bytes(100) + logged, "is damaged; without that file"),
        (b"", logged, "empty"),
    ):
        path.write_bytes(content)
        log.write_bytes(file)
        with pytest.raises(StoreError, match=said):
            Store(path)
        assert (path.read_bytes(), log.read_bytes()) == (content, file)
    path.write_bytes(whole)
    log.write_bytes(logged)
    store = Store(path)
    assert len(store.stored_blocks(Numbers(), "hash")) == BLOCKS
    store.close()
    path.write_bytes(whole)
    log.unlink(missing_ok=True)
    store = Store(path)
    assert len(store.stored_blocks(Numbers(), "hash")) < BLOCKS
    store.close()


@for_each("leaves", ["", "create nothing"])
def test_what_a_run_leaves_that_is_killed_at_its_beginning_is_begun_again(
    leaves: str, tmp_path: Path
) -> None:
    path = tmp_path / "evidence.sqlite"
    path.touch()
    if leaves:
        with closing(sqlite3.connect(path)) as file:
            file.execute("pragma journal_mode = wal")
    filled(path)
    store = Store(path)
    assert len(store.stored_blocks(Numbers(), "hash")) == BLOCKS
    store.close()


def test_blocks_without_a_digest_which_earlier_versions_kept_are_dropped(
    tmp_path: Path,
) -> None:
    path = tmp_path / "evidence.sqlite"
    filled(path)
    with closing(sqlite3.connect(path)) as file:
        file.execute("pragma user_version = 0")
    store = Store(path)
    assert store.stored_blocks(Numbers(), "hash") == {}
    store.save(Numbers(), "hash", 3, BlockOutcome([1.0], 0.5))
    assert list(store.stored_blocks(Numbers(), "hash")) == [3]
    store.close()


def test_a_store_that_breaks_in_the_middle_costs_no_result(tmp_path: Path) -> None:
    for number, broken in enumerate(("select", "drop")):
        store = Store(tmp_path / f"{number}.sqlite")
        backend = Backend(store, temporary=True)
        if broken == "select":
            store.close()
        pieces = backend.outcomes(Numbers(), 3)
        found = [next(pieces), next(pieces)]
        store.close()
        assert [*found, *pieces] == [
            (block, Numbers().run(block)) for block in range(3)
        ]
        (line,) = backend.words()
        assert line.startswith("the run went on without its store: ")


def test_whether_blocks_are_stale_is_asked_of_a_file_that_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    store.save(Numbers(), "another hash", 0, BlockOutcome([1.0], 0.5))

    def broken(*_: object) -> dict[int, BlockOutcome]:
        store.close()  # between two questions
        return {}

    monkeypatch.setattr(store, "stored_blocks", broken)
    kept = BlockCache(store, [Numbers()], ["hash"])
    assert kept.stored_blocks(0) == {}
    assert "cannot be read" in store.failure
