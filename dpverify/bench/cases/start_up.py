"""Start-up: from the prompt to the answer, against starting Python."""

from __future__ import annotations

from functools import partial

from dpverify.bench.case import BenchCase, Forms, Target

EMPTY = "python -c pass"


def _command(*words: str, seed: int) -> Forms:
    from dpverify.bench.cases.verification import run_python

    return {
        EMPTY: lambda: run_python("-c", "pass"),
        "dpverify": lambda: run_python(*words),
    }


def _case(
    name: str, title: str, words: str, limit: float, rounds: int | None = None
) -> BenchCase:
    """Return a case for a command with cached kernels; ``limit`` bounds its seconds."""
    return BenchCase(
        name,
        title,
        partial(_command, *words.split(maxsplit=1 if words.startswith("-c") else -1)),
        forms=(EMPTY, "dpverify"),
        clock="wall",
        rounds=rounds,
        targets=[Target("dpverify", at_most=limit, kind="seconds")],
    )


CASES = (
    _case("help", "dpverify --help", "-m dpverify --help", 0.3),
    _case("import", "import dpverify", "-c import dpverify", 0.1),
    _case(
        "one-claim",
        "dpverify verify tran2022:lemma-12 --budget smoke, warm",
        "-m dpverify verify tran2022:lemma-12 --budget smoke",
        3.0,
        rounds=1,
    ),
)
