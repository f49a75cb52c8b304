"""A check of many short blocks for measuring the engine. Blocks sleep, so other processes hardly affect the time."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import ClassVar

from dpverify.harness import BUDGETS, Check, Context, PaperChecks
from dpverify.harness.run.engine import Progress, run_jobs
from dpverify.harness.run.tasks import Job
from dpverify.ledger import load_specs
from dpverify.ledger.check_results import CheckResult, Method

SECONDS = 0.005  # sleep of a block
WARM = 40  # blocks before the clock starts, so that all workers are running


def sleep_once(_: int = 0) -> int:
    """Sleep once and return 1."""
    sleep(SECONDS)
    return 1


@dataclass(frozen=True)
class SleepCheck(Check):
    """Sleep in every block, and count the blocks."""

    count: int = field(kw_only=True)  # number of blocks

    method: ClassVar[Method] = "measurement"

    def blocks(self, context: Context) -> int:
        """Return the number of blocks."""
        return self.count

    def run_block(self, context: Context, block: int) -> int:
        """Sleep once and return 1."""
        return sleep_once()

    def fold(self, sofar: int | None, part: int) -> int:
        """Add a block to the count."""
        return (sofar or 0) + part

    def finish(self, context: Context, total: int) -> CheckResult:
        """Return the result with the number of blocks."""
        return CheckResult(
            name=self.name, method="measurement", status="not refuted", n=total
        )


def load(key: str) -> PaperChecks:
    """Return the checks for the engine's workers; ``key`` is the number of blocks."""
    checks = PaperChecks(key, __name__)
    checks.add(SleepCheck("sleeps", "sleeps", count=int(key)))
    return checks


def some_context() -> Context:
    """Return a context of a smoke run with an arbitrary statement."""
    claim = load_specs().claim("tran2022:lemma-12")
    return Context(
        statement=claim.statement(claim.readings()[0]), budget=BUDGETS["smoke"], seed=0
    )


def engine_seconds(blocks: int, workers: int, warm: int = WARM) -> float:
    """Run warm-up blocks and ``blocks`` further blocks in the engine; return the seconds of the latter.

    The time starts at the end of the last warm-up block or, without warm-up blocks, at the call.
    """
    ends = [perf_counter()]
    job = Job(
        f"{__name__}:load", str(warm + blocks), "sleeps", "sleeps", some_context()
    )

    def told(progress: Progress) -> None:
        ends.append(perf_counter())

    (result,), _ = run_jobs([job], workers, told)
    if result.n != warm + blocks:
        raise RuntimeError(
            f"n={result.n} blocks were run, not {warm + blocks}: {result.message}"
        )
    return ends[-1] - ends[warm]
