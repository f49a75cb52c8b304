"""Run blocks of checks on the workers of a Dask cluster, with the same results, bit for bit, as in one process.

The random numbers of a block depend only on its job and its number, so that neither the worker nor the order changes a
result. If a worker dies, Dask gives its blocks to another worker. A block that has killed four workers counts as an
error of its check. Dask considers a stopped worker dead after its ``worker-ttl`` (5 minutes). If the scheduler does not
answer, or no worker is left, the run ends early after a minute. A worker whose code or libraries differ from ours is
refused, because its results might differ.
"""

from __future__ import annotations

import hashlib
import logging
import math
import pickle
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.manifest import versions
from dpverify.harness.run.task_pool import DIED, PER_WORKER, Outcomes, run_limited
from dpverify.harness.run.tasks import Runnable, Task, describe, run_task

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS = 10.0  # limit for the first answer of the scheduler
WORKER_SECONDS = 60.0  # limit for the first worker, and for the answers of all workers
ANSWER_SECONDS = 60.0  # limit for an answer of the scheduler during the work
POLL_SECONDS = 1.0
GONE = "the scheduler is gone"
PACKAGE = Path(__file__).parents[2]
_ALONE = Lock()  # a worker may have several threads; the algebra runs in one at a time


class ClusterError(ValueError):
    """The cluster cannot be reached or cannot be used to judge claims. The message is one line."""


class Cluster:
    """A running Dask cluster, given by the address of its scheduler. It continues to run after the run of checks.

    ``failure``: why a run ended early, or "".
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.failure = ""
        self._client = _client_at(address)
        try:
            self._client.wait_for_workers(1, timeout=WORKER_SECONDS)
            # Client.run would wait forever for a stopped worker
            ask = self._client._run
            differences = self._client.sync(
                ask, difference, fingerprint(), callback_timeout=WORKER_SECONDS
            )
        except Exception as error:  # noqa: BLE001  whatever a worker without our code raises
            self._client.close()
            raise ClusterError(
                f"the workers of {address} cannot be used: {describe(error)}"
            ) from None
        if wrong := [
            f"worker {worker} has {mismatch}"
            for worker, mismatch in differences.items()
            if mismatch
        ]:
            self._client.close()
            raise ClusterError(
                f"all workers must run the same code: {'; '.join(wrong)}"
            )

    def __reduce__(self) -> tuple[type[Cluster], tuple[str]]:
        return Cluster, (self.address,)  # another process opens a new connection

    def outcomes(
        self, jobs: Sequence[Runnable], tasks: deque[Task], limit: float = 0.0
    ) -> Outcomes:
        """Run tasks on all workers, including later ones, until all tasks are done or the scheduler is lost.

        ``limit``: time limit of a task in seconds. With a limit, a worker runs each
        task in a separate process, which is terminated at the limit.

        The jobs are sent to the scheduler once, together, and from there once to each worker. Two numbers identify a
        block.
        """
        under_way: dict[Future[BlockOutcome], Task] = {}
        ended: SimpleQueue[Future[BlockOutcome]] = SimpleQueue()
        from dask import config

        # Largest number of blocks under way, and time of the last count of workers, for
        # which the scheduler must be asked.
        capacity = 0
        counted_at = -math.inf
        manned = time.monotonic()  # last time at which there was a worker
        with (
            self._watched(under_way),
            config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}),
        ):
            # a task like the others, so that it is repeated if its worker dies
            held = self._client.submit(bytes, pickle.dumps(jobs), pure=False)
            while tasks or under_way:
                if time.monotonic() - counted_at > POLL_SECONDS:
                    count = self._count_workers()
                    counted_at = time.monotonic()
                    capacity = PER_WORKER * max(1, count)
                    manned = counted_at if count else manned
                    if counted_at - manned > WORKER_SECONDS:
                        raise _no_worker()
                while tasks and len(under_way) < capacity:
                    task = tasks.popleft()
                    sent = self._client.submit(
                        run_on_worker, held, task, fingerprint(), limit, pure=False
                    )
                    under_way[sent] = task
                    sent.add_done_callback(ended.put)
                with suppress(Empty):
                    future = ended.get(timeout=POLL_SECONDS)
                    yield under_way.pop(future), self._outcome(future)
                if self._client.status != "running":
                    raise ClusterError(GONE)

    def close(self) -> None:
        """Leave the cluster."""
        self._client.close()

    def _count_workers(self) -> int:
        """Return the number of workers. Client.scheduler_info would wait forever for a stopped scheduler."""
        if (scheduler := self._client.scheduler) is None:
            raise ClusterError(GONE)
        try:
            return len(
                self._client.sync(
                    scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS
                )["workers"]
            )
        except TimeoutError:
            raise ClusterError(
                f"the scheduler has not answered for {ANSWER_SECONDS:.0f} s"
            ) from None

    def _outcome(self, future: Future[BlockOutcome]) -> BlockOutcome:
        """Return the outcome of a block, which is an error of ours if its worker died."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        manned = time.monotonic()
        # pending again if its worker was lost
        while future.status in {"finished", "pending"}:
            try:
                outcome: BlockOutcome = future.result(
                    timeout=min(ANSWER_SECONDS, WORKER_SECONDS)
                )
            except (
                KilledWorker,
                ClusterError,
                FutureCancelledError,
            ):  # cancelled if the scheduler is lost meanwhile
                break
            except TimeoutError:  # a block of a stopped worker is repeated once that worker counts as dead
                manned = time.monotonic() if self._count_workers() else manned
                if time.monotonic() - manned > WORKER_SECONDS:
                    raise _no_worker() from None
            else:
                return outcome
        if future.status != "error":
            raise ClusterError(GONE)
        error = future.exception()
        if isinstance(error, ClusterError):
            raise error
        return BlockOutcome(
            None, 0.0, DIED if isinstance(error, KilledWorker) else describe(error)
        )

    @contextmanager
    def _watched(self, under_way: dict[Future[BlockOutcome], Task]) -> Iterator[None]:
        """Record why the scheduler was lost. If the run ends for another reason, cancel the blocks under way."""
        try:
            yield
        except (ClusterError, OSError) as error:
            # the connection broke during a request
            why = GONE if isinstance(error, OSError) else error
            self.failure = (
                f"the run on the cluster at {self.address} ended early: {why}"
            )
        finally:
            if under_way and not self.failure and self._client.status == "running":
                # Client.cancel would wait forever for a stopped scheduler
                with suppress(TimeoutError):
                    futures = list(under_way)
                    self._client.sync(
                        self._client._cancel,
                        futures,
                        None,
                        None,
                        callback_timeout=CONNECT_SECONDS,
                    )


def _no_worker() -> ClusterError:
    return ClusterError(f"it has had no worker for {WORKER_SECONDS:.0f} s")


def _client_at(address: str) -> Client:
    """Connect in a thread, because Dask would wait forever for an answer of a server that is not a scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "a cluster needs Dask, the extra `cluster`: pip install -e '.[cluster]' in a checkout"
        ) from None
    for name in [
        name
        for name in logging.root.manager.loggerDict
        if name.partition(".")[0] == "distributed"
    ]:
        # our error reports the same in one line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    answered: SimpleQueue[Client | Exception] = SimpleQueue()

    def connect() -> None:
        try:
            answered.put(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
        except Exception as error:  # noqa: BLE001  Dask raises a TypeError where TLS is not set up, among others
            answered.put(error)

    Thread(target=connect, daemon=True).start()
    answer: Client | Exception = TimeoutError(
        "something is there, but it does not answer as Dask does"
    )
    with suppress(Empty):
        answer = answered.get(timeout=2 * CONNECT_SECONDS)
    if isinstance(answer, Exception):
        raise ClusterError(
            f"no scheduler of Dask answers at {address} ({' '.join(str(answer).split())})"
        ) from None
    return answer


def run_on_worker(
    held: bytes, task: Task, expected: dict[str, str], limit: float = 0.0
) -> BlockOutcome:
    """Run a block of the jobs that a worker stores. A worker process runs one block at a time."""
    if mismatch := difference(expected):
        raise ClusterError(
            f"all workers must run the same code: a worker has {mismatch}"
        )
    with _ALONE, threadpool_limits(1):
        try:
            jobs = _jobs_of(held)
        except Exception as error:
            raise ClusterError(
                f"a worker cannot load the work: {describe(error)}"
            ) from error
        return (
            run_limited(jobs, task, limit)
            if limit > 0.0
            else run_task(jobs[task[0]], task[1])
        )


@lru_cache(maxsize=1)
def _jobs_of(held: bytes) -> Sequence[Runnable]:
    jobs: Sequence[Runnable] = pickle.loads(held)
    return jobs


def difference(expected: dict[str, str]) -> str:
    """Describe the differences between this process's fingerprint and the expected one, or return ""."""
    local = fingerprint()
    differ = [
        name
        for name in sorted(expected | local)
        if expected.get(name) != local.get(name)
    ]
    return ", ".join(
        f"{name} {local.get(name, 'missing')} for {expected.get(name, 'none')}"
        for name in differ
    )


@cache
def fingerprint() -> dict[str, str]:
    """Return the versions that results depend on: of Python and the libraries, and a digest of our code."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(
            f"{path.relative_to(PACKAGE).as_posix()}\0".encode() + path.read_bytes()
        )
    return {**versions(), "code": digest.hexdigest()[:16]}
