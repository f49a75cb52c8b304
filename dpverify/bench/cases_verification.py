"""Verification: whole runs, cold and warm, and each of their checks."""

from __future__ import annotations

from dpverify.bench.case import Case, Forms, Target


def _budget(budget: str) -> Forms:
    from dpverify.bench.whole_runs import ColdThenWarm

    runs = ColdThenWarm("--budget", budget)
    return {"warm": runs.warm, "cold": runs.cold, "compilation": runs.compilation}


def _smoke(*, seed: int) -> Forms:
    del seed
    return _budget("smoke")


def _standard(*, seed: int) -> Forms:
    del seed
    return _budget("standard")


def _at_once(*, seed: int, processes: int) -> Forms:
    del seed
    from dpverify.bench.whole_runs import Crowd

    crowd = Crowd("tran2022:theorem-4-sensitivity", processes)
    return {"one process": crowd.alone, "at once": crowd.together}


IN_TURN = ("cold", "warm", "compilation")
"""First the cold run, then the warm one with the kernels that it left, then the difference of the two."""

CASES = (
    Case(
        "smoke",
        "dpverify verify --budget smoke, all claims",
        _smoke,
        limit="warm",
        forms=("warm", "cold", "compilation"),
        clock="wall",
        sparse=IN_TURN,
        passes=3,
        long=True,
        targets=[
            Target("warm", at_most=180.0, kind="seconds"),
            Target("compilation", at_most=60.0, kind="seconds", words="cold at most 60 s above warm, on 2 cores"),
        ],
    ),
    Case(
        "standard",
        "dpverify verify --budget standard, all claims",
        _standard,
        limit="warm",
        forms=("warm", "cold", "compilation"),
        clock="wall",
        sparse=IN_TURN,
        passes=1,
        long=True,
        targets=[Target("warm", at_most=1800.0, kind="seconds")],
    ),
    Case(
        "compile-at-once",
        "Processes that compile the same kernels into one empty folder at once, and agree",
        _at_once,
        limit="one process",
        forms=("one process", "at once"),
        parameters={"processes": 4},
        clock="wall",
        sparse=("one process", "at once"),
        passes=3,
        long=True,
    ),
)
