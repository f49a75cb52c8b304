"""Measure cases in a fresh process: other addresses, nothing warm, and a crash costs one case alone."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection

from dpverify.bench.case import BenchCase
from dpverify.bench.measure import Measured, measure_case

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Libraries of linear algebra are measured on one thread, like all else unless a case says otherwise. Whole commands
are not told: they run as they do from a prompt."""

PATIENCE = 10.0  # seconds that a process has to end after Ctrl-C


def measure_afresh(cases: Sequence[BenchCase], *, seed: int, rounds: int, turn: int) -> Generator[Measured, None, None]:
    """Measure cases in a fresh process, in their order; if it dies, a new one does those after the one that failed."""
    left = list(cases)
    while left:
        context = get_context("spawn")
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(there, tuple(left), seed, rounds, turn))
        process.start()
        there.close()
        try:
            while left:
                found: Measured = here.recv()
                left.pop(0)
                yield found
            process.join()
        except EOFError:
            process.join()
            left.pop(0)
            yield Measured(error=f"the process that measured it ended with exit code {process.exitcode}")
        finally:
            for how in (signal.SIGINT, signal.SIGKILL):  # Ctrl-C first, so that it ends the commands that it runs
                if process.pid is not None and process.is_alive():
                    os.kill(process.pid, how)
                    process.join(PATIENCE)
            here.close()


def _answer(connection: Connection, cases: Sequence[BenchCase], seed: int, rounds: int, turn: int) -> None:
    """Runs in the process: one message a case. Whatever cases print is thrown away."""
    os.environ.update(ONE_THREAD)  # before anything loads numpy
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123  a device
        for stream in (1, 2):
            os.dup2(nothing.fileno(), stream)
    try:
        for case in cases:
            try:
                found = measure_case(case, seed=seed, rounds=rounds, turn=turn)
            except Exception as error:  # noqa: BLE001  whatever a case raises is that case's failure, not the run's
                found = Measured(error=f"{type(error).__name__}: {' '.join(str(error).split())}"[:500])
            connection.send(found)
    except KeyboardInterrupt:
        sys.exit(130)
