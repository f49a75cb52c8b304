"""Combine the results of checks into the verdict on a claim.

A proof may rest on other statements of the run. Its status follows from theirs along the graph of premises.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace as replace_fields

from dpverify.harness.exact_results import with_edge
from dpverify.harness.finished import contradicts
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.display import display
from dpverify.ledger.formula import to_text
from dpverify.ledger.records import HOLDS, SHOWN, Status, Verdict
from dpverify.ledger.results import (
    INTERRUPTED,
    AmendmentResult,
    CheckResult,
    Counterexample,
    Disagreement,
    Result,
    Slack,
)
from dpverify.ledger.statements import Reference, Statement
from dpverify.ledger.trivial import restated_conditions

Form: TypeAlias = Literal["printed", "amended", "held"]


def disagreements(checks: Sequence[CheckResult], form: Form) -> Iterator[Disagreement]:
    """Describe how the sources disagree about one form of a claim: where, and by how much."""
    for check in checks:
        if check.kernel_disagrees:
            examples = (_example(example) for example in check.counterexamples[:1])
            details = "; ".join(
                filter(None, [check.statistic, check.message, *examples])
            )
            yield Disagreement(
                form=form,
                checks=[check.name],
                what=details,
                where=check.region,
                n=check.n,
                alpha=check.alpha,
            )
    proved = [check for check in checks if check.status in SHOWN]
    refuted = [check for check in checks if check.status == "refuted"]
    if proved and refuted:
        refutations = "; ".join(
            f"{check.name} refutes it: {_refutation(check)}" for check in refuted
        )
        for_it = ", ".join(f"{check.name} ({check.status})" for check in proved)
        names = [check.name for check in (*proved, *refuted)]
        yield Disagreement(
            form=form, checks=names, what=f"{for_it} shows it, and {refutations}"
        )


def _refutation(check: CheckResult) -> str:
    return (
        _example(check.counterexamples[0])
        if check.counterexamples
        else check.statistic or check.message
    )


def _example(example: Counterexample) -> str:
    point = ", ".join(
        f"{name}={number.exact or number.float}"
        for name, number in example.parameters.items()
    )
    left, right = (
        side.exact or f"{float(side.float):.6g}" for side in (example.lhs, example.rhs)
    )
    return f"at {point}: left {left}, right {right}{f' ({example.note})' if example.note else ''}"


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


def definitions(checks: Sequence[CheckResult]) -> list[str]:
    """Return the definitions that the proofs among the checks start from or cite."""
    return list(dict.fromkeys(text for check in checks for text in check.definitions))


def judge(
    claim: ClaimSpec,
    reading: dict[str, str],
    printed: Sequence[CheckResult],
    amended: Sequence[CheckResult],
    evidence_hash: str,
    held: Sequence[CheckResult] = (),
) -> Result:
    """Combine the results on one claim under one reading, and add the pinned status."""
    verdict = claim.verdict(reading)
    status, reason = decide_status(printed)
    if (
        verdict is not None
        and verdict.reason
        and (verdict.status == status or not printed)
    ):
        reason = verdict.reason
    amendment = _amendment(claim, reading, verdict, amended)
    regime = _regime_result(claim, reading, verdict, held)
    pinned = claim.pinned(reading)
    judgements = [
        judgement for judgement in (amendment, regime) if judgement is not None
    ]
    is_contradicted = contradicts(pinned, status) or any(
        contradicts(judgement.pinned, judgement.status) for judgement in judgements
    )
    slacks = [check.slack for check in printed if check.slack is not None]
    related = [
        check.relation_to_derived
        for check in printed
        if check.relation_to_derived is not None
    ]
    forms: list[tuple[Form, Sequence[CheckResult]]] = [
        ("printed", printed),
        ("amended", amended),
        ("held", held),
    ]
    differing = [
        difference
        for form, checks in forms
        for difference in disagreements(checks, form)
    ]
    record = claim.record
    statement = claim.statement(reading)
    return Result(
        claim=claim.key,
        reading=reading,
        status=status,
        witnesses=record.witnesses,
        given=unproved_premises(printed),
        definitions=definitions(printed),
        reason=reason,
        pinned=pinned,
        unpinned=pinned == "untested"
        and not (printed and all(check.message == INTERRUPTED for check in printed))
        and (
            status in {"refuted", "inconclusive"} or (status, verdict) == (pinned, None)
        ),
        severity=None if verdict is None else verdict.severity,
        tight=verdict is not None and verdict.tight,
        contradicts=is_contradicted,
        sources_disagree=bool(differing),
        disagreements=differing,
        record_hash=claim.record_hash,
        evidence_hash=evidence_hash,
        kind=record.kind,
        where=record.where,
        quote=record.quote,
        printed=record.printed
        if record.printed is not None
        else record.statement or "",
        latex=statement.latex(),
        display=display(statement),
        findings=list(verdict.findings) if verdict is not None else [],
        reported=verdict.reported if verdict is not None else "",
        derivation=[
            check.derivation for check in printed if check.derivation is not None
        ],
        relation_to_derived=related[0] if related else None,
        region="; ".join(
            f"{check.name}: {check.region}" for check in printed if check.region
        ),
        slack=sharpest(slacks),
        vacuous=next(
            (check.vacuous for check in printed if check.vacuous is not None), None
        ),
        counterexamples=[
            with_edge(example, claim.edges)
            for check in printed
            for example in check.counterexamples
        ],
        amendment=amendment,
        holds=regime,
        checks=list(printed),
    )


def sharpest(slacks: Sequence[Slack]) -> Slack | None:
    """Return the slack with the smallest minimum, or None if there is no slack."""
    return min(slacks, key=lambda slack: float(slack.min.float), default=None)


def without_proof(check: CheckResult, sides: str) -> CheckResult:
    """Weaken the result for a statement with identical sides, which holds trivially."""
    if check.status not in HOLDS:
        return check
    message = f"both sides are {sides}: identical sides prove nothing"
    return replace_fields(
        check, status="untested", message=message, given=[], references=[]
    )


def on_witnesses(check: CheckResult, witnesses: Sequence[str]) -> CheckResult:
    """Weaken the result of a check of some mechanisms for a statement about all of them."""
    if check.status not in HOLDS:
        return check
    window = f"for {' and '.join(witnesses)} only{f'; {check.window}' if check.window else ''}"
    message = f"{check.status} for {' and '.join(witnesses)} only; {check.message}"
    return replace_fields(
        check,
        status="not refuted on witnesses",
        message=message,
        window=window,
        given=[],
        references=[],
    )


def _narrowed(printed: Statement, amended: Statement) -> list[str]:
    """Return the conditions by which an amendment differs, if it changes only conditions; otherwise an empty list.

    These are the conditions that it adds, or all its conditions if it drops any.
    """
    same = replace(
        printed,
        domains=amended.domains,
        symbols=amended.symbols,
        requires=amended.requires,
    )
    if amended != replace(same, variant="amended"):
        return []
    dropped = any(condition not in amended.requires for condition in printed.requires)
    return [
        to_text(condition)
        for condition in amended.requires
        if dropped or condition not in printed.requires
    ]


def _amendment(
    claim: ClaimSpec,
    reading: dict[str, str],
    verdict: Verdict | None,
    checks: Sequence[CheckResult],
) -> AmendmentResult | None:
    if verdict is None or verdict.amendment is None:
        return None
    text = verdict.amendment
    statement = claim.statement(reading, "amended")
    printed = claim.statement(reading)
    restated = restated_conditions(statement, printed)
    narrowed = _narrowed(printed, statement)
    return AmendmentResult(
        formula=text.formula,
        statement=text.statement,
        latex=statement.latex(),
        requires=[*map(to_text, statement.requires), *(text.assumes or [])],
        display=display(statement),
        status=decide_status(checks)[0],
        given=unproved_premises(checks),
        definitions=definitions(checks),
        pinned=text.status,
        tight=text.tight,
        holds_for=[*map(to_text, restated)] or narrowed,
        corrects=text.corrects,
        only_restates=text.only_restates or bool(restated),
        why=text.why,
        slack=sharpest([check.slack for check in checks if check.slack is not None]),
        checks=list(checks),
    )


def _regime_result(
    claim: ClaimSpec,
    reading: dict[str, str],
    verdict: Verdict | None,
    checks: Sequence[CheckResult],
) -> AmendmentResult | None:
    if verdict is None or verdict.holds is None:
        return None
    statement = claim.statement(reading, "held")
    own_conditions = len(claim.statement(reading).requires)
    return AmendmentResult(
        latex=statement.latex(),
        requires=[*map(to_text, statement.requires)],
        display=display(statement),
        status=decide_status(checks)[0],
        given=unproved_premises(checks),
        definitions=definitions(checks),
        pinned=verdict.holds.status,
        holds_for=[*map(to_text, statement.requires[own_conditions:])],
        why=verdict.holds.why,
        slack=sharpest([check.slack for check in checks if check.slack is not None]),
        checks=list(checks),
    )


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
