"""A check of many short blocks, for the engine: each block sleeps, so that other work on the machine hardly shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter, sleep
from typing import ClassVar

from dpverify.harness import BUDGETS, Check, Context, PaperChecks
from dpverify.harness.run.engine import Progress, run_jobs
from dpverify.harness.run.tasks import Job
from dpverify.ledger import load_specs
from dpverify.ledger.results import CheckResult, Method

SECONDS = 0.005  # how long a block sleeps
WARM = 40  # blocks that are over before the clock starts: by then all workers are at work


def sleep_once(_: int = 0) -> int:
    """Sleep once; 1."""
    sleep(SECONDS)
    return 1


@dataclass(frozen=True)
class SleepCheck(Check):
    """Sleep in every block, and count the blocks."""

    count: int = field(kw_only=True)  # blocks

    method: ClassVar[Method] = "measurement"

    def blocks(self, context: Context) -> int:
        """Number of blocks."""
        return self.count

    def run_block(self, context: Context, block: int) -> int:
        """Sleep; 1."""
        return sleep_once()

    def fold(self, sofar: int | None, part: int) -> int:
        """Add up."""
        return (sofar or 0) + part

    def finish(self, context: Context, total: int) -> CheckResult:
        """Say how many there were."""
        return CheckResult(name=self.name, method="measurement", status="not refuted", n=total)


def load(key: str) -> PaperChecks:
    """Give checks to the engine's workers: the key is the number of blocks."""
    checks = PaperChecks(key, __name__)
    checks.add(SleepCheck("sleeps", "sleeps", count=int(key)))
    return checks


def some_context() -> Context:
    """Give a context of a smoke run; what statement it has does not matter."""
    claim = load_specs().claim("tran2022:lemma-12")
    return Context(statement=claim.statement(claim.readings()[0]), budget=BUDGETS["smoke"], seed=0)


def engine_seconds(blocks: int, workers: int, warm: int = WARM) -> float:
    """Run blocks through the engine after warm ones: seconds to the end of the last, from that of the last warm one.

    Where none is warm, from the call.
    """
    ends = [perf_counter()]
    job = Job(f"{__name__}:load", str(warm + blocks), "sleeps", "sleeps", some_context())

    def told(progress: Progress) -> None:
        ends.append(perf_counter())

    (result,), _ = run_jobs([job], workers, told)
    if result.n != warm + blocks:
        raise RuntimeError(f"n={result.n} blocks were run, not {warm + blocks}: {result.message}")
    return ends[-1] - ends[warm]
