"""Words for reports: statuses with their marks, kinds of claims, methods, relations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dpverify.ledger.check_results import AmendmentResult
from dpverify.ledger.records import HOLDS, SEVERITIES, Severity, Status
from dpverify.ledger.results import Result
from dpverify.report.numbers import show_float

STATUSES: tuple[Status, ...] = (*HOLDS, "inconclusive", "refuted", "untested")

MARKS: Mapping[Status, str] = {
    "proved": "✓",
    "proved given": "⊢",
    "argued": "◐",
    "not refuted": "○",
    "not refuted on witnesses": "◌",
    "inconclusive": "?",
    "refuted": "✗",
    "untested": "·",
}

ASCII_MARKS: Mapping[Status, str] = {
    "proved": "+",
    "proved given": "|",
    "argued": "~",
    "not refuted": "o",
    "not refuted on witnesses": "w",
    "inconclusive": "?",
    "refuted": "x",
    "untested": ".",
}

MEANINGS: Mapping[Status, str] = {
    "proved": "It holds on the whole stated domain. Either a derivation has no undecided step and no unproved premise, "
    "or exact arithmetic decides a statement without letters.",
    "proved given": "It is proved except for the named premises, which are not proved here in the form in which they "
    "are used.",
    "argued": "Exact arithmetic found no violation at finitely many points. A quoted argument in prose says why these "
    "points suffice. This is not counted as proved.",
    "not refuted": "A search or a simulation found no violation. This is not a proof.",
    "not refuted on witnesses": "The claim is about all mechanisms. A search found no violation for the named ones. "
    "Others were not judged.",
    "inconclusive": "The budget was too small for the planned power, or our sources disagree.",
    "refuted": "A concrete counterexample exists, with exact values of both sides, or, for a statistical claim, with a "
    "confidence bound that violates it.",
    "untested": "It was not judged, for the stated reason.",
}

_ORDER = re.compile(r" = O~?\(")

METHODS: Mapping[str, str] = {
    "derivation": "derivation",
    "exhaustive": "exhaustive",
    "exact-law": "exact law",
    "search": "search",
    "monte-carlo": "Monte Carlo",
    "measurement": "measurement",
}

RELATIONS_TO_DERIVED: Mapping[str, str] = {
    "equal": "The printed right side equals the derived one.",
    "weaker": "The printed statement is weaker than the derived one, which implies it.",
    "stronger": "The printed statement is stronger than what was derived: the derivation does not give it.",
    "differs": "The printed right side and the derived one differ, each below the other somewhere.",
    "undecided": "Whether the derived statement gives the printed one is undecided.",
}


def status_label(status: Status) -> str:
    """Return the status with its mark as markdown; only a refutation is bold."""
    return (
        f"{MARKS[status]} **{status}**"
        if status == "refuted"
        else f"{MARKS[status]} {status}"
    )


def status_words(status: Status, severity: Severity | None) -> str:
    """Return the status, for a refuted claim with its severity: ``refuted (privacy)``."""
    return f"{status} ({severity})" if severity else status


def instead_words(amendment: AmendmentResult) -> str:
    """Return the replacement of a refuted claim in words: corrected, restricted by conditions, or nothing better."""
    if not amendment.corrects:
        return "nothing better is known"
    if amendment.only_restates:
        return (
            f"holds {exactly_if(amendment)} {', '.join(amendment.holds_for)}"
            if amendment.holds_for
            else "says the same"
        )
    return (
        f"holds for {', '.join(amendment.holds_for)}"
        if amendment.holds_for
        else "corrected"
    )


def exactly_if(amendment: AmendmentResult) -> str:
    """Return the words before a condition that is equivalent to the claim (for an O, up to constants)."""
    is_order = any(_ORDER.search(line.text) for line in amendment.display[:1])
    return "up to constants exactly if" if is_order else "exactly if"


def with_status(amendment: AmendmentResult, words: str) -> str:
    """Return words for an amendment with its status, or without it if the amendment only restates the claim."""
    return words if amendment.only_restates else f"{words}: {amendment.status}"


def kind_words(kind: str) -> str:
    """Return the kind of a claim in words."""
    return {"rdp": "Rényi DP", "dp": "DP", "note": "our note"}.get(
        kind, kind.replace("-", " ")
    )


def pin_words(result: Result) -> str:
    """Compare the verdict of this run with the recorded one in words; "" if no verdict is recorded."""
    if result.contradicts:
        return f"contradicts the pinned verdict ({result.pinned})"
    if result.pinned == "untested":
        return ""
    if result.pinned == result.status:
        return "as pinned"
    below = (
        result.pinned in HOLDS and result.status in HOLDS[HOLDS.index(result.pinned) :]
    )
    weaker = below or result.status in {"inconclusive", "untested"}
    return f"pinned {result.pinned}, {'unconfirmed by this run' if weaker else 'this run shows more'}"


def reading_words(reading: Mapping[str, str]) -> str:
    """Return a choice of readings as ``name = choice``; "" if the claim has no readings."""
    return ", ".join(f"{name} = {choice}" for name, choice in sorted(reading.items()))


def readings_of(group: Sequence[Result], results: Sequence[Result]) -> str:
    """Return the shortest words that distinguish the readings of a group from the claim's other readings."""
    common = set[tuple[str, str]].intersection(
        *(set(result.reading.items()) for result in group)
    )
    if sum(common <= set(result.reading.items()) for result in results) == len(group):
        return reading_words(dict(common))
    return " and ".join(reading_words(result.reading) for result in group)


def item_id(result: Result) -> str:
    """Return the claim with its reading, as in names of tests: ``tran2022:lemma-12[ordering=fresh]``."""
    return claim_with_reading(result.claim, result.reading)


def claim_with_reading(claim: str, reading: Mapping[str, str]) -> str:
    """Return a claim with a choice of its readings: ``lemma-12[ordering=fresh]``."""
    inside = ",".join(f"{name}={choice}" for name, choice in sorted(reading.items()))
    return f"{claim}[{inside}]" if inside else claim


def counts(statuses: Iterable[Status]) -> dict[Status, int]:
    """Count each status, in the order of :data:`STATUSES`, including zeros."""
    numbers = Counter(statuses)
    return {status: numbers[status] for status in STATUSES}


def counts_words(numbers: Mapping[Status, int]) -> str:
    """Return the nonzero counts in words: ``3 proved, 2 refuted``."""
    return (
        ", ".join(f"{number} {status}" for status, number in numbers.items() if number)
        or "none"
    )


def by_severity(results: Iterable[Result]) -> dict[Severity, list[str]]:
    """Return the refuted claims by the worst severity of their readings, the worst severity first."""
    order = [*SEVERITIES]
    worst: dict[str, Severity] = {}
    for result in results:
        if result.status == "refuted" and result.severity is not None:
            severities = (worst.get(result.claim, result.severity), result.severity)
            worst[result.claim] = min(severities, key=order.index)
    claims_by_severity = {
        severity: [
            claim
            for claim, severity_of_claim in worst.items()
            if severity_of_claim == severity
        ]
        for severity in order
    }
    return {
        severity: claims for severity, claims in claims_by_severity.items() if claims
    }


def severities_words(results: Iterable[Result]) -> str:
    """Return the number of refuted claims of each severity: ``2 privacy, 1 misprint``; "" if no claim is refuted."""
    return ", ".join(
        f"{len(claims)} {severity}" for severity, claims in by_severity(results).items()
    )


Outcome = Status | Severity
"""Outcome of a claim: the worst severity of its readings if one is refuted, or else its weakest status."""

OUTCOMES: tuple[Outcome, ...] = (
    *HOLDS,
    "inconclusive",
    "untested",
    *reversed(SEVERITIES),
    "refuted",
)


def outcome_label(outcome: Outcome) -> str:
    """Return the label of an outcome: a severity is preceded by ``refuted``."""
    return f"refuted: {outcome}" if outcome in SEVERITIES else outcome


def outcomes(results: Iterable[Result]) -> dict[Outcome, int]:
    """Count the distinct claims with each outcome, in the order of :data:`OUTCOMES`, including zeros.

    A claim with a refuted reading counts under its worst severity, or as refuted if no severity is recorded.
    """
    worst: dict[str, Outcome] = {}
    for result in results:
        outcome: Outcome = (
            result.severity
            if result.status == "refuted" and result.severity
            else result.status
        )
        worst[result.claim] = max(
            worst.get(result.claim, outcome), outcome, key=OUTCOMES.index
        )
    numbers = Counter(worst.values())
    return {outcome: numbers[outcome] for outcome in OUTCOMES}


def totals_words(results: Sequence[Result]) -> str:
    """Return sentences with the number of distinct claims of each status and severity, and separately of our notes."""
    claims = [result for result in results if not result.is_note]
    notes = [result for result in results if result.is_note]
    sentences = [f"{_claims(claims, 'claim')}."] if claims or not notes else []
    if notes:
        sentences.append(
            f"Our own notes, counted separately: {_claims(notes, 'note')}."
        )
    return " ".join(sentences)


def _claims(results: Sequence[Result], noun: str) -> str:
    """Return the number of distinct claims by status and severity: ``3 claims: 2 proved, 1 refuted (1 privacy)``."""
    numbers = outcomes(results)
    by_worst = {
        severity: numbers[severity] for severity in SEVERITIES if numbers[severity]
    }
    refuted = sum(by_worst.values()) + numbers["refuted"]
    severities = ", ".join(
        f"{number} {severity}" for severity, number in by_worst.items()
    )
    parts = [
        f"{numbers[status]} {status}"
        for status in STATUSES
        if status != "refuted" and numbers[status]
    ]
    parts += (
        [f"{refuted} refuted{f' ({severities})' if severities else ''}"]
        if refuted
        else []
    )
    return f"{plural(sum(numbers.values()), noun)}: {', '.join(parts) or 'none'}"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 claim``, ``2 claims``, ``2 notes of ours``."""
    first, space, complement = noun.partition(" of ")
    return f"{number} {first}{'' if number == 1 else 's'}{space}{complement}"


GENERATED = "<!-- Generated by dpverify from data/*.json. -->"
FIGURE_MARK = "<!-- Generated by dpverify. -->"
"""``GENERATED`` is the first line of every page. ``FIGURE_MARK`` is the last line of every figure.

A page that begins with ``GENERATED`` and has no data is stale. The comment may have further words before its arrow.
"""


def claims_and_notes(kinds: Iterable[str]) -> str:
    """Return the number of claims and, separately, of our notes, in words."""
    is_note = [kind == "note" for kind in kinds]
    notes = f" and {plural(sum(is_note), 'note of ours')}" if any(is_note) else ""
    return plural(is_note.count(False), "claim") + notes


def false_alarm_line(chance: float, what: str = "this run") -> str:
    """Return a sentence with a bound on the probability that any refutation is false by chance."""
    if chance == 0:
        return f"No verdict of {what} depends on chance."
    return f"The probability that any refutation in {what} is false by chance is at most {show_float(chance, 2)}."
