"""Blocks of checks on the workers of a Dask cluster: the same results, bit for bit, as in one process.

What a block draws follows from its job and its number, so that neither where it runs nor in which order changes what is
found. Where a worker dies, Dask gives its blocks to another one; a block that has taken four workers with it is said to
be an error of its check. One that is stopped, and says nothing, is dead to Dask after its ``worker-ttl`` (5 minutes);
where the scheduler says nothing, or no worker is left, the run ends early after a minute. A worker whose code or
libraries differ from ours is refused: it might find something else.
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

CONNECT_SECONDS = 10.0  # until a scheduler must have answered
WORKER_SECONDS = 60.0  # until it must have a worker, and until all workers must have answered
ANSWER_SECONDS = 60.0  # until the scheduler must have answered while the work runs
POLL_SECONDS = 1.0
GONE = "the scheduler is gone"
PACKAGE = Path(__file__).parents[2]
_ALONE = Lock()  # a worker may have several threads; the algebra has one


class ClusterError(ValueError):
    """The cluster cannot be reached, or is not one that may judge; the message is one line."""


class Cluster:
    """A running Dask cluster, by the address of its scheduler; it stays as it is when the run ends.

    ``failure`` says why a run ended before all was decided; empty where it did not.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.failure = ""
        self._client = _client_at(address)
        try:
            self._client.wait_for_workers(1, timeout=WORKER_SECONDS)
            ask = self._client._run  # Client.run waits for ever where a worker is stopped
            differences = self._client.sync(ask, difference, fingerprint(), callback_timeout=WORKER_SECONDS)
        except Exception as error:  # noqa: BLE001  whatever a worker without our code raises
            self._client.close()
            raise ClusterError(f"the workers of {address} cannot be used: {describe(error)}") from None
        if wrong := [f"worker {worker} has {what}" for worker, what in differences.items() if what]:
            self._client.close()
            raise ClusterError(f"all workers must run the same code: {'; '.join(wrong)}")

    def __reduce__(self) -> tuple[type[Cluster], tuple[str]]:
        return Cluster, (self.address,)  # another process connects anew

    def outcomes(self, jobs: Sequence[Runnable], tasks: deque[Task], limit: float = 0.0) -> Outcomes:
        """Run tasks on all workers, those that join later too, until all are done or the scheduler is gone.

        ``limit``: seconds that a task may take; with it, a worker runs tasks in a process of its own, which is ended.

        The jobs go to the scheduler once, together, and from there once to each worker; a block is its two numbers.
        """
        under_way: dict[Future[BlockOutcome], Task] = {}
        ended: SimpleQueue[Future[BlockOutcome]] = SimpleQueue()
        from dask import config

        # blocks under way, and when the workers were counted: the scheduler has to be asked
        capacity = 0
        counted_at = -math.inf
        manned = time.monotonic()  # when there was a worker last
        with self._watched(under_way), config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            # a task like the others, so that it is done again where its worker dies
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
                    sent = self._client.submit(run_on_worker, held, task, fingerprint(), limit, pure=False)
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
        """Ask the scheduler; Client.scheduler_info would wait for ever where it is stopped."""
        if (scheduler := self._client.scheduler) is None:
            raise ClusterError(GONE)
        try:
            return len(self._client.sync(scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS)["workers"])
        except TimeoutError:
            raise ClusterError(f"the scheduler has not answered for {ANSWER_SECONDS:.0f} s") from None

    def _outcome(self, future: Future[BlockOutcome]) -> BlockOutcome:
        """What a block gave, an error of ours where its worker did not live to say."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        manned = time.monotonic()
        while future.status in {"finished", "pending"}:  # pending again where the worker that had it is gone
            try:
                outcome: BlockOutcome = future.result(timeout=min(ANSWER_SECONDS, WORKER_SECONDS))
            except (KilledWorker, ClusterError, FutureCancelledError):  # cancelled where the scheduler goes meanwhile
                break
            except TimeoutError:  # where its worker is stopped, it is done again as soon as that one counts as dead
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
        return BlockOutcome(None, 0.0, DIED if isinstance(error, KilledWorker) else describe(error))

    @contextmanager
    def _watched(self, under_way: dict[Future[BlockOutcome], Task]) -> Iterator[None]:
        """Keep why the scheduler was lost; take back what is under way where the run ends before it."""
        try:
            yield
        except (ClusterError, OSError) as error:
            why = GONE if isinstance(error, OSError) else error  # its connection broke while something was asked of it
            self.failure = f"the run on the cluster at {self.address} ended early: {why}"
        finally:
            if under_way and not self.failure and self._client.status == "running":
                with suppress(TimeoutError):  # Client.cancel waits for ever where the scheduler is stopped
                    futures = list(under_way)
                    self._client.sync(self._client._cancel, futures, None, None, callback_timeout=CONNECT_SECONDS)


def _no_worker() -> ClusterError:
    return ClusterError(f"it has had no worker for {WORKER_SECONDS:.0f} s")


def _client_at(address: str) -> Client:
    """Connect in a thread: where something answers that is no scheduler, Dask itself would wait for ever."""
    try:
        from distributed import Client
    except ImportError:
        raise ClusterError(
            "a cluster needs Dask, the extra `cluster`: pip install -e '.[cluster]' in a checkout"
        ) from None
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what they have to say, an error says in one line
    answered: SimpleQueue[Client | Exception] = SimpleQueue()

    def connect() -> None:
        try:
            answered.put(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
        except Exception as error:  # noqa: BLE001  Dask raises a TypeError where TLS is not set up, among others
            answered.put(error)

    Thread(target=connect, daemon=True).start()
    answer: Client | Exception = TimeoutError("something is there, but it does not answer as Dask does")
    with suppress(Empty):
        answer = answered.get(timeout=2 * CONNECT_SECONDS)
    if isinstance(answer, Exception):
        raise ClusterError(f"no scheduler of Dask answers at {address} ({' '.join(str(answer).split())})") from None
    return answer


def run_on_worker(held: bytes, task: Task, expected: dict[str, str], limit: float = 0.0) -> BlockOutcome:
    """Run a block of the jobs that are held in a worker's process, alone in it."""
    if what := difference(expected):
        raise ClusterError(f"all workers must run the same code: a worker has {what}")
    with _ALONE, threadpool_limits(1):
        try:
            jobs = _jobs_of(held)
        except Exception as error:
            raise ClusterError(f"a worker cannot load the work: {describe(error)}") from error
        return run_limited(jobs, task, limit) if limit > 0.0 else run_task(jobs[task[0]], task[1])


@lru_cache(maxsize=1)
def _jobs_of(held: bytes) -> Sequence[Runnable]:
    jobs: Sequence[Runnable] = pickle.loads(held)
    return jobs


def difference(expected: dict[str, str]) -> str:
    """What differs in this process from another one's fingerprint; empty where nothing does."""
    local = fingerprint()
    differ = [name for name in sorted(expected | local) if expected.get(name) != local.get(name)]
    return ", ".join(f"{name} {local.get(name, 'missing')} for {expected.get(name, 'none')}" for name in differ)


@cache
def fingerprint() -> dict[str, str]:
    """Versions of what results rest on: Python, the libraries, and our own code by its digest."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode() + path.read_bytes())
    return {**versions(), "code": digest.hexdigest()[:16]}
