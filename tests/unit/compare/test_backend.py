"""A comparison goes on where it ended, and on a cluster finds what one process finds."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.cli import main
from dpverify.compare import CompareRequest, CompareResult, compare
from dpverify.compare.experiments.experiment import ExperimentRequest
from dpverify.compare.experiments.run import run_experiment
from dpverify.harness.run import backend as module
from dpverify.harness.run.backend import Backend
from dpverify.harness.run.cluster import Cluster
from dpverify.harness.run.store import Store
from tests.unit.harness.run.test_cluster import at_block, running

REQUEST = CompareRequest(epsilon=2.0, delta=1e-5, n=60, epochs=1, seeds=3)
PIECES = 18
KILLS = 4

RUN = """
import sys
from pathlib import Path
from dpverify.compare import CompareRequest, compare
from dpverify.harness.run.store import Store
from dpverify.harness.run.backend import Backend
print("started", flush=True)
compare(CompareRequest(epsilon=2.0, delta=1e-5, n=60, epochs=1, seeds=3), backend=Backend(Store(Path(sys.argv[1]))))
"""


def found(result: CompareResult) -> bytes:
    return msgspec.json.encode(msgspec.structs.replace(result, seconds=0.0))


@pytest.fixture(scope="module")
def alone() -> bytes:
    return found(compare(REQUEST))


def test_what_is_kept_is_found_again_and_more_seeds_add_to_it(
    tmp_path: Path, alone: bytes
) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    first, second, fresh = Backend(store), Backend(store), Backend(store, fresh=True)
    assert (
        found(compare(REQUEST, backend=first))
        == found(compare(REQUEST, backend=second))
        == alone
    )
    assert (first.reused, second.reused, first.words()) == (0, PIECES, [])
    assert second.words() == [
        f"{PIECES} pieces of the work were taken from the store; --fresh does all anew"
    ]
    assert found(compare(REQUEST, backend=fresh)) == alone
    assert fresh.reused == 0
    more, other = Backend(store), Backend(store)
    longer = CompareRequest(epsilon=2.0, delta=1e-5, n=60, epochs=1, seeds=4)
    assert found(compare(longer, backend=more)) == found(compare(longer))
    assert more.reused == PIECES
    compare(
        CompareRequest(epsilon=1.0, delta=1e-5, n=60, epochs=1, seeds=2), backend=other
    )
    assert other.reused == 0


def test_what_other_code_made_is_stale_and_is_said_to_be(
    tmp_path: Path, alone: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    compare(REQUEST, backend=Backend(store))
    monkeypatch.setattr(module, "fingerprint", lambda: {"code": "another"})
    backend = Backend(store)
    assert found(compare(REQUEST, backend=backend)) == alone
    assert (backend.reused, backend.stale) == (0, True)
    assert "it is stale" in backend.words()[0]


def test_a_damaged_store_is_refused_in_a_line_and_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "evidence.sqlite"
    asked = "compare --epsilon 2 --delta 1e-5 --n 60 --epochs 1 --seeds 2 --no-figure --store"
    words = asked.split()
    assert main([*words, str(path)]) == 0
    with sqlite3.connect(path) as file:
        file.execute("update blocks set part = ?", (b"nonsense",))
    capsys.readouterr()
    assert main([*words, str(path)]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    assert "is not as it was written" in err
    with sqlite3.connect(path) as file:
        assert {part for (part,) in file.execute("select part from blocks")} == {
            b"nonsense"
        }
    (tmp_path / "notes").write_text("no store " * 200)
    assert main([*words, str(tmp_path / "notes")]) == 2
    assert "must be a store of evidence, or new" in capsys.readouterr().err
    assert (tmp_path / "notes").read_text() == "no store " * 200


def test_a_comparison_that_is_killed_goes_on(tmp_path: Path, alone: bytes) -> None:
    path, rng = tmp_path / "evidence.sqlite", random.Random(0)
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", RUN, str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"started\n"
            time.sleep(rng.uniform(0.0, 2.0))
            process.kill()
    assert found(compare(REQUEST, backend=Backend(Store(path)))) == alone


def test_tables_are_kept_row_by_row(tmp_path: Path) -> None:
    request = ExperimentRequest("wang2019:table-3", n=300, seeds=2, budget="smoke")
    stopped: list[int] = []

    def stop(done: int, total: int, label: str) -> None:
        stopped.append(total)
        if len(stopped) == 5:
            raise KeyboardInterrupt

    store = Store(tmp_path / "evidence.sqlite")
    with pytest.raises(KeyboardInterrupt):
        run_experiment(request, stop, Backend(store))
    backend = Backend(store)
    result = run_experiment(request, None, backend)
    assert backend.reused == 4 + 1
    assert untimed(result.tables) == untimed(run_experiment(request).tables)
    assert sum(len(table.rows) for table in result.tables) == stopped[0]


def untimed(tables: list[Any]) -> bytes:
    rows = [msgspec.structs.replace(row, runs=[msgspec.structs.replace(run, seconds=0.0) for run in row.runs])
            for table in tables for row in table.rows]  # fmt: skip
    return msgspec.json.encode(rows)


@pytest.mark.slow
def test_a_cluster_compares_as_one_process_and_goes_on_where_its_scheduler_died(
    tmp_path: Path, alone: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    store = Store(tmp_path / "evidence.sqlite")
    with running(tmp_path) as started:
        cluster = Cluster(started.address)
        assert found(compare(REQUEST, backend=Backend(cluster=cluster))) == alone
        with at_block(cluster, 8, started.workers[0].kill):
            assert found(compare(REQUEST, backend=Backend(cluster=cluster))) == alone
        backend = Backend(store, cluster)
        with at_block(cluster, 14, started.scheduler.kill):
            result = compare(REQUEST, backend=backend)
        assert result.interrupted
        assert backend.words() == [
            f"the run on the cluster at {started.address} ended early: the scheduler is gone"
        ]
        cluster.close()
    after = Backend(store)
    assert found(compare(REQUEST, backend=after)) == alone
    assert after.reused >= result.done * PIECES // REQUEST.seeds
