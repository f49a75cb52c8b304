"""Verification: whole runs, cold and warm, and each of their checks."""

from __future__ import annotations

from collections.abc import Callable

from dpverify.bench.case import Case, Forms, Target

COLD, WARM = "cold", "warm"
CHECKS, COMPILATION, ON_ONE_CORE = "its checks, shared by the cores", "cold − warm", "cold − warm, seconds of cores"

IN_TURN = (COLD, WARM, CHECKS, COMPILATION, ON_ONE_CORE)
"""First the cold run, then the warm one with the kernels that it left, then what the two tell."""


def _budget(budget: str) -> Forms:
    from dpverify.bench.whole_runs import ColdThenWarm

    runs = ColdThenWarm("--budget", budget)
    forms = (runs.cold, runs.warm, runs.checks, runs.compilation, runs.compilation_on_one_core)
    return dict(zip(IN_TURN, forms, strict=True))


def _smoke(*, seed: int) -> Forms:
    return _budget("smoke")


def _standard(*, seed: int) -> Forms:
    return _budget("standard")


def _at_once(*, seed: int, processes: int) -> Forms:
    from dpverify.bench.whole_runs import Crowd

    crowd = Crowd("tran2022:theorem-4-sensitivity", processes)
    return {"one process": crowd.alone, "at once": crowd.together}


def _whole(budget: str, prepare: Callable[..., Forms], *targets: Target, passes: int) -> Case:
    return Case(
        budget,
        f"dpverify verify --budget {budget}, all claims",
        prepare,
        limit=CHECKS,
        limit_is_ours=True,
        forms=IN_TURN,
        clock="wall",
        sparse=IN_TURN,
        passes=passes,
        long=True,
        targets=targets,
    )


CASES = (
    _whole(
        "smoke",
        _smoke,
        Target(WARM, at_most=180.0, kind="seconds"),
        Target(COMPILATION, at_most=60.0, kind="seconds", words="compiling all that it needs, on 2 cores"),
        passes=1,
    ),
    _whole("standard", _standard, Target(WARM, at_most=1800.0, kind="seconds"), passes=1),
    Case(
        "compile-at-once",
        "Processes that compile the same kernels into one empty folder at once, and agree",
        _at_once,
        limit="one process",
        limit_is_ours=True,
        forms=("one process", "at once"),
        parameters={"processes": 4},
        clock="wall",
        sparse=("one process", "at once"),
        passes=2,
        long=True,
    ),
)
