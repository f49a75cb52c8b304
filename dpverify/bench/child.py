"""The process that measures: asked for cases of a group, or for one form's memory, it answers in JSON lines.

Standard output carries the answers alone; what cases print goes to stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from dpverify.bench.case import Case
from dpverify.bench.measure import Measured, measure_case
from dpverify.bench.registry import load


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: some cases in one pass; or the memory form number ``memory`` of the only case."""

    group: str
    cases: list[str]
    seed: int
    rounds: int = 1
    turn: int = 0
    memory: int | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a case begins (nothing else is set), was measured, or failed; or one of ``forms`` forms' memory."""

    case: str
    measured: Measured | None = None
    counts: dict[str, dict[str, float]] = {}
    error: str = ""
    form: str = ""
    added: int | None = None
    forms: int = 0


def answer(request: Request, say: Callable[[Answer], None]) -> None:
    """Do what is asked."""
    cases = {case.name: case for case in load(request.group).cases}
    for name in request.cases:
        say(Answer(case=name))
        try:
            say(_measure(cases[name], request))
        except Exception as error:  # noqa: BLE001  whatever a case raises is that case's failure, not the run's
            told = " ".join(str(error).split())
            say(Answer(case=name, error=f"{type(error).__name__}: {told}"[:500]))


def _measure(case: Case, request: Request) -> Answer:
    if request.memory is None:
        measured = measure_case(case, seed=request.seed, rounds=request.rounds, turn=request.turn)
        counts: dict[str, Any] = {}
        if case.counts is not None:
            counts = {form: dict(found) for form, found in case.counts(**case.parameters).items()}
        return Answer(case=case.name, measured=measured, counts=counts)
    from dpverify.bench.memory import added_memory

    if case.memory is None:
        raise ValueError(f"case {case.name} has no memory to measure")
    forms = list(case.memory(seed=request.seed, **case.parameters).items())
    if not forms:
        raise ValueError(f"case {case.name}: memory gives no form")
    name, form = forms[request.memory]
    return Answer(case=case.name, form=name, added=added_memory(form), forms=len(forms))


def main() -> int:
    """Read a request from stdin and answer on stdout. 0, or 130 when interrupted."""
    lines = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)

    def say(each: Answer) -> None:
        lines.write(msgspec.json.encode(each) + b"\n")

    try:
        answer(request, say)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
