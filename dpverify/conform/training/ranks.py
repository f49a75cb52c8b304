"""Test a training on several ranks: local processes of one torch.distributed group with gloo."""

from __future__ import annotations

import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from dpverify.conform.guard import failed_call_test
from dpverify.conform.promise import Promise
from dpverify.conform.records import ConformanceTest
from dpverify.conform.training.run import training_tests
from dpverify.conform.training.runs import TRAINING, LocalRuns, Training, TrainingData
from dpverify.foreign import ForeignError, error_text, foreign_code
from dpverify.processes import (
    SAFE_PATH,
    START_SECONDS,
    ProcessStartError,
    begin,
    end_group,
    own_group,
    starting,
)

ROUNDING = 1e-5  # relative to the promised deviation
EXIT_SECONDS = 1.0  # seconds in which a process must end after it closes its connection
HOST = "127.0.0.1"

Load = Callable[[], Training]


def training_tests_on_ranks(
    load: Load,
    promise: Promise,
    ranks: int,
    limit: float,
    seed: int,
    alpha: float,
    count: int,
) -> Iterator[ConformanceTest]:
    """Yield all tests of a training on ranks, and the test whether the ranks agree.

    ``load`` must be picklable; each process calls it to get the training. ``limit`` is the time limit of one run in
    seconds, 0 for no limit.
    """
    try:
        with RankedRuns(load, promise, ranks, limit) as runs:
            yield from training_tests(runs, promise, seed, alpha, count)
            yield runs.agreement_test()
    except ForeignError as error:
        yield failed_call_test("this training", error)


class RankedRuns:
    """Processes that run a training together, repeatedly; the updates are those of rank 0."""

    def __init__(self, load: Load, promise: Promise, ranks: int, limit: float) -> None:
        self._ranks = ranks
        self._limit = limit if limit > 0 else None
        self._promise = promise
        self._load = pickle.dumps(load)
        self._folder = tempfile.TemporaryDirectory(prefix="dpverify-")
        self._processes: list[Any] = []
        self._pipes: list[Connection] = []
        self._run_count = 0
        self._largest_difference = 0.0
        self._count_mismatch = ""

    def __enter__(self) -> RankedRuns:
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        try:
            for rank in range(self._ranks):
                parent_pipe, child_pipe = context.Pipe()
                store = str(Path(self._folder.name) / "store")
                arguments = (
                    child_pipe,
                    rank,
                    self._ranks,
                    store,
                    self._load,
                    self._promise,
                )
                with starting():
                    process = context.Process(
                        target=begin,
                        args=(os.environ.get(SAFE_PATH), _serve, arguments),
                    )
                    process.start()
                child_pipe.close()
                self._processes.append(process)
                self._pipes.append(parent_pipe)
            self._answers(START_SECONDS)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            end_group(process)
            process.join()
        for pipe in self._pipes:
            pipe.close()
        self._processes = []
        self._pipes = []
        self._folder.cleanup()

    def updates(self, data: TrainingData, seed: int) -> Any:
        """Run the training on all ranks with the same data and the same seed; return the updates of rank 0."""
        for pipe in self._pipes:
            pipe.send((data, seed))
        answers = self._answers(self._limit)
        counts = [len(answer) for answer in answers]
        steps = min(counts)
        self._run_count += 1
        if len(set(counts)) > 1:
            self._count_mismatch = (
                self._count_mismatch
                or f"{' and '.join(map(str, counts))} updates in one run"
            )
        for answer in answers[1:]:
            differences = np.abs(answer[:steps] - answers[0][:steps])
            self._largest_difference = max(
                self._largest_difference, float(np.max(differences, initial=0.0))
            )
        return answers[0]

    def _answers(self, limit: float | None) -> list[Any]:
        """Return the answer of each rank; raise if a rank raises, ends or does not answer in time."""
        answers: dict[int, Any] = {}
        start_time = time.monotonic()
        while len(answers) < self._ranks:
            waiting_pipes = [
                pipe for rank, pipe in enumerate(self._pipes) if rank not in answers
            ]
            seconds = (
                None
                if limit is None
                else max(0.0, start_time + limit - time.monotonic())
            )
            ready_pipes = wait(waiting_pipes, seconds)
            if not ready_pipes:
                ranks = ", ".join(
                    str(rank) for rank in range(self._ranks) if rank not in answers
                )
                if not self._run_count and limit == START_SECONDS:
                    raise ProcessStartError(
                        f"rank {ranks} did not start within {limit:g} s"
                    )
                raise ForeignError(
                    f"{TRAINING} on rank {ranks}", f"did not return within {limit:g} s"
                )
            for pipe in ready_pipes:
                rank = self._pipes.index(pipe)  # type: ignore[arg-type]  # wait returns what it was given
                try:
                    answers[rank] = self._answer(rank)
                except ForeignError as error:
                    raise self._cause(rank, error) from None
        return [answers[rank] for rank in range(self._ranks)]

    def _answer(self, rank: int) -> Any:
        try:
            kind, value = self._pipes[rank].recv()
        except (EOFError, OSError):
            self._processes[rank].join(EXIT_SECONDS)
            raise self._exit_error(rank) from None
        if kind == "error":
            raise ForeignError(f"{TRAINING} on rank {rank}", value)
        return value

    def _exit_error(self, rank: int) -> ForeignError:
        reason = f"ended its process with exit code {self._processes[rank].exitcode}"
        return ForeignError(f"{TRAINING} on rank {rank}", reason)

    def _cause(self, rank: int, error: ForeignError) -> ForeignError:
        """Return the error of ``rank`` or, if another rank has ended and thus caused it, the error that it ended."""
        other_ranks = {
            process.sentinel: number
            for number, process in enumerate(self._processes)
            if number != rank
        }
        exits = (
            wait([*other_ranks], EXIT_SECONDS)
            if self._processes[rank].is_alive()
            else []
        )
        return (
            self._exit_error(min(other_ranks[sentinel] for sentinel in exits))
            if exits
            else error
        )

    def agreement_test(self) -> ConformanceTest:
        """Test whether all ranks release the same updates."""
        relative = self._largest_difference / self._promise.deviation
        finding = f"updates of {self._ranks} ranks differ by at most {relative:.3g} promised deviations"
        if self._count_mismatch:
            finding += f"; the ranks yield {self._count_mismatch}"
        sees = f"ranks whose updates differ by more than {ROUNDING:g} promised deviations, or in number"
        return ConformanceTest(
            "ranks", relative <= ROUNDING and not self._count_mismatch, finding, sees
        )


def _serve(
    pipe: Connection, rank: int, ranks: int, store: str, load: bytes, promise: Promise
) -> None:
    """Join the group, load the training, and answer requests until the parent closes the pipe."""
    own_group()
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR=HOST
    )
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    try:
        from dpverify.problems.networks.oracle import load_torch

        torch = load_torch()
        torch.set_num_threads(1)
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks
        )
        with foreign_code("import"):
            training = pickle.loads(load)()
    except Exception as error:  # noqa: BLE001  the parent raises it
        pipe.send(
            (
                "error",
                error.reason
                if isinstance(error, ForeignError)
                else f"raised {error_text(error)}",
            )
        )
        return
    pipe.send(("ready", None))
    runs = LocalRuns(training, promise)
    while True:
        try:
            data, seed = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(("updates", runs.updates(data, seed)))
        except ForeignError as error:
            pipe.send(("error", error.reason))
