"""One block of one check as a task that any process can run: the check is found by its name."""

from __future__ import annotations

import signal
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import scipy.linalg  # noqa: F401  loads scipy's own BLAS, so that the limit below reaches it
from threadpoolctl import threadpool_limits

from dpverify.foreign import is_interrupt, keep_originals, message_of, replacements
from dpverify.harness.checks import Check, Context
from dpverify.harness.finished import BlockOutcome
from dpverify.harness.run.sources import find_check
from dpverify.kernels.numba_internals import seconds_compiling
from dpverify.processes import end_copies, own_group, unspooled
from dpverify.symbolic.exact.numbers import working_precision

OF = " of "  # between a stage of a check and the check's label, where foreign code is named
BITS = 53  # of balls where a check does not say how many: those of a float

Task = tuple[int, int]  # number of the job, number of the block


class Runnable(Protocol):
    """Work in blocks, which do not depend on each other or on where they run; it can be pickled."""

    def run(self, block: int) -> Any:
        """Run a block; what it gives."""


@dataclass(frozen=True)
class Job:
    """A check to run on a statement."""

    source: str  # where the paper's checks are found, as sources.py says
    paper: str  # the paper's key, the claim's id without it, the check's name
    claim: str
    check: str
    context: Context  # what the check runs on
    rank: int = 0  # those with a smaller one are run first

    def find(self) -> Check:
        """Find the check."""
        return find_check(self.source, self.paper, self.claim, self.check)

    def run(self, block: int) -> Any:
        """Run a block of the check; its part."""
        return self.find().run_block(self.context, block)

    @property
    def parts(self) -> tuple[type, ...]:
        """The types, besides plain ones, of what its blocks give."""
        return self.find().parts

    @property
    def asked(self) -> str:
        """What a store of blocks keeps its blocks under."""
        return f"{self.label} {self.context.budget.name} {self.context.seed}"

    @property
    def terms(self) -> tuple[str, ...]:
        """What else its blocks depend on, besides the evidence: what they take from a recorded run, too."""
        return repr(self.context.share), repr(self.context.budget), *self.context.taken

    @property
    def due(self) -> bool:
        """Whether the check runs in this budget."""
        return self.context.budget.reaches(self.find().least_budget)

    @property
    def label(self) -> str:
        """Name for people: as in pytest."""
        statement = self.context.statement
        return item_id(statement.key, statement.reading, statement.variant, self.check)


def item_id(key: str, reading: dict[str, str], variant: str, check: str) -> str:
    """Name of a check of a claim: ``tran2022:lemma-12[ordering=fresh|printed|noise-law]``."""
    chosen = ",".join(f"{name}={choice}" for name, choice in reading.items())
    return f"{key}[{'|'.join(filter(None, [chosen, variant, check]))}]"


_jobs: list[Job] = []  # the jobs of this worker process


def run_task(job: Runnable, block: int) -> BlockOutcome:
    """Run one block; an exception becomes an error text, because one check must not take the others down.

    It begins with one precision of balls, whatever was done before in this process, on which nothing may hang.
    """
    start = time.perf_counter()
    before = seconds_compiling()
    part = None
    wrong = ""
    try:
        with working_precision(BITS):
            part = job.run(block)
    except BaseException as error:  # whatever a paper's code raises is reported as this check's error
        if is_interrupt(error):
            raise
        wrong = describe(error)
    wrong = replacements() or wrong
    return BlockOutcome(part, time.perf_counter() - start, wrong, seconds_compiling() - before)


def run_in_worker(place: int, block: int) -> BlockOutcome:
    """Run one block of a job of this worker process."""
    outcome = run_task(_jobs[place], block)
    end_copies()
    return outcome


def describe(error: BaseException) -> str:
    """Write an exception in one line, with the function and line that raised it and no path. Type, text and place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (in {frames[-1].name}, {Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {message_of(error)}{place}"


def prepare_worker(file: str | None = None, *, foreign: bool = False) -> None:
    """Set up a worker process: Ctrl-C is the parent's business, and linear algebra has one thread.

    ``file``: holds the jobs, as `spooled` writes them. ``foreign``: the code is foreign, and what it starts is to end
    with this process.
    """
    if foreign:
        own_group()
        keep_originals()
    _jobs[:] = [] if file is None else unspooled(file)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
