"""Records of papers that are kept: the same specs as without, and never those of other files or other rules."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dpverify.cache_files import default_store, keep
from dpverify.ledger import SpecError, bundled_specs, load_specs
from dpverify.ledger.files import kept
from dpverify.ledger.specs import Specs

TOY = Path(__file__).parent / "toy2024"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(TOY, tmp_path / "specs" / "toy2024")
    return tmp_path / "specs"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Folders whose records were kept, and so were read and checked."""
    folders: list[str] = []
    keep_records = kept.keep_records

    def noted(folder: str, key: str, records: kept.PaperRecords) -> None:
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
    ] + [(paper.info, paper.chapters, paper.strict_pins, paper.vocabulary) for paper in specs.papers.values()]


def test_the_records_of_all_papers_come_back_as_they_were(tmp_path: Path, parsed: list[str]) -> None:
    folder = tmp_path / "specs"
    shutil.copytree(bundled_specs(), folder)
    first = load_specs(folder)
    assert sorted(parsed) == sorted(first.papers)
    parsed.clear()
    assert said(load_specs(folder)) == said(first)
    assert parsed == []


def test_a_change_of_a_file_is_seen_even_if_its_size_and_times_stay(folder: Path, parsed: list[str]) -> None:
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


def test_files_that_break_a_rule_are_checked_each_time(folder: Path, parsed: list[str]) -> None:
    file = folder / "toy2024" / "claims.toml"
    file.write_text(file.read_text(encoding="utf-8") + "\nunknown = 1\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(SpecError, match="unknown"):
            load_specs(folder)
    assert parsed == []


def test_other_rules_check_again(folder: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    load_specs(folder)
    monkeypatch.setattr(kept, "_rules", lambda: "another version of the ledger")
    load_specs(folder)
    assert parsed == ["toy2024", "toy2024"]


def test_the_rules_are_the_code_of_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "ledger"
    shutil.copytree(kept.PACKAGE, copy)
    monkeypatch.setattr(kept, "PACKAGE", copy)
    same = kept._rules.__wrapped__()
    (copy / "formula" / "parse.py").write_text("# another parser\n", encoding="utf-8")
    assert same == kept._rules()
    assert kept._rules.__wrapped__() != same


def test_the_name_of_the_folder_counts(folder: Path) -> None:
    load_specs(folder)
    (folder / "toy2024").rename(folder / "other")
    with pytest.raises(SpecError, match="the key is the name of the folder"):
        load_specs(folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"damaged"])
def test_damaged_records_are_read_again(folder: Path, parsed: list[str], content: bytes) -> None:
    first = said(load_specs(folder))
    for file in default_store().with_suffix(".cache").iterdir():
        file.write_bytes(content)
    assert said(load_specs(folder)) == first
    assert parsed == ["toy2024", "toy2024"]


def test_records_of_another_form_are_read_again(folder: Path, parsed: list[str]) -> None:
    first = said(load_specs(folder))
    for file in default_store().with_suffix(".cache").iterdir():
        kind, key, _ = file.name.split(".")
        keep(kind, key, b'{"claims": 1}')
    assert said(load_specs(folder)) == first
    assert parsed == ["toy2024", "toy2024"]
