"""Start-up: from the prompt to the answer, against starting Python."""

from __future__ import annotations

from dpverify.bench.case import Case, Forms, Target

EMPTY = "python -c pass"


def _command(*words: str) -> Forms:
    from dpverify.bench.commands import python, warm

    return {EMPTY: warm(python("-c", "pass")), "dpverify": warm(python(*words))}


def _help(*, seed: int) -> Forms:
    return _command("-m", "dpverify", "--help")


def _import(*, seed: int) -> Forms:
    return _command("-c", "import dpverify")


def _one_claim(*, seed: int) -> Forms:
    return _command("-m", "dpverify", "verify", "tran2022:lemma-12", "--budget", "smoke")


CASES = (
    Case(
        "help",
        "dpverify --help",
        _help,
        limit=EMPTY,
        forms=(EMPTY, "dpverify"),
        clock="wall",
        targets=[Target("dpverify", at_most=0.3, kind="seconds")],
    ),
    Case(
        "import",
        "import dpverify",
        _import,
        limit=EMPTY,
        forms=(EMPTY, "dpverify"),
        clock="wall",
        targets=[Target("dpverify", at_most=0.1, kind="seconds")],
    ),
    Case(
        "one-claim",
        "dpverify verify tran2022:lemma-12 --budget smoke, warm",
        _one_claim,
        limit=EMPTY,
        forms=(EMPTY, "dpverify"),
        clock="wall",
        rounds=1,
        targets=[Target("dpverify", at_most=3.0, kind="seconds")],
    ),
)
