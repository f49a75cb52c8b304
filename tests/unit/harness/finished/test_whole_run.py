"""A whole run that is kept is the run that its blocks would give, and is found only while nothing has changed."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.harness import finished as module
from dpverify.harness.finished import BlockOutcome, Inputs, WholeRun
from dpverify.harness.run.runner import verify
from dpverify.harness.run.store import Store
from dpverify.ledger import Specs
from dpverify.ledger.records import encode
from dpverify.ledger.results import Run
from tests.for_each import for_each
from tests.unit.harness.run.test_runner import SOURCE, without_times


class Stated(Inputs):
    """Inputs of a stated digest."""

    def __init__(self, digest: str, unchanged: bool = True) -> None:
        self.stated = digest
        self.unchanged = unchanged

    @property
    def digest(self) -> str:
        return self.stated

    @property
    def are_unchanged(self) -> bool:
        return self.unchanged


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.sqlite")


@pytest.fixture
def request_(demo: Specs) -> WholeRun:
    return WholeRun(
        tuple(claim.key for claim in demo.claims()), "smoke", 0, Stated("today")
    )


def run_demo(
    demo: Specs, store: Store, whole: WholeRun, load: str = "load", **options: Any
) -> Run:
    return verify(demo, source=SOURCE + load, store=store, whole_run=whole, **options)


def test_what_is_recalled_is_what_the_blocks_give(
    demo: Specs, store: Store, request_: WholeRun
) -> None:
    assert request_.stored_run(store) is None
    first = run_demo(demo, store, request_)
    recalled = request_.stored_run(store)
    again = run_demo(demo, store, request_)
    assert recalled is not None
    assert without_times(recalled) == without_times(again)
    assert recalled.run.from_store == again.run.from_store > first.run.from_store == 0


@for_each("change", ["claims", "budget", "seed", "inputs"])
def test_any_change_is_another_request(
    demo: Specs, store: Store, request_: WholeRun, change: str
) -> None:
    run_demo(demo, store, request_)
    values: dict[str, Any] = {
        "claims": request_.claims[:1], "budget": "standard", "seed": 1, "inputs": Stated("tomorrow")
    }  # fmt: skip
    assert replace(request_, **{change: values[change]}).stored_run(store) is None
    assert request_.stored_run(store) is not None


def test_a_run_whose_inputs_changed_meanwhile_is_not_kept(
    demo: Specs, store: Store, request_: WholeRun
) -> None:
    run_demo(demo, store, replace(request_, inputs=Stated("today", unchanged=False)))
    assert request_.stored_run(store) is None


def test_without_a_digest_nothing_is_found(
    demo: Specs, store: Store, request_: WholeRun
) -> None:
    unread = replace(request_, inputs=Stated(""))
    store.save(unread, "", 0, BlockOutcome("{}", 1.0))
    run_demo(demo, store, unread)
    assert unread.stored_run(store) is None


def test_another_version_of_a_library_is_another_run(
    demo: Specs, store: Store, request_: WholeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_demo(demo, store, request_)
    monkeypatch.setattr(
        "dpverify.harness.run.store._versions", lambda: "other versions"
    )
    assert request_.stored_run(store) is None


@for_each("load", ["load_broken", "load_interrupted"])
def test_a_run_with_an_error_or_an_interrupt_is_not_kept(
    demo: Specs, store: Store, request_: WholeRun, load: str
) -> None:
    run_demo(demo, store, request_, load)
    assert request_.stored_run(store) is None


def test_a_run_that_cannot_be_stored_whole_is_not_kept(
    demo: Specs, store: Store, request_: WholeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "MAX_BYTES", 10)
        run_demo(demo, store, request_)
    assert request_.stored_run(store) is None
    with monkeypatch.context() as patch:
        patch.setattr(Store, "save", lambda *_: False)
        run_demo(demo, store, request_, fresh=True)
    assert request_.stored_run(store) is None


def test_the_size_of_a_run_is_measured_in_bytes(
    demo: Specs, store: Store, request_: WholeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    run = run_demo(demo, store, request_)
    info = msgspec.structs.replace(
        run.run, commit="é" * 100, from_store=1, stale_in_store=0
    )
    run = msgspec.structs.replace(run, run=info)
    monkeypatch.setattr(module, "MAX_BYTES", len(encode(run).decode()))
    request_.save(store, run, 1)
    assert request_.stored_run(store) is None
    monkeypatch.setattr(module, "MAX_BYTES", len(encode(run)))
    request_.save(store, run, 1)
    assert request_.stored_run(store) is not None


@for_each("part", ["no JSON", "{}", 7, None])
def test_what_is_no_run_is_ignored(
    store: Store, request_: WholeRun, part: object
) -> None:
    store.save(request_, request_.inputs.digest, 0, BlockOutcome(part, 1.0))
    assert request_.stored_run(store) is None


def test_a_row_that_was_changed_is_ignored(
    demo: Specs, store: Store, request_: WholeRun
) -> None:
    run_demo(demo, store, request_)
    with sqlite3.connect(store.path) as database:
        database.execute(
            "update blocks set part = part || 'x' where check_of = ?",
            (request_.request_key,),
        )
    assert request_.stored_run(store) is None
