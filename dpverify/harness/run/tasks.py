"""One block of one check as a task that any process can run, because the check is found by its name."""

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
from dpverify.processes import exit_forked_copies, own_group, read_spooled
from dpverify.symbolic.exact.numbers import working_precision

# separates a stage of a check from the check's label, in names of foreign code
STAGE_SEPARATOR = " of "
BITS = 53  # default precision of balls: that of a float

Task = tuple[int, int]  # number of the job, number of the block


class Runnable(Protocol):
    """Work in blocks that do not depend on each other or on where they run. It can be pickled."""

    def run(self, block: int) -> Any:
        """Run a block and return its part."""


@dataclass(frozen=True)
class Job:
    """A check to run on a statement."""

    source: str  # source of the paper's checks (see sources.py)
    paper: str  # key of the paper, id of the claim without the paper, name of the check
    claim: str
    check: str
    context: Context  # input of the check
    rank: int = 0  # jobs with a smaller rank run first

    def find(self) -> Check:
        """Find the check."""
        return find_check(self.source, self.paper, self.claim, self.check)

    def run(self, block: int) -> Any:
        """Run a block of the check and return its part."""
        return self.find().run_block(self.context, block)

    @property
    def parts(self) -> tuple[type, ...]:
        """The types, besides plain ones, in the parts of its blocks."""
        return self.find().parts

    @property
    def request_key(self) -> str:
        """Key of its blocks in the store."""
        return f"{self.label} {self.context.budget.name} {self.context.seed}"

    @property
    def terms(self) -> tuple[str, ...]:
        """Further inputs of its blocks besides the evidence, including reused results of a recorded run."""
        return (
            repr(self.context.share),
            repr(self.context.budget),
            *self.context.reusable_hashes,
        )

    @property
    def is_due(self) -> bool:
        """Whether the check runs in this budget."""
        return self.context.budget.reaches(self.find().least_budget)

    @property
    def label(self) -> str:
        """Name in messages, the same as in pytest."""
        statement = self.context.statement
        return item_id(statement.key, statement.reading, statement.variant, self.check)


def item_id(key: str, reading: dict[str, str], variant: str, check: str) -> str:
    """Return the name of a check of a claim: ``tran2022:lemma-12[ordering=fresh|printed|noise-law]``."""
    chosen = ",".join(f"{name}={choice}" for name, choice in reading.items())
    return f"{key}[{'|'.join(filter(None, [chosen, variant, check]))}]"


_jobs: list[Job] = []  # the jobs of this worker process


def run_task(job: Runnable, block: int) -> BlockOutcome:
    """Run one block. An exception becomes an error text, because one check must not stop the other checks.

    The precision of balls is set first, so that no result depends on earlier work of this process.
    """
    start = time.perf_counter()
    before = seconds_compiling()
    part = None
    wrong = ""
    try:
        with working_precision(BITS):
            part = job.run(block)
    except (
        BaseException
    ) as error:  # an exception of a paper's code is reported as an error of this check
        if is_interrupt(error):
            raise
        wrong = describe(error)
    wrong = replacements() or wrong
    return BlockOutcome(
        part, time.perf_counter() - start, wrong, seconds_compiling() - before
    )


def run_in_worker(place: int, block: int) -> BlockOutcome:
    """Run one block of a job of this worker process."""
    outcome = run_task(_jobs[place], block)
    exit_forked_copies()
    return outcome


def describe(error: BaseException) -> str:
    """Describe an exception in one line: type, text, and the function and line that raised it, without a path."""
    frames = traceback.extract_tb(error.__traceback__)
    place = (
        f" (in {frames[-1].name}, {Path(frames[-1].filename).name}:{frames[-1].lineno})"
        if frames
        else ""
    )
    return f"{type(error).__name__}: {message_of(error)}{place}"


def prepare_worker(file: str | None = None, *, foreign: bool = False) -> None:
    """Set up a worker process. The parent handles Ctrl-C, and linear algebra uses one thread.

    ``file``: contains the jobs, as `spool` writes them. ``foreign``: the code is foreign, and processes that it
    starts must end with this process.
    """
    if foreign:
        own_group()
        keep_originals()
    _jobs[:] = [] if file is None else read_spooled(file)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
