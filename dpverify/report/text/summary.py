"""The summary of a claim in a terminal, of at most :data:`LINES` lines: the verdict, the error, the correction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dpverify.ledger.check_results import AmendmentResult
from dpverify.ledger.claims import ClaimSpec, Line
from dpverify.ledger.records import Status
from dpverify.ledger.results import Result
from dpverify.report.counterexamples import example_words, informative, side_names
from dpverify.report.text.console import STYLES
from dpverify.report.text.formulas import formula_lines, formula_text, prose_text
from dpverify.report.text.paragraphs import StyledLine, cut, fitted, wrapped
from dpverify.report.words import (
    ASCII_MARKS,
    MARKS,
    exactly_if,
    kind_words,
    pin_words,
    readings_of,
)

LINES = 15
# beginnings of the reasons in a run, and their replacements; names of checks follow
REASONS = {
    "not refuted on witnesses by ": "No violation was found. Checks: ",
    "not refuted by ": "No violation was found. Checks: ",
    "argued by ": "No violation was found at finitely many points. Checks: ",
}
SUMMARY_LABEL = 9  # columns of a label on the left
REASON = 1  # place of the reason among the parts of a verdict, after the verdict itself

_TRUE: dict[Status, str] = {
    "proved": "True {stated} (proved)",
    "proved given": "True {stated}, given its premises (proved given)",
    "argued": "True {stated} at the points that were computed; argued in prose beyond them (argued)",
    "not refuted": "No counterexample was found (not refuted). This is not a proof",
    "not refuted on witnesses": "No counterexample was found for {witnesses}; no other mechanism was judged "
    "(not refuted on witnesses). This is not a proof",
    "inconclusive": "Undecided (inconclusive)",
    "untested": "Not judged (untested)",
}


@dataclass(frozen=True)
class Summary:
    """Lines of a summary, and the results whose reason is shortened in them."""

    lines: list[StyledLine]
    cut: list[Result]


def summary(
    spec: ClaimSpec,
    groups: Sequence[Sequence[Result]],
    stale: Sequence[str],
    width: int,
    letters: Callable[[str], str],
) -> Summary:
    """Summarize the verdicts on a claim; the readings in each of the ``groups`` have the same verdict."""
    place = f"{prose_text(spec.record.where)} ({kind_words(spec.record.kind)})"
    lines = [StyledLine(spec.key, "bold")]
    lines += [StyledLine(line, "dim") for line in fitted([letters(place)], width, 1)]
    if stale:
        change = stale[0].removeprefix(spec.key).partition(": ")[2]
        warning = f"STALE: {change}. dpverify verify {spec.key} judges it again."
        lines += [
            StyledLine(line, "bold red")
            for line in fitted([letters(warning)], width, 2)
        ]
    everything = [result for group in groups for result in group]
    blocks = [
        _blocks(group, everything if len(groups) > 1 else group, width, letters)
        for group in groups
    ]
    needs = [1 + sum(map(len, parts)) for parts in blocks]
    cut_results = []
    for group, parts, room in zip(
        groups, blocks, shares(needs, LINES - len(lines)), strict=True
    ):
        lengths = shares([len(part) for part in parts], room - 1)
        if len(parts) > REASON and lengths[REASON] < len(parts[REASON]):
            cut_results.append(group[0])
        shown_lines = [
            line
            for part, length in zip(parts, lengths, strict=True)
            for line in cut(part, length, width)
        ]
        styles = [STYLES[group[0].status]] * lengths[0] + [""] * len(shown_lines)
        lines += [StyledLine(""), *map(StyledLine, shown_lines, styles)]
    return Summary(lines, cut_results)


def shares(needs: Sequence[int], room: int) -> list[int]:
    """Divide `room` lines among blocks.

    Each block gets at least one line (unless it needs none) and at most as many as it needs. The remaining lines go
    one by one to the block with the fewest lines that needs more.
    """
    allotted = [min(need, 1) for need in needs]
    while sum(allotted) < room and allotted != [*needs]:
        short = [place for place, need in enumerate(needs) if allotted[place] < need]
        allotted[min(short, key=lambda place: allotted[place])] += 1
    return allotted


def _blocks(
    group: Sequence[Result],
    all_results: Sequence[Result],
    width: int,
    letters: Callable[[str], str],
) -> list[list[str]]:
    """Return the verdict on some readings and its explanations as blocks of wrapped lines."""
    first = group[0]
    reading = readings_of(group, all_results) if len(all_results) > len(group) else ""
    reading = f"{reading}: " if reading else ""
    plain = letters(MARKS["refuted"]) != MARKS["refuted"]
    mark = (ASCII_MARKS if plain else MARKS)[first.status]
    blocks = [
        wrapped(
            f"{mark} {letters(reading + verdict_words(first))}",
            width,
            indent="  ",
            first="",
        )
    ]
    for label, texts in _parts(first):
        lines = fitted(
            map(letters, texts),
            width,
            10**6,
            first=label.ljust(SUMMARY_LABEL),
            indent=" " * SUMMARY_LABEL,
        )
        blocks.append(lines)
    return blocks


def verdict_words(result: Result) -> str:
    """Return the verdict on one reading as a sentence."""
    stated = "as stated" if result.kind in ("note", "tool") else "as printed"
    loud = (
        "; our sources disagree"
        if result.sources_disagree
        else f"; {pin_words(result)}"
        if result.contradicts
        else ""
    )
    if result.status != "refuted":
        return (
            _TRUE[result.status].format(
                stated=stated, witnesses=" and ".join(result.witnesses)
            )
            + f"{loud}."
        )
    severity = f", {result.severity}" if result.severity else ""
    return f"False {stated} (refuted{severity}){loud}."


def _parts(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Yield the explanations of a verdict, as pairs of a label and paragraphs."""
    if result.status == "refuted":
        examples = informative(result)
        reason = result.reason or (
            f"It fails {example_words(examples[0], side_names(result, formula_text))}."
            if examples
            else ""
        )
        yield (
            "Wrong",
            [prose_text(" ".join(reason.split())) or "A counterexample is recorded."],
        )
        yield (
            "Instead",
            [*instead_texts(result)] or ["No corrected statement is recorded."],
        )
        return
    # such a reason repeats the premises
    if result.reason and not result.reason.startswith("proved given "):
        reason = result.reason
        for start, words in REASONS.items():
            reason = (
                words + reason.removeprefix(start)
                if reason.startswith(start)
                else reason
            )
        yield "Why", [prose_text(" ".join(reason.split()))]
    if result.given:
        yield "Given", [prose_text("; ".join(result.given))]


def instead_texts(result: Result) -> Iterator[str]:
    """Yield a paragraph for the amendment and a paragraph for the regime of a refuted statement, if they exist."""
    if result.amendment is not None:
        yield _amended(result.amendment)
    if result.holds is not None:
        conditions = " and ".join(map(formula_text, result.holds.holds_for))
        yield f"The printed statement holds if {conditions} ({result.holds.status})."


def _amended(amendment: AmendmentResult) -> str:
    conditions = " and ".join(map(formula_text, amendment.holds_for))
    if not amendment.corrects:
        return f"Nothing better is known than {_in_line(amendment.display)} ({amendment.status})."
    if amendment.only_restates:
        if not conditions:
            return f"{prose_text(amendment.why).rstrip('.')}."
        return f"The printed statement holds {exactly_if(amendment)} {conditions}."
    if conditions:
        return f"The printed statement holds if {conditions} ({amendment.status})."
    return f"{_in_line(amendment.display)} ({amendment.status})"


def _in_line(lines: Sequence[Line]) -> str:
    """Return the formula of a statement with its conditions, without its definitions."""
    return " ".join(
        formula_lines([line for line in lines if line.word != "with"])
    ).rstrip(".")
