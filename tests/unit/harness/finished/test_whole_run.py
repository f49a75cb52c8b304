"""A whole run that is kept is the run that its blocks would give, and is found only while nothing has changed."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpverify.api.earlier_run import whole_run as request_of
from dpverify.harness.finished import whole_run as module
from dpverify.harness.finished.block_outcome import BlockOutcome
from dpverify.harness.finished.whole_run import WholeRun
from dpverify.harness.run.discovery import IndexedFile, judging_files
from dpverify.harness.run.runner import verify
from dpverify.harness.run.store import Store
from dpverify.ledger import Specs, load_specs
from dpverify.ledger.results import Run
from tests.unit.harness.run.test_runner import SOURCE, without_times


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files" / "below").mkdir(parents=True)
    (tmp_path / "files" / "below" / "a.toml").write_text("x = 1\n", encoding="utf-8")
    return tmp_path / "files"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


@pytest.fixture
def request_(demo: Specs, folder: Path) -> WholeRun:
    claims = tuple(claim.key for claim in demo.claims())
    return WholeRun(claims, "smoke", 0, ("tests.unit.harness.demo.demo_checks",), ("index",), (folder,))


def run_demo(demo: Specs, store: Store, whole: WholeRun, load: str = "load", **options: Any) -> Run:
    return verify(demo, source=SOURCE + load, store=store, whole=whole, **options)


def test_what_is_recalled_is_what_the_blocks_give(demo: Specs, store: Store, request_: WholeRun) -> None:
    assert request_.recalled(store) is None
    first = run_demo(demo, store, request_)
    recalled = request_.recalled(store)
    again = run_demo(demo, store, request_)
    assert recalled is not None
    assert without_times(recalled) == without_times(again)
    assert recalled.run.from_store == again.run.from_store > first.run.from_store == 0


@pytest.mark.parametrize("change", ["claims", "budget", "seed", "texts", "modules", "files", "content", "gone"])
def test_any_change_is_another_request(
    demo: Specs, store: Store, request_: WholeRun, folder: Path, change: str
) -> None:
    run_demo(demo, store, request_)
    changed = replace(request_)
    if change == "content":
        (folder / "below" / "a.toml").write_text("x = 2\n", encoding="utf-8")
    elif change == "gone":
        (folder / "below" / "a.toml").unlink()
    else:
        values: dict[str, Any] = {
            "claims": request_.claims[:1], "budget": "standard", "seed": 1, "texts": ("another",),
            "modules": ("tests.unit.harness.demo.misbehaving",), "files": (),
        }  # fmt: skip
        changed = replace(request_, **{change: values[change]})
    assert changed.recalled(store) is None
    assert replace(request_).recalled(store) is None or change not in {"content", "gone"}


def test_another_version_of_a_library_is_another_run(
    demo: Specs, store: Store, request_: WholeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_demo(demo, store, request_)
    monkeypatch.setattr("dpverify.harness.run.store._versions", lambda: "other versions")
    assert request_.recalled(store) is None


@pytest.mark.parametrize("load", ["load_broken", "load_interrupted"])
def test_a_run_with_an_error_or_an_interrupt_is_not_kept(
    demo: Specs, store: Store, request_: WholeRun, load: str
) -> None:
    run_demo(demo, store, request_, load)
    assert request_.recalled(store) is None


def test_a_run_that_cannot_be_stored_whole_is_not_kept(
    demo: Specs, store: Store, request_: WholeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "MOST_BYTES", 10)
        run_demo(demo, store, request_)
    assert request_.recalled(store) is None
    with monkeypatch.context() as patch:
        patch.setattr(Store, "keep", lambda *_: False)
        run_demo(demo, store, request_, fresh=True)
    assert request_.recalled(store) is None


@pytest.mark.parametrize("part", ["no JSON", "{}", 7, None])
def test_what_is_no_run_is_ignored(store: Store, request_: WholeRun, part: object) -> None:
    store.keep(request_, request_.evidence, 0, BlockOutcome(part, 1.0))
    assert request_.recalled(store) is None


def test_a_row_that_was_changed_is_ignored(demo: Specs, store: Store, request_: WholeRun) -> None:
    run_demo(demo, store, request_)
    with sqlite3.connect(store.path) as database:
        database.execute("update blocks set part = part || 'x' where check_of = ?", (request_.asked,))
    assert request_.recalled(store) is None


def test_a_request_knows_the_checks_of_its_claims_and_all_files_of_the_specs() -> None:
    specs = load_specs()
    claim = specs.claim("tran2022:lemma-12")
    request = request_of(specs, [claim], "smoke", 0)
    assert request is not None
    assert "dpverify.papers.tran2022.noise.checks.lemma_12" in request.modules
    assert specs.directory in request.files
    assert any(text.startswith("dpverify.papers.tran2022.trees.") for text in request.texts)


def test_papers_of_others_are_judged_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = load_specs()
    monkeypatch.setattr("dpverify.api.earlier_run.outside_papers", lambda _: {"theirs": Path()})
    assert request_of(specs, [specs.claim("tran2022:lemma-12")], "smoke", 0) is None


def test_a_file_that_the_index_does_not_know_may_judge_any_claim() -> None:
    package = "dpverify.papers.zhang2021"
    modules, listed = judging_files(package, "zhang2021", {}, {"no-such-claim"})
    assert len(modules) == len(listed) > 0
    known = {line.split()[0]: IndexedFile(line.split()[1], ["lemma-1"]) for line in listed}
    assert judging_files(package, "zhang2021", known, {"no-such-claim"}) == ([], listed)
    assert judging_files(package, "zhang2021", known, {"lemma-1"}) == (modules, listed)
    stale = {module: IndexedFile("000000000000", []) for module in known}
    assert judging_files(package, "zhang2021", stale, {"no-such-claim"}) == (modules, listed)
