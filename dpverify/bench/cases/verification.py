"""Verification: whole runs, cold and warm, and what compiling takes of them."""

from __future__ import annotations

from functools import partial

from dpverify.bench.case import BenchCase, Forms, Target
from dpverify.bench.measure import YARDSTICK

COLD = "cold"
WARM = "warm"
CORES = "warm, seconds of cores"
CHECKS = "its checks, shared by the cores"
COMPILATION = "cold − warm"
ON_ONE_CORE = "cold − warm, seconds of cores"

# the warm run reuses the kernels of the cold run
IN_TURN = (COLD, WARM, CORES, CHECKS, COMPILATION, ON_ONE_CORE)


def _budget(budget: str, *, seed: int) -> Forms:
    from dpverify.bench.whole_runs import ColdThenWarm

    runs = ColdThenWarm("--budget", budget)
    forms = (
        runs.cold,
        runs.warm,
        runs.cores,
        runs.checks,
        runs.compilation,
        runs.compilation_on_one_core,
    )
    return dict(zip(IN_TURN, forms, strict=True))


def _at_once(*, seed: int, processes: int) -> Forms:
    from dpverify.bench.whole_runs import cold_at_once

    claim = "tran2022:theorem-4-sensitivity"
    return {
        "one process": lambda: cold_at_once(claim, 1),
        "at once": lambda: cold_at_once(claim, processes),
    }


def _whole(budget: str, *targets: Target) -> BenchCase:
    return BenchCase(
        budget,
        f"dpverify verify --budget {budget}, all claims",
        partial(_budget, budget),
        forms=IN_TURN,
        limit=CHECKS,
        limit_is_ours=True,
        clock="wall",
        sparse=IN_TURN,
        passes=1,
        long=True,
        targets=targets,
    )


CASES = (
    _whole(
        "smoke",
        Target(WARM, at_most=180.0, kind="seconds"),
        Target(
            CORES,
            at_most=135_000.0,
            to=YARDSTICK,
            words="100 s of cores where the draw takes 0.74 ms",
        ),
        Target(
            COMPILATION,
            at_most=60.0,
            kind="seconds",
            words="compiling all that it needs, on 2 cores",
        ),
    ),
    _whole("standard", Target(WARM, at_most=1800.0, kind="seconds")),
    BenchCase(
        "compile-at-once",
        "Processes that compile the same kernels into one empty folder at the same time, and get the same results",
        _at_once,
        forms=("one process", "at once"),
        limit_is_ours=True,
        parameters={"processes": 4},
        clock="wall",
        sparse=("one process", "at once"),
        passes=2,
        long=True,
    ),
)
