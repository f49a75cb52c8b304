"""The status of a statement from the results of its checks.

A proof may rest on other statements of the run. Its status follows from theirs along the graph of premises.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec

from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.records import HOLDS, SHOWN, Status
from dpverify.ledger.results import INTERRUPTED
from dpverify.ledger.statements import Reference


def sources_disagree(checks: Sequence[CheckResult]) -> str:
    """Describe kernels that do not follow their exact law, or results that prove and refute a statement, or ""."""
    kernels = [check.name for check in checks if check.kernel_disagrees]
    if kernels:
        return f"sources disagree: the kernel does not follow the exact law ({', '.join(kernels)})"
    proved = [check.name for check in checks if check.status in SHOWN]
    refuted = [check.name for check in checks if check.status == "refuted"]
    if proved and refuted:
        return f"sources disagree: proved by {', '.join(proved)} and refuted by {', '.join(refuted)}"
    return ""


def decide_status(checks: Sequence[CheckResult]) -> tuple[Status, str]:
    """Combine results: a certain counterexample refutes, any proof proves. If sources disagree, neither counts.

    If a check was interrupted, the status is never "not refuted", because this check might have refuted the statement.
    """
    if disagreement := sources_disagree(checks):
        return "inconclusive", disagreement
    if checks and all(check.message == INTERRUPTED for check in checks):
        return "inconclusive", f"not reached: {INTERRUPTED}"
    unsure = [
        f"{c.name}: {c.error or c.message}"
        for c in checks
        if c.status in {"inconclusive", "untested"}
    ]
    sums = SHOWN if any(check.message == INTERRUPTED for check in checks) else HOLDS
    for status in ("refuted", *sums):
        if names := [check.name for check in checks if check.status == status]:
            rests = unproved_premises(checks)
            words: str = status
            if rests:
                words = f"{status.removesuffix(' given')} given {', '.join(rests)}"
                names = [
                    check.name
                    for check in checks
                    if check.status == status and check.given == rests
                ]
            if status not in (*SHOWN, "refuted"):
                names = [
                    _with_window(check) for check in checks if check.status == status
                ]
            return status, "; ".join([f"{words} by {', '.join(names)}", *unsure])
    if any(check.status == "inconclusive" for check in checks):
        return "inconclusive", "; ".join(unsure)
    return "untested", "; ".join(unsure) or "no check is written for it"


def _with_window(check: CheckResult) -> str:
    return f"{check.name} ({check.window})" if check.window else check.name


def unproved_premises(checks: Sequence[CheckResult]) -> list[str]:
    """Return the unproved premises of the best proof with the fewest premises, or an empty list."""
    for status in ("proved", "proved given"):
        if premises := [check.given for check in checks if check.status == status]:
            return min(premises, key=len)
    return []


# results of the checks, by the name of the statement
ResultsByName = Mapping[str, Sequence[CheckResult]]


def settle(
    results: ResultsByName, pinned: Callable[[Reference], Status]
) -> dict[str, list[CheckResult]]:
    """Remove proved premises from the list of every proof, and add the status of the other premises.

    A statement is named by the text of its `Reference`. ``pinned`` returns the status of statements that the run did
    not judge. A proof that depends on its own conclusion is refused. The order of the statements does not matter.
    """
    graph = {
        name: [str(ref) for check in checks for ref in check.references]
        for name, checks in results.items()
    }

    @cache
    def status_of(name: str) -> Status:
        return decide_status(settled(name))[0]

    @cache
    def settled(name: str) -> tuple[CheckResult, ...]:
        return tuple(
            _refused(check, name, graph) or _settled(check, status_text)
            for check in results[name]
        )

    def status_text(reference: Reference) -> str:
        if str(reference) not in results:
            return f"pinned {pinned(reference)}, not judged in this run"
        return status_of(str(reference))

    return {name: list(settled(name)) for name in results}


def _settled(check: CheckResult, status_of: Callable[[Reference], str]) -> CheckResult:
    """Return the check without the premises that are proved, and with the status of each other premise."""
    words = {str(ref): status_of(ref) for ref in check.references}
    premise_texts = {
        str(ref): ref.text(words[str(ref)])
        for ref in check.references
        if words[str(ref)] != "proved"
    }
    open_premises = [
        premise_texts.get(premise, premise)
        for premise in check.given
        if premise in premise_texts or premise not in words
    ]
    status = check.status
    if status in {"proved", "proved given"}:
        status = "proved given" if open_premises else "proved"
    return msgspec.structs.replace(check, given=open_premises, status=status)


def _refused(
    check: CheckResult, name: str, graph: Mapping[str, Sequence[str]]
) -> CheckResult | None:
    """Return the check with an error if one of its premises depends on the statement that it proves."""
    for reference in check.references:
        if circle := _premise_path(str(reference), name, graph):
            error = f"premises run in a circle: {' -> '.join((name, *circle))}"
            return msgspec.structs.replace(
                check, status="inconclusive", given=[], message=error, error=error
            )
    return None


def _premise_path(
    start: str, goal: str, graph: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return the shortest path along premises between two statements, including both, or an empty one."""
    paths: deque[tuple[str, ...]] = deque([(start,)])
    visited = {start}
    while paths:
        path = paths.popleft()
        if path[-1] == goal:
            return path
        ahead = [name for name in graph.get(path[-1], ()) if name not in visited]
        visited.update(ahead)
        paths.extend((*path, name) for name in ahead)
    return ()
