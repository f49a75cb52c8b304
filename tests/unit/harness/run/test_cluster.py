"""A cluster finds what one process finds; what is wrong with it is said in a line, and nothing decided is lost."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dpverify.cli import main
from dpverify.harness.run import cluster as module
from dpverify.harness.run.backend import Backend
from dpverify.harness.run.cluster import (
    Cluster,
    ClusterError,
    difference,
    fingerprint,
    run_on_worker,
)
from dpverify.harness.run.runner import verify
from dpverify.harness.run.store import Store
from dpverify.harness.run.task_pool import Outcomes
from dpverify.harness.run.tasks import Task
from dpverify.kernels.check import ArgumentError
from dpverify.ledger import Specs
from dpverify.ledger.results import INTERRUPTED, Run
from tests.for_each import for_each
from tests.unit.harness.run.test_runner import SOURCE, without_times

distributed = pytest.importorskip(
    "distributed", reason="the extra cluster is not installed"
)
ROOT = Path(__file__).parents[4]
DASK = [sys.executable, "-m", "dask"]


class Running:
    """A scheduler and its workers, as a user starts them: processes of one thread."""

    def __init__(
        self, folder: Path, workers: int = 2, environment: dict[str, str] | None = None
    ) -> None:
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            **(environment or {}),
        }
        self._file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler",
            "--port",
            "0",
            "--dashboard-address",
            "127.0.0.1:0",
            "--idle-timeout",
            "600s",
        )
        while not (self._file.exists() and self._file.read_text("utf-8").endswith("}")):
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address: str = msgspec.json.decode(self._file.read_bytes())["address"]
        self.workers = [self.start_worker() for _ in range(workers)]

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            "worker",
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--death-timeout",  # also if the process of this test is killed
            "60",
            "--dashboard-address",
            ":0",
        )

    def _start(self, kind: str, *more: str) -> subprocess.Popen[bytes]:
        command = [
            *DASK,
            kind,
            "--scheduler-file",
            str(self._file),
            "--host",
            "127.0.0.1",
            *more,
        ]
        out = subprocess.DEVNULL
        return subprocess.Popen(
            command,
            cwd=self._file.parent,
            env=self._environment,
            stdout=out,
            stderr=out,
        )

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@contextmanager
def running(
    folder: Path, workers: int = 2, environment: dict[str, str] | None = None
) -> Iterator[Running]:
    started = Running(folder, workers, environment)
    try:
        yield started
    finally:
        started.stop()


@contextmanager
def at_block(
    cluster: Cluster, number: int, *actions: Callable[[], object]
) -> Iterator[None]:
    """Do something just before so many blocks have been sent."""
    sent, submit = [], cluster._client.submit

    def counted(*args: Any, **kwargs: Any) -> Any:
        sent.append(args)
        if len(sent) == number:
            for action in actions:
                action()
        return submit(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster._client, "submit", counted)
        yield
    assert len(sent) >= number


def judged(
    demo: Specs, cluster: Cluster | None, load: str = "load", store: Store | None = None
) -> Run:
    return verify(demo, source=SOURCE + load, cluster=cluster, store=store)


@pytest.mark.slow
def test_a_cluster_finds_what_one_process_finds_also_where_a_worker_is_killed_in_the_middle(
    demo: Specs, tmp_path: Path
) -> None:
    alone = without_times(judged(demo, None))
    with running(tmp_path) as started:
        cluster = Cluster(started.address)
        assert without_times(judged(demo, cluster)) == alone
        with at_block(cluster, 5, started.workers[0].kill):
            assert without_times(judged(demo, cluster)) == alone
        with at_block(
            cluster,
            5,
            lambda: started.workers.append(started.start_worker()),
            started.workers[1].kill,
        ):
            assert without_times(judged(demo, cluster)) == alone
        assert not cluster.failure
        cluster.close()


@pytest.mark.slow
def test_where_the_scheduler_goes_what_was_decided_is_kept_and_a_later_run_goes_on(
    demo: Specs, tmp_path: Path
) -> None:
    store = Store(tmp_path / "evidence.sqlite")
    with running(tmp_path, 1) as started:
        cluster = Cluster(started.address)
        with at_block(cluster, 4, started.scheduler.kill):
            run = judged(demo, cluster, store=store)
        assert run.run.interrupted
        assert (
            cluster.failure
            == f"the run on the cluster at {started.address} ended early: the scheduler is gone"
        )
        assert any(
            check.message == INTERRUPTED
            for result in run.results
            for check in result.checks
        )
        cluster.close()
    after = judged(demo, None, store=store)
    assert not after.run.interrupted
    info = msgspec.structs.replace(after.run, from_store=0)
    assert without_times(msgspec.structs.replace(after, run=info)) == without_times(
        judged(demo, None)
    )


@pytest.mark.slow
def test_a_worker_that_is_stopped_costs_time_only_and_where_none_is_left_the_run_ends(
    demo: Specs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(
        tmp_path, 2, {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8s"}
    ) as started:
        cluster = Cluster(started.address)
        with at_block(
            cluster, 5, lambda: started.workers[0].send_signal(signal.SIGSTOP)
        ):
            assert without_times(judged(demo, cluster)) == without_times(
                judged(demo, None)
            )
        short = partial(monkeypatch.setattr, module, "WORKER_SECONDS", 1.0)
        with at_block(
            cluster, 1, lambda: started.workers[1].send_signal(signal.SIGSTOP), short
        ):
            run = judged(demo, cluster)
        assert run.run.interrupted
        assert cluster.failure.endswith("ended early: it has had no worker for 1 s")
        cluster.close()


@pytest.mark.slow
def test_a_scheduler_that_is_stopped_ends_the_run_with_what_was_decided(
    demo: Specs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = partial(monkeypatch.setattr, module, "ANSWER_SECONDS", 2.0)
    with running(tmp_path, 1) as started:
        cluster = Cluster(started.address)
        with at_block(
            cluster, 4, lambda: started.scheduler.send_signal(signal.SIGSTOP), short
        ):
            run = judged(demo, cluster)
        assert run.run.interrupted
        assert cluster.failure.endswith(
            "ended early: the scheduler has not answered for 2 s"
        )
        cluster.close()


@pytest.mark.slow
def test_a_worker_that_is_stopped_at_the_beginning_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, 1) as started:
        Cluster(started.address).close()
        started.workers[0].send_signal(signal.SIGSTOP)
        monkeypatch.setattr(module, "WORKER_SECONDS", 1.0)
        with pytest.raises(ClusterError, match="cannot be used: TimeoutError"):
            Cluster(started.address)


@pytest.mark.slow
def test_workers_with_other_code_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = {**fingerprint(), "numpy": "1.0"}
    with running(tmp_path, 1) as started:
        monkeypatch.setattr(module, "fingerprint", lambda: other)
        assert (
            main(["verify", "tran2022:proposition-13", "--cluster", started.address])
            == 2
        )
    (line,) = capsys.readouterr().err.splitlines()
    assert "all workers must run the same code" in line
    assert f"numpy {fingerprint()['numpy']} for 1.0" in line


@for_each(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:9", "Timed out"),
        ("nowhere", "missing port"),
        ("tls://127.0.0.1:9", "TLS configuration"),
    ],
)
def test_an_address_without_a_scheduler_is_refused_in_one_line(
    address: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.3)
    assert main(["verify", "tran2022:proposition-13", "--cluster", address]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"no scheduler of Dask answers at {address}" in line
    assert said in line
    # Dask gives it a level of its own
    assert not logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)


def test_what_answers_and_is_no_scheduler_is_waited_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.01)
    over = Event()
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: over.wait())
    with pytest.raises(
        ClusterError, match="something is there, but it does not answer as Dask does"
    ):
        Cluster("tcp://127.0.0.1:80")
    over.set()


def test_processes_here_are_not_asked_for_beside_a_cluster(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verify", "--jobs", "2", "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "must not be given with --cluster" in capsys.readouterr().err


def test_without_dask_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install -e '\.\[cluster\]'"):
        Cluster("tcp://127.0.0.1:9")


def test_what_differs_is_named() -> None:
    assert difference(fingerprint()) == ""
    own = fingerprint()["code"]
    assert difference({**fingerprint(), "code": "0"}) == f"code {own} for 0"
    without = {
        name: version for name, version in fingerprint().items() if name != "scipy"
    }
    assert difference(without) == f"scipy {fingerprint()['scipy']} for none"
    assert difference({**fingerprint(), "torch": "2.0"}) == "torch missing for 2.0"


def test_a_worker_that_comes_later_with_other_code_runs_nothing() -> None:
    with pytest.raises(
        ClusterError,
        match=r"all workers must run the same code: a worker has code .* for 0",
    ):
        run_on_worker(pickle.dumps([Threads()]), (0, 0), {**fingerprint(), "code": "0"})


class Threads:
    """Work whose blocks say how many threads the libraries for matrices may use."""

    def run(self, block: int) -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info()}


def test_a_block_on_a_worker_has_one_thread() -> None:
    """The last digit of a product of matrices depends on it."""
    np.linalg.inv(np.eye(2))
    with threadpool_limits(2):
        assert Threads().run(0) == {2}
        outcome = run_on_worker(pickle.dumps([Threads()]), (0, 0), fingerprint())
    assert (outcome.part, outcome.error) == ({1}, "")


@dataclass(frozen=True)
class Numbered:
    """Work whose blocks give its own number."""

    number: int

    def run(self, block: int) -> int:
        return self.number + block


def test_a_worker_does_the_work_of_each_run_and_not_that_of_the_one_before() -> None:
    found = [
        run_on_worker(pickle.dumps([Numbered(n)]), (0, 1), fingerprint()).part
        for n in (10, 20, 10)
    ]
    assert found == [11, 21, 11]


def test_the_code_of_a_worker_is_that_of_all_files_and_of_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    file, found = tmp_path / "folder" / "a.py", set[str]()
    file.parent.mkdir()
    for text in ("x = 1", "x = 2"):
        file.write_text(text)
        found.add(fingerprint.__wrapped__()["code"])
    file.rename(file.with_name("b.py"))
    found.add(fingerprint.__wrapped__()["code"])
    (tmp_path / "b.py").write_text("")
    found.add(fingerprint.__wrapped__()["code"])
    assert len(found) == 4


def test_a_block_whose_worker_went_as_it_was_done_is_not_waited_for_where_no_worker_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lost:
        status = "pending"

        def result(self, timeout: float) -> None:
            raise TimeoutError

    cluster = Cluster.__new__(Cluster)
    counts = chain([1], repeat(0))
    monkeypatch.setattr(module, "WORKER_SECONDS", 0.0)
    monkeypatch.setattr(cluster, "_count_workers", lambda: next(counts))
    with pytest.raises(ClusterError, match="it has had no worker for 0 s"):
        cluster._outcome(Lost())  # type: ignore[arg-type]  # what is asked of a future


def test_a_block_that_is_cancelled_because_the_scheduler_went_says_so() -> None:
    from distributed.client import FutureCancelledError

    class Cancelled:
        status = "pending"

        def result(self, timeout: float) -> None:
            raise FutureCancelledError(
                "run_on_worker-1", reason="scheduler-connection-lost"
            )

    with pytest.raises(ClusterError, match=module.GONE):
        Cluster.__new__(Cluster)._outcome(Cancelled())  # type: ignore[arg-type]  # what is asked of a future


@dataclass(frozen=True)
class Endless:
    """Work whose blocks never return."""

    label: str = "a mechanism"

    def run(self, block: int) -> None:
        while True:
            time.sleep(1.0)


class OneWorker:
    """Stands for a cluster: runs blocks as its worker would."""

    address = "tcp://127.0.0.1:1"
    failure = ""

    def outcomes(self, jobs: list[Any], tasks: deque[Task], limit: float) -> Outcomes:
        for task in tasks:
            yield task, run_on_worker(pickle.dumps(jobs), task, fingerprint(), limit)


def test_a_block_of_a_command_in_pieces_that_does_not_return_is_named_after_its_limit() -> (
    None
):
    backend = Backend(cluster=OneWorker(), limit=0.5)  # type: ignore[arg-type]  # as much of a cluster as is used
    with pytest.raises(
        ArgumentError, match=r"must run each block of a mechanism within 0\.5 s"
    ):
        list(backend.outcomes(Endless(), 2))  # type: ignore[arg-type]  # nothing is kept of it


def test_a_limit_of_a_comparison_needs_a_cluster(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["compare", "--timeout", "5"]) == 2
    assert "--timeout 5.0: must be given with --cluster" in capsys.readouterr().err
