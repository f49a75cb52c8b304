"""A run goes on where an earlier one ended: nothing is lost, counted twice, or taken from other evidence."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from dpverify.harness.checks import BUDGETS
from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run import store as module
from dpverify.harness.run.runner import verify
from dpverify.harness.run.store import NotStorableError, Store, packed, unpacked
from dpverify.harness.run.store_file import StoreError
from dpverify.harness.run.suite import Suite
from dpverify.harness.run.tasks import Job
from dpverify.harness.statistics.mean_judges import MeanMoments
from dpverify.harness.statistics.trajectory_sums import TrajectoryStatistics
from dpverify.ledger import Specs
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.results import Run
from dpverify.report.terminal import closing
from tests.for_each import for_each
from tests.unit.harness.run.test_runner import SOURCE, without_times

KILLS = int(os.environ.get("DPVERIFY_KILLS", "3"))  # 200 at night

RUN = """
import os, random, signal, sys, time
from pathlib import Path
from dpverify.harness.run.runner import verify
from dpverify.harness.run.store import Store
from dpverify.ledger import load_specs

specs, source, path, kills = load_specs(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
rng, seed = random.Random(0), 0
for _ in range(2):  # the first compiles
    begin = time.monotonic()
    verify(specs, seed=1 << 40, source=source)
longest = time.monotonic() - begin
while kills:  # a copy of this process is one run; what one of them decided the next ones take
    run = os.fork()
    if run == 0:
        verify(specs, seed=seed, source=source, store=Store(path))
        os._exit(0)
    time.sleep(rng.uniform(0.0, longest))
    os.kill(run, signal.SIGKILL)
    _, status = os.waitpid(run, 0)
    if os.WIFSIGNALED(status):
        kills -= 1
    else:  # it was done: on with another seed
        seed += 1
print(seed)
"""


def judged(
    demo: Specs, store: Store | None, seed: int = 0, *, fresh: bool = False
) -> Run:
    return verify(demo, seed=seed, source=SOURCE + "load", store=store, fresh=fresh)


def found(run: Run) -> bytes:
    """What a run found, without times and without where it is from."""
    return without_times(
        msgspec.structs.replace(run, run=msgspec.structs.replace(run.run, from_store=0))
    )


@pytest.fixture
def job(demo: Specs) -> Job:
    case, *_ = Suite(demo, "smoke", 0, SOURCE + "load").cases(demo.claim("demo:walk"))
    return next(job for job in case.jobs if job.find().method == "monte-carlo")


def statistics(**changed: Any) -> TrajectoryStatistics:
    given: dict[str, Any] = {each.name: None for each in fields(TrajectoryStatistics)}
    return TrajectoryStatistics(
        **{**given, "n": 3, "lengths": np.arange(6.0).reshape(2, 3), **changed}
    )


@for_each(
    "part",
    [
        (2, MeanMoments(5, 0.1, 1e-300)),
        ("ramp", [0.1, float("inf"), -0.0]),
        CheckResult(
            name="law", method="monte-carlo", status="not refuted", n=7, alpha=1e-6
        ),
        [None, True, ("a", 1)],
    ],
)
def test_a_part_is_read_as_it_was_written(part: Any) -> None:
    again = unpacked(
        packed(part, (MeanMoments, CheckResult)), (MeanMoments, CheckResult)
    )
    assert (again, type(again)) == (part, type(part))


def test_arrays_are_read_with_type_and_shape() -> None:
    part = statistics(counts=np.array([[1, 2]], dtype=np.int64))
    again = unpacked(
        packed((1, part), (TrajectoryStatistics,)), (TrajectoryStatistics,)
    )[1]
    assert (again.n, again.gram, again.counts.dtype, again.counts.shape) == (
        3,
        None,
        np.int64,
        (1, 2),
    )
    assert np.array_equal(again.lengths, part.lengths)
    assert again.lengths.flags.writeable


def test_what_a_check_does_not_name_is_neither_written_nor_read() -> None:
    @dataclass(frozen=True)
    class Foreign:
        x: int

    for part in (Foreign(1), [Foreign(1)], {"x": 1}, np.array([object()]), 1 << 80):
        with pytest.raises(NotStorableError):
            packed(part, (MeanMoments,))
    with pytest.raises(ValueError, match="that its check names, got 'MeanMoments'"):
        unpacked(packed(MeanMoments(1, 0.0, 0.0), (MeanMoments,)), ())


def test_a_second_run_finds_everything_and_says_so(demo: Specs, tmp_path: Path) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    first, second = judged(demo, store), judged(demo, store)
    assert found(first) == found(second) == found(judged(demo, None))
    checks = sum(len(result.all_checks) for result in first.results)
    later = sum(
        "runs from" in check.message
        for result in first.results
        for check in result.all_checks
    )
    assert (first.run.from_store, second.run.from_store) == (0, checks - later)
    assert judged(demo, store, fresh=True).run.from_store == 0
    assert judged(demo, store, seed=1).run.from_store == 0


def test_a_fresh_run_is_kept_for_the_next_one_and_what_is_stale_is_said(
    demo: Specs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, claims = Store(tmp_path / "evidence.sqlite"), [demo.claim("demo:sum")]
    judge = partial(verify, demo, claims, source=SOURCE + "load", store=store)
    fresh, later = judge(fresh=True), judge()
    assert found(later) == found(fresh)
    checks = len(later.results[0].all_checks)
    assert [(run.run.from_store, run.run.stale_in_store) for run in (fresh, later)] == [
        (0, 0),
        (checks, 0),
    ]
    monkeypatch.setattr(module, "_versions", lambda: "others")
    other = judge()
    assert (other.run.from_store, other.run.stale_in_store) == (0, checks)
    assert any(
        "are stale: record, code, versions or the recorded run have changed" in line
        for line in closing(other)
    )


def test_a_block_is_found_under_the_same_evidence_only(
    job: Job, tmp_path: Path
) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    outcome = BlockOutcome((0, MeanMoments(2, 0.5, 0.25)), 1.5)
    store.save(job, "hash", 3, outcome)
    assert store.stored_blocks(job, "hash") == {3: outcome}
    assert not store.stale(job, "hash")
    other = [
        replace(job.context, seed=1),
        replace(job.context, share=2.0),
        replace(job.context, budget=BUDGETS["full"]),
    ]
    assert all(
        not store.stored_blocks(replace(job, context=context), "hash")
        for context in other
    )
    assert not store.stored_blocks(job, "another hash")
    assert store.stale(job, "another hash")
    store.save(job, "another hash", 0, outcome)  # what is stale goes
    assert not store.stored_blocks(job, "hash")


def test_a_block_made_with_other_libraries_is_stale(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    store.save(job, "hash", 3, BlockOutcome((0, MeanMoments(2, 0.5, 0.25)), 1.5))
    monkeypatch.setattr(module, "_versions", lambda: "others")
    assert store.stored_blocks(job, "hash") == {}
    assert store.stale(job, "hash")


def test_a_block_that_is_kept_again_is_the_later_one(job: Job, tmp_path: Path) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    later = BlockOutcome((0, MeanMoments(2, 0.5, 0.25)), 2.5)
    for outcome in (BlockOutcome((0, MeanMoments(1, 0.0, 0.0)), 1.5), later):
        store.save(job, "hash", 3, outcome)
    assert store.stored_blocks(job, "hash") == {3: later}


def test_errors_and_parts_of_other_types_are_not_kept(job: Job, tmp_path: Path) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    store.save(job, "hash", 0, BlockOutcome(None, 1.0, "ValueError: x"))
    store.save(job, "hash", 1, BlockOutcome(object(), 1.0))
    assert store.stored_blocks(job, "hash") == {}


def test_works_are_forgotten_together_or_not_at_all(job: Job, tmp_path: Path) -> None:
    path, other = (
        tmp_path / "evidence.sqlite",
        replace(job, context=replace(job.context, seed=1)),
    )
    store = Store(path)
    for each in (job, other):
        store.save(each, "hash", 0, BlockOutcome((0, MeanMoments(1, 0.0, 0.0)), 1.5))
    # what stops it at the second one, as a kill would
    with sqlite3.connect(path) as file:
        stop = "begin select raise(abort, 'stopped'); end"
        file.execute(
            f"create trigger stop before delete on blocks when old.check_of = '{other.request_key}' {stop}"
        )
    store.drop([job, other])
    assert "stopped" in store.failure
    store.close()
    with sqlite3.connect(path) as file:
        assert file.execute("select count(*) from blocks").fetchone() == (2,)
        file.execute("drop trigger stop")
    whole = Store(path)
    whole.drop([job, other])
    assert whole.stored_blocks(job, "hash") == whole.stored_blocks(other, "hash") == {}


@for_each("size", [1, 2, 15, 16, 99, 511, 512, 1600])
def test_a_file_that_is_no_store_is_refused_and_kept(size: int, tmp_path: Path) -> None:
    """Sqlite takes a file that is shorter than a page for a new one."""
    path = tmp_path / "notes.txt"
    path.write_text(("my notes, which are no database, " * 50)[:size])
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is no store of evidence that can be used"):
        Store(path)
    assert path.read_bytes() == before


def test_a_store_that_breaks_costs_no_verdict(demo: Specs, tmp_path: Path) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    first = judged(demo, store)
    with sqlite3.connect(store.path) as file:
        file.execute("update blocks set part = ?", (b"nonsense",))
    assert found(judged(demo, store)) == found(first)
    assert "cannot be read" in store.failure


def test_runs_that_are_killed_at_random_moments_go_on(
    demo: Specs, tmp_path: Path
) -> None:
    path = tmp_path / "evidence.sqlite"
    command = [
        sys.executable,
        "-c",
        RUN,
        str(demo.directory),
        SOURCE + "load",
        str(path),
        str(KILLS),
    ]
    last = int(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    taken = 0
    for seed in range(last + 1):
        run = judged(demo, Store(path), seed)
        assert found(run) == found(judged(demo, None, seed))
        taken += run.run.from_store
    with sqlite3.connect(path) as file:
        (rows,) = file.execute("select count(*) from blocks").fetchone()
        (blocks,) = file.execute(
            "select count(*) from (select distinct check_of, block from blocks)"
        ).fetchone()
    assert rows == blocks > 0, "no block is there twice"
    assert taken > 0 or KILLS < 20
