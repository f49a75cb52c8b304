"""Records of papers that are kept: the same specs as without, and never those of other files or other rules."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from dpverify import cache_files
from dpverify.cache_files import Snapshot, default_store, write_cached
from dpverify.ledger import SpecError, bundled_specs, files, load_specs
from dpverify.ledger.definitions import DefinitionsFile
from dpverify.ledger.proof_book import ProofsFile
from dpverify.ledger.records import ClaimsFile, VerdictsFile
from dpverify.ledger.specs import ChaptersFile, Specs

TOY = Path(__file__).parent / "toy2024"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(TOY, tmp_path / "specs" / "toy2024")
    return tmp_path / "specs"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Folders whose records were kept, and so were read and checked."""
    folders: list[str] = []
    keep_records = files.keep_records

    def noted(folder: str, key: str, records: files.PaperRecords) -> None:
        folders.append(folder)
        keep_records(folder, key, records)

    monkeypatch.setattr("dpverify.ledger.load.keep_records", noted)
    return folders


def said(specs: Specs) -> list[object]:
    """All that is known of some specs, as values."""
    return [
        (
            claim.key,
            claim.record,
            claim.verdicts,
            claim.file,
            claim.edges,
            claim.glossary.digest,
            list(claim.statements()),
        )
        for claim in specs.claims()
    ] + [
        (paper.info, paper.chapters, paper.strict_pins, paper.vocabulary)
        for paper in specs.papers.values()
    ]


def test_the_records_of_all_papers_come_back_as_they_were(
    tmp_path: Path, parsed: list[str]
) -> None:
    folder = tmp_path / "specs"
    shutil.copytree(bundled_specs(), folder)
    first = load_specs(folder)
    assert sorted(parsed) == sorted(first.papers)
    parsed.clear()
    assert said(load_specs(folder)) == said(first)
    assert parsed == []


def test_a_change_of_a_file_is_seen_even_if_its_size_and_times_stay(
    folder: Path, parsed: list[str]
) -> None:
    load_specs(folder)
    file = folder / "toy2024" / "claims.toml"
    before = file.stat()
    text = file.read_text(encoding="utf-8")
    title = load_specs(folder).papers["toy2024"].info.title
    file.write_text(text.replace(title, title[::-1]), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert load_specs(folder).papers["toy2024"].info.title == title[::-1]
    file.write_text(text, encoding="utf-8")
    assert load_specs(folder).papers["toy2024"].info.title == title
    assert parsed == ["toy2024", "toy2024"]


def test_a_file_that_comes_or_goes_is_seen(folder: Path) -> None:
    assert any(claim.verdicts for claim in load_specs(folder).claims())
    (folder / "toy2024" / "verdicts.toml").unlink()
    assert not any(claim.verdicts for claim in load_specs(folder).claims())


def test_files_that_break_a_rule_are_checked_each_time(
    folder: Path, parsed: list[str]
) -> None:
    file = folder / "toy2024" / "claims.toml"
    file.write_text(
        file.read_text(encoding="utf-8") + "\nunknown = 1\n", encoding="utf-8"
    )
    for _ in range(2):
        with pytest.raises(SpecError, match="unknown"):
            load_specs(folder)
    assert parsed == []


def test_other_rules_check_again(
    folder: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_specs(folder)
    monkeypatch.setattr(
        files, "_rules", lambda: Snapshot("another version of the ledger", 0)
    )
    load_specs(folder)
    assert parsed == ["toy2024", "toy2024"]


def test_the_rules_are_the_code_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "ledger"
    shutil.copytree(files.PACKAGE, copy)
    for file in files.PACKAGE.parent.glob("*.py"):
        shutil.copy(file, tmp_path)
    monkeypatch.setattr(files, "PACKAGE", copy)
    digests = [files._rules.__wrapped__().digest]
    for file in (copy / "formula" / "parse.py", tmp_path / "foreign.py"):
        file.write_text("# another one\n", encoding="utf-8")
        digests.append(files._rules.__wrapped__().digest)
    assert digests[0] == files._rules().digest
    assert len(set(digests)) == 3


def test_what_rules_newer_than_this_process_accept_is_not_kept(
    folder: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_files, "LOADED_AT", files._rules().changed_at)
    load_specs(folder)
    load_specs(folder)
    assert parsed == ["toy2024", "toy2024"]


def test_records_that_json_would_change_are_not_kept(folder: Path) -> None:
    (spec,) = load_specs(folder).papers.values()
    claims = ClaimsFile(paper=spec.info, symbols={}, claim=[])
    strange = msgspec.structs.replace(
        claims, paper=msgspec.structs.replace(spec.info, title=float("inf"))
    )
    for key, file in (("plain", claims), ("strange", strange)):
        records = files.PaperRecords(
            claims=file,
            verdicts=VerdictsFile(),
            definitions=DefinitionsFile(),
            proofs=ProofsFile(),
            chapters=ChaptersFile(),
        )
        files.keep_records("toy2024", key, records)
    assert files.recall_records("toy2024", "plain") is not None
    assert files.recall_records("toy2024", "strange") is None


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_a_change_behind_a_link_to_a_folder_is_seen(
    folder: Path, tmp_path: Path
) -> None:
    (folder / "toy2024").rename(tmp_path / "elsewhere")
    (folder / "toy2024").symlink_to(tmp_path / "elsewhere")
    title = load_specs(folder).papers["toy2024"].info.title
    file = tmp_path / "elsewhere" / "claims.toml"
    file.write_text(
        file.read_text(encoding="utf-8").replace(title, title[::-1]), encoding="utf-8"
    )
    assert load_specs(folder).papers["toy2024"].info.title == title[::-1]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("becomes", ["folder", "link", "nothing"])
def test_a_file_that_becomes_something_else_is_an_error_though_its_records_are_kept(
    folder: Path, becomes: str
) -> None:
    load_specs(folder)
    file = folder / "toy2024" / "claims.toml"
    file.rename(folder / "claims.toml")
    if becomes == "folder":
        file.mkdir()
    elif becomes == "link":
        file.symlink_to(folder / "claims.toml")
    with pytest.raises(SpecError, match=r"claims\.toml"):
        load_specs(folder)


def test_the_name_of_the_folder_counts(folder: Path) -> None:
    load_specs(folder)
    (folder / "toy2024").rename(folder / "other")
    with pytest.raises(SpecError, match="the key is the name of the folder"):
        load_specs(folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"damaged"])
def test_damaged_records_are_read_again(
    folder: Path, parsed: list[str], content: bytes
) -> None:
    first = said(load_specs(folder))
    for file in default_store().with_suffix(".cache").iterdir():
        file.write_bytes(content)
    assert said(load_specs(folder)) == first
    assert parsed == ["toy2024", "toy2024"]


def test_records_of_another_form_are_read_again(
    folder: Path, parsed: list[str]
) -> None:
    first = said(load_specs(folder))
    for file in default_store().with_suffix(".cache").iterdir():
        kind, key, _ = file.name.split(".")
        write_cached(kind, key, b'{"claims": 1}')
    assert said(load_specs(folder)) == first
    assert parsed == ["toy2024", "toy2024"]
