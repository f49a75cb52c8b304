"""Statuses of proofs whose premises are other statements of the run, computed along the graph of premises."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec

from dpverify.harness.run.judge import decide_status
from dpverify.ledger.records import Status
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Reference

ResultsByName = Mapping[str, Sequence[CheckResult]]  # what the checks found, by the name of the statement


def settle(results: ResultsByName, pinned: Callable[[Reference], Status]) -> dict[str, list[CheckResult]]:
    """Take from every proof's list the statements that are proved themselves, and give the others their status.

    A statement is named as its `Reference` writes itself. ``pinned`` is asked for what the run did not judge. A proof
    that rests on what it proves is refused. The order of the statements does not matter.
    """
    graph = {name: [str(ref) for check in checks for ref in check.references] for name, checks in results.items()}

    @cache
    def status_of(name: str) -> Status:
        return decide_status(settled(name))[0]

    @cache
    def settled(name: str) -> tuple[CheckResult, ...]:
        return tuple(_refused(check, name, graph) or _settled(check, status_text) for check in results[name])

    def status_text(reference: Reference) -> str:
        if str(reference) not in results:
            return f"pinned {pinned(reference)}, not judged in this run"
        return status_of(str(reference))

    return {name: list(settled(name)) for name in results}


def _settled(check: CheckResult, status_of: Callable[[Reference], str]) -> CheckResult:
    """Return the check without the premises that are proved, and with the status of each other premise."""
    words = {str(ref): status_of(ref) for ref in check.references}
    premise_texts = {str(ref): ref.said(words[str(ref)]) for ref in check.references if words[str(ref)] != "proved"}
    open_premises = [
        premise_texts.get(premise, premise)
        for premise in check.given
        if premise in premise_texts or premise not in words
    ]
    status = check.status
    if status in {"proved", "proved given"}:
        status = "proved given" if open_premises else "proved"
    return msgspec.structs.replace(check, given=open_premises, status=status)


def _refused(check: CheckResult, name: str, graph: Mapping[str, Sequence[str]]) -> CheckResult | None:
    """Return the check with an error if one of its premises depends on the statement that it proves."""
    for reference in check.references:
        if circle := _way(str(reference), name, graph):
            error = f"premises run in a circle: {' -> '.join((name, *circle))}"
            return msgspec.structs.replace(check, status="inconclusive", given=[], message=error, error=error)
    return None


def _way(start: str, goal: str, graph: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the shortest path from one statement to another along premises, with both ends, or an empty one."""
    ways: deque[tuple[str, ...]] = deque([(start,)])
    visited = {start}
    while ways:
        way = ways.popleft()
        if way[-1] == goal:
            return way
        ahead = [name for name in graph.get(way[-1], ()) if name not in visited]
        visited.update(ahead)
        ways.extend((*way, name) for name in ahead)
    return ()
