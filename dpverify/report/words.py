"""The words of the report: statuses with their marks, kinds of claims, methods, relations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dpverify.ledger.records import HOLDS, SEVERITIES, Severity, Status
from dpverify.ledger.results import AmendmentResult, Result
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
    """The status with its mark, as markdown; only a refutation is bold."""
    return f"{MARKS[status]} **{status}**" if status == "refuted" else f"{MARKS[status]} {status}"


def status_words(status: Status, severity: Severity | None) -> str:
    """The status and, of a refuted claim, what falls with it: ``refuted (privacy)``."""
    return f"{status} ({severity})" if severity else status


def instead_words(amendment: AmendmentResult) -> str:
    """What stands in the place of a refuted claim: a correction, the claim itself under conditions, or little."""
    if not amendment.corrects:
        return "nothing better is known"
    if amendment.only_restates:
        return (
            f"holds {exactly_if(amendment)} {', '.join(amendment.holds_for)}"
            if amendment.holds_for
            else "says the same"
        )
    return f"holds for {', '.join(amendment.holds_for)}" if amendment.holds_for else "corrected"


def exactly_if(amendment: AmendmentResult) -> str:
    """The words before the condition that says what is claimed; of an order, it says so up to constants."""
    is_order = any(_ORDER.search(line.text) for line in amendment.display[:1])
    return "up to constants exactly if" if is_order else "exactly if"


def with_status(amendment: AmendmentResult, words: str) -> str:
    """The words for an amendment and its status; one that only restates the claim has no status worth showing."""
    return words if amendment.only_restates else f"{words}: {amendment.status}"


def kind_words(kind: str) -> str:
    """The kind of a claim, in words."""
    return {"rdp": "Rényi DP", "dp": "DP", "note": "our note"}.get(kind, kind.replace("-", " "))


def pin_words(result: Result) -> str:
    """How the verdict of this run stands to the pinned one; "" where nothing is pinned."""
    if result.contradicts:
        return f"contradicts the pinned verdict ({result.pinned})"
    if result.pinned == "untested":
        return ""
    if result.pinned == result.status:
        return "as pinned"
    below = result.pinned in HOLDS and result.status in HOLDS[HOLDS.index(result.pinned) :]
    weaker = below or result.status in {"inconclusive", "untested"}
    return f"pinned {result.pinned}, {'unconfirmed by this run' if weaker else 'this run shows more'}"


def reading_words(reading: Mapping[str, str]) -> str:
    """A choice of readings, as ``name = choice``; "" where there is none."""
    return ", ".join(f"{name} = {choice}" for name, choice in sorted(reading.items()))


def readings_of(group: Sequence[Result], results: Sequence[Result]) -> str:
    """The readings of some of a claim's results in words, as short as they can be told from the others."""
    common = set[tuple[str, str]].intersection(*(set(result.reading.items()) for result in group))
    if sum(common <= set(result.reading.items()) for result in results) == len(group):
        return reading_words(dict(common))
    return " and ".join(reading_words(result.reading) for result in group)


def item_id(result: Result) -> str:
    """The claim with its reading, as pytest names it: ``tran2022:lemma-12[ordering=fresh]``."""
    return claim_with_reading(result.claim, result.reading)


def claim_with_reading(claim: str, reading: Mapping[str, str]) -> str:
    """A claim with a choice of its readings: ``lemma-12[ordering=fresh]``."""
    inside = ",".join(f"{name}={choice}" for name, choice in sorted(reading.items()))
    return f"{claim}[{inside}]" if inside else claim


def counts(statuses: Iterable[Status]) -> dict[Status, int]:
    """How often each status occurs, in the order of :data:`STATUSES`, zeros included."""
    numbers = Counter(statuses)
    return {status: numbers[status] for status in STATUSES}


def counts_words(numbers: Mapping[Status, int]) -> str:
    """The counts that are not zero, in words: ``3 proved, 2 refuted``."""
    return ", ".join(f"{number} {status}" for status, number in numbers.items() if number) or "none"


def by_severity(results: Iterable[Result]) -> dict[Severity, list[str]]:
    """The refuted claims by the worst that falls with one of their readings, each claim once; the worst first."""
    order = [*SEVERITIES]
    worst: dict[str, Severity] = {}
    for result in results:
        if result.status == "refuted" and result.severity is not None:
            severities = (worst.get(result.claim, result.severity), result.severity)
            worst[result.claim] = min(severities, key=order.index)
    claims_by_severity = {
        severity: [claim for claim, severity_of_claim in worst.items() if severity_of_claim == severity]
        for severity in order
    }
    return {severity: claims for severity, claims in claims_by_severity.items() if claims}


def severities_words(results: Iterable[Result]) -> str:
    """How many refuted claims there are of each severity: ``2 privacy, 1 misprint``; "" where none is refuted."""
    return ", ".join(f"{len(claims)} {severity}" for severity, claims in by_severity(results).items())


Outcome = Status | Severity
"""What came out for a claim: the worst that is wrong with one of its readings, or else its weakest status."""

OUTCOMES: tuple[Outcome, ...] = (*HOLDS, "inconclusive", "untested", *reversed(SEVERITIES), "refuted")


def outcome_label(outcome: Outcome) -> str:
    """An outcome as a label: a severity with the status that it belongs to."""
    return f"refuted: {outcome}" if outcome in SEVERITIES else outcome


def outcomes(results: Iterable[Result]) -> dict[Outcome, int]:
    """How many distinct claims have each outcome, in the order of :data:`OUTCOMES`, zeros included.

    A claim of which one reading is refuted counts by severity; as refuted only if no severity is recorded.
    """
    worst: dict[str, Outcome] = {}
    for result in results:
        outcome: Outcome = result.severity if result.status == "refuted" and result.severity else result.status
        worst[result.claim] = max(worst.get(result.claim, outcome), outcome, key=OUTCOMES.index)
    numbers = Counter(worst.values())
    return {outcome: numbers[outcome] for outcome in OUTCOMES}


def totals_words(results: Sequence[Result]) -> str:
    """How many distinct claims have each status or severity, in sentences; our notes apart from them."""
    claims = [result for result in results if not result.is_note]
    notes = [result for result in results if result.is_note]
    sentences = [f"{_claims(claims, 'claim')}."] if claims or not notes else []
    if notes:
        sentences.append(f"Our own notes, counted separately: {_claims(notes, 'note')}.")
    return " ".join(sentences)


def _claims(results: Sequence[Result], noun: str) -> str:
    """The number of distinct claims, and of each status and severity: ``3 claims: 2 proved, 1 refuted (1 privacy)``."""
    numbers = outcomes(results)
    by_worst = {severity: numbers[severity] for severity in SEVERITIES if numbers[severity]}
    refuted = sum(by_worst.values()) + numbers["refuted"]
    severities = ", ".join(f"{number} {severity}" for severity, number in by_worst.items())
    parts = [f"{numbers[status]} {status}" for status in STATUSES if status != "refuted" and numbers[status]]
    parts += [f"{refuted} refuted{f' ({severities})' if severities else ''}"] if refuted else []
    return f"{plural(sum(numbers.values()), noun)}: {', '.join(parts) or 'none'}"


def plural(number: int, noun: str) -> str:
    """``1 claim``, ``2 claims``, ``2 notes of ours``."""
    first, space, complement = noun.partition(" of ")
    return f"{number} {first}{'' if number == 1 else 's'}{space}{complement}"


GENERATED = "<!-- Generated by dpverify from data/*.json. -->"
FIGURE_MARK = "<!-- Generated by dpverify. -->"
"""Last line of every figure."""
"""First line of every page: one of this folder that begins so, up to the arrow, and has no data any more is stale."""


def claims_and_notes(kinds: Iterable[str]) -> str:
    """Count claims, and our notes apart from them."""
    is_note = [kind == "note" for kind in kinds]
    notes = f" and {plural(sum(is_note), 'note of ours')}" if any(is_note) else ""
    return plural(is_note.count(False), "claim") + notes


def false_alarm_line(chance: float, what: str = "this run") -> str:
    """The chance that any statistical refutation is false."""
    if chance == 0:
        return f"No verdict of {what} depends on chance."
    return f"The probability that any refutation in {what} is false by chance is at most {show_float(chance, 2)}."
