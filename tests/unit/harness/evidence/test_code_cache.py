"""What is kept of source files: the same as parsing gives, for their content of now."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpverify import cache_files
from dpverify.cache_files import Snapshot, default_store, write_cached
from dpverify.harness.evidence import source_code
from dpverify.harness.evidence.source_code import Code, code_of, keep_new_code
from dpverify.harness.evidence.units import parse
from tests.for_each import for_each

SOURCE = b"from dpverify.a import b as c\nimport dpverify.d\n\nX = 1\n"


@pytest.fixture(autouse=True)
def _new_process() -> Iterator[None]:
    """Forget what this process has read, before and after."""
    new_process()
    yield
    new_process()


def new_process() -> None:
    source_code._table.cache_clear()
    source_code._made_by.cache_clear()
    source_code._NEW.clear()


def refuse(source: bytes, top: str) -> Code:
    raise AssertionError("parsed again")


def test_a_file_of_the_same_content_is_not_parsed_again() -> None:
    first = code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    new_process()
    assert code_of(SOURCE, "dpverify", refuse) == first
    assert [(names.package, names.names) for names in first.imports] == [
        ("dpverify.a", [("b", "c")]),
        (None, [("dpverify.d", None)]),
    ]


@for_each(("source", "top"), [(SOURCE + b"Y = 2\n", "dpverify"), (SOURCE, "another")])
def test_another_content_or_package_is_parsed(source: bytes, top: str) -> None:
    code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    new_process()
    with pytest.raises(AssertionError, match="parsed again"):
        code_of(source, top, refuse)


def table() -> Path:
    (file,) = default_store().with_suffix(".cache").iterdir()
    return file


@for_each("damage", [b"", b"[]", b"damaged"])
def test_a_damaged_table_is_ignored_and_made_again(damage: bytes) -> None:
    first = code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    table().write_bytes(damage)
    new_process()
    assert code_of(SOURCE, "dpverify", parse) == first
    keep_new_code()
    new_process()
    assert code_of(SOURCE, "dpverify", refuse) == first


def test_a_whole_file_of_another_form_is_ignored() -> None:
    write_cached(source_code.KIND, source_code.FILE, b'{"a": 1}')
    assert code_of(SOURCE, "dpverify", parse).units


def test_a_table_of_other_code_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    new_process()
    monkeypatch.setattr(source_code, "_made_by", lambda: Snapshot("another version", 0))
    with pytest.raises(AssertionError, match="parsed again"):
        code_of(SOURCE, "dpverify", refuse)
    monkeypatch.undo()


def test_a_table_made_by_code_newer_than_this_process_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code_of(SOURCE, "dpverify", parse)
    with monkeypatch.context() as patch:
        patch.setattr(cache_files, "LOADED_AT", source_code._made_by().changed_at)
        keep_new_code()
    assert not default_store().with_suffix(".cache").exists()


def test_another_python_makes_another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    new_process()
    monkeypatch.setattr(sys, "version", "3.99")
    with pytest.raises(AssertionError, match="parsed again"):
        code_of(SOURCE, "dpverify", refuse)


def test_two_processes_add_to_one_table() -> None:
    code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    new_process()
    # this process reads the table, and another one adds to it
    assert source_code._table()
    mine = dict(source_code._table())
    new_process()
    code_of(b"Z = 3\n", "dpverify", parse)
    keep_new_code()
    new_process()
    source_code._table().clear()
    source_code._table().update(mine)
    code_of(b"W = 4\n", "dpverify", parse)
    keep_new_code()
    new_process()
    for source in (SOURCE, b"Z = 3\n", b"W = 4\n"):
        assert code_of(source, "dpverify", refuse).units


def test_a_full_table_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_code, "MOST_FILES", 1)
    code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    new_process()
    code_of(b"Z = 3\n", "dpverify", parse)
    keep_new_code()
    new_process()
    assert len(source_code._table()) == 1


def test_without_a_place_to_write_the_answer_is_the_same() -> None:
    default_store().with_suffix(".cache").write_text("no folder", encoding="utf-8")
    first = code_of(SOURCE, "dpverify", parse)
    keep_new_code()
    new_process()
    assert code_of(SOURCE, "dpverify", parse) == first
