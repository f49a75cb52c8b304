"""``verify`` of what was verified before: the stored answer, until a record, the code or a request changes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify import cache_files, ledger
from dpverify.api import judge
from dpverify.cli import main

RECORD = """
[paper]
key = "toy"
title = "Toy"
authors = ["A"]
venue = "here"

[paper.texts]
full = "this"

[symbols.x]
latex = 'x'
domain = "real, x > 0"
meaning = "a number"

[[claim]]
id = "theorem"
where = "here"
source = "full"
quote = "said"
kind = "inequality"
lhs = "x"
relation = "<="
printed = "2*x"
"""


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Records that were written before this process began."""
    (tmp_path / "specs" / "toy").mkdir(parents=True)
    (tmp_path / "specs" / "toy" / "claims.toml").write_text(RECORD, encoding="utf-8")
    monkeypatch.setattr(cache_files, "LOADED_AT", time.time_ns() + 3_600_000_000_000)
    return tmp_path / "specs"


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An entry for each run that was not found in the store."""
    runs: list[str] = []
    verify_run = judge.verify_run

    def noted(*claims: str, **options: Any) -> Any:
        runs.append(options["budget"])
        return verify_run(*claims, **options)

    monkeypatch.setattr("dpverify.api.verify_run", noted, raising=False)
    return runs


def statuses(specs: Path, *options: str) -> list[str]:
    file = specs.parent / "run.json"
    main(["verify", "--specs", str(specs), "--json", str(file), *options])
    return [
        result["status"] for result in msgspec.json.decode(file.read_bytes())["results"]
    ]


def replace(specs: Path, old: str, new: str) -> None:
    """Edit the record, and give the file the size and the times that it had."""
    file = specs / "toy" / "claims.toml"
    before = file.stat()
    text = file.read_text(encoding="utf-8")
    assert len(old) == len(new)
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_second_run_is_found_and_an_edited_record_is_judged(
    specs: Path, judged: list[str]
) -> None:
    first = statuses(specs)
    assert first != ["refuted"]
    assert statuses(specs) == first
    assert len(judged) == 1
    replace(specs, '"2*x"', '"x/2"')
    assert statuses(specs) == ["refuted"]
    replace(specs, '"x/2"', '"2*x"')
    assert statuses(specs) == first
    assert len(judged) == 3


@pytest.mark.parametrize(
    "options", [["--seed", "1"], ["--fresh"], ["--timeout", "100"], ["--store"]]
)
def test_another_request_is_judged(
    specs: Path, judged: list[str], options: list[str]
) -> None:
    first = statuses(specs)
    words = (
        [*options, str(specs.parent / "other.sqlite")]
        if options == ["--store"]
        else options
    )
    assert statuses(specs, *words) == first
    assert len(judged) == 2


def test_a_fresh_run_makes_the_stored_one_forgotten(
    specs: Path, judged: list[str]
) -> None:
    for words in ([], [], ["--fresh"], [], []):
        statuses(specs, *words)
    assert len(judged) == 3


def test_a_record_that_is_edited_while_it_is_judged_is_judged_again(
    specs: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        load = ledger.load_specs

        def edited(*words: Any) -> Any:
            loaded = load(*words)
            replace(specs, '"2*x"', '"x/2"')
            return loaded

        patch.setattr("dpverify.ledger.load_specs", edited, raising=False)
        first = statuses(specs)
    assert first != ["refuted"]
    assert statuses(specs) == ["refuted"]
    replace(specs, '"x/2"', '"2*x"')
    assert statuses(specs) == first
    assert len(judged) == 3
