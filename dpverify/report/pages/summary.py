"""The summary of a paper: changes for implementers, results that hold, and corrected results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate

from dpverify.ledger.records import HOLDS, SEVERITIES
from dpverify.ledger.results import Result
from dpverify.report import markdown as md
from dpverify.report.collect import by_claim, claim_id
from dpverify.report.pages.layout import Places, is_box, is_result
from dpverify.report.pages.templates import render
from dpverify.report.statements import instead_in_line, readings_block
from dpverify.report.words import (
    reading_words,
    readings_of,
    status_label,
    totals_words,
    with_status,
)

# rows in the table of changes for implementers; the page of claims has all changes
MAX_CHANGES = 10

# minimum number of words of a reason that are shown, if it has as many
MIN_OPENING_WORDS = 20
_END = re.compile(r"(?<=\.)(?<!al\.)\s+")

PRIVACY_KINDS = ("dp", "rdp")  # kinds of claims that determine the noise


def summary(
    results: Sequence[Result], places: Places, claims: str, *, explain: bool = True
) -> str:
    """Return the summary of one paper; ``claims`` is the page that lists all its claims.

    ``explain`` adds the meanings of the severities.
    """
    main = [r for r in results if is_result(claim_id(r)) and not r.is_note]
    notes = [r for r in results if r.is_note and r.status != "untested"]
    falls = [r for r in main if r.status == "refuted"]
    claims_of = {group[0].claim: group for group in by_claim(results)}
    which = partial(_which, claims_of)
    change = partial(_change, claims=claims_of, places=places)
    # readings with the same texts share a row
    groups_by_text: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        if result.status == "refuted" and _is_copied(result) and not result.is_note:
            groups_by_text.setdefault(
                (result.claim, result.severity or "", *change(result)), []
            ).append(result)
    # stable: keeps the order of the paper
    groups = sorted(groups_by_text.values(), key=lambda group: _rank(group[0]))

    def by_status(
        results_to_link: Iterable[Result], status_of: Callable[[Result], str]
    ) -> str:
        """Return links to results, a line for each status."""
        lines: dict[str, list[Result]] = {}
        for result in results_to_link:
            lines.setdefault(status_of(result), []).append(result)
        links_of = {
            status: [f"{places.link(g[0])} {which(g)}".strip() for g in by_claim(g)]
            for status, g in lines.items()
        }
        return md.bullets(
            f"{status}: {', '.join(links)}" for status, links in links_of.items()
        )

    rows = [
        [f"{places.link(g[0])}\n{which(g)}", g[0].severity or "", *change(g[0])]
        for g in groups[:MAX_CHANGES]
    ]
    changes = md.table(["printed", "severity", "what is wrong", "instead"], rows)
    left = len(groups) - MAX_CHANGES
    return render(
        "summary",
        places=places,
        which=which,
        totals=totals_words(results),
        disagree=[r for r in results if r.sources_disagree],
        contradict=[r for r in results if r.contradicts],
        changes=changes,
        severities=_severities(group[0] for group in groups[:MAX_CHANGES])
        if explain
        else "",
        readings=readings_block(results, changes),
        more=md.link(f"{left} more, and every other claim", places.page(claims)) + "."
        if left > 0
        else "",
        stands=by_status(
            (r for r in main if r.status in HOLDS), lambda r: status_label(r.status)
        ),
        repaired=by_status((r for r in falls if _is_repaired(r)), _repair),
        unrepaired=by_status(
            (r for r in falls if not _is_repaired(r)), _without_repair
        ),
        notes=by_status(notes, lambda r: status_label(r.status)),
        undecided=[
            r for r in results if r.status == "inconclusive" and not r.sources_disagree
        ],
    )


def _severities(results: Iterable[Result]) -> str:
    """Return a sentence with the meanings of the severities of some results."""
    severities = {result.severity for result in results}
    meanings = [
        f"{severity} ({meaning})"
        for severity, meaning in SEVERITIES.items()
        if severity in severities
    ]
    return f"Severity: {', '.join(meanings)}.\n\n" if meanings else ""


def _is_copied(result: Result) -> bool:
    """Test whether users may implement a claim: a line of an algorithm box, or a theorem that determines the noise."""
    return (
        result.kind in PRIVACY_KINDS and is_result(claim_id(result).removesuffix("-dp"))
    ) or is_box([result])


def _rank(result: Result) -> tuple[int, bool]:
    """Return a sort key: the worst severity first, then claims that determine the noise."""
    order = [*SEVERITIES]
    return order.index(result.severity) if result.severity else len(
        order
    ), result.kind not in PRIVACY_KINDS


def _which(claims: Mapping[str, Sequence[Result]], group: Sequence[Result]) -> str:
    """Return the readings of a group in brackets; empty if the group has all readings of the claim."""
    words = readings_of(group, claims[group[0].claim])
    return f"({md.prose(words)})" if words else ""


def _is_repaired(result: Result) -> bool:
    """Test whether the amendment is a correction: not only a general bound, and not a restatement of the claim."""
    return (
        result.amendment is not None
        and result.amendment.corrects
        and not result.amendment.only_restates
    )


def _without_repair(result: Result) -> str:
    """Return the status, with a remark if a condition is known under which the printed claim holds."""
    restated = result.amendment is not None and result.amendment.only_restates
    condition_text = (
        ", with a condition under which it holds" if restated or result.holds else ""
    )
    return f"{status_label(result.status)}{condition_text}"


def _repair(result: Result) -> str:
    status = result.amendment.status if result.amendment else "untested"
    return f"the corrected statement is {status}"


def _change(
    result: Result, *, claims: Mapping[str, Sequence[Result]], places: Places
) -> list[str]:
    """Return the first sentences of the reason, and a link to the corrected statement."""
    instead = corrections_link(result, claims[result.claim], places) or "nothing yet"
    return [md.explanation(opening(result.reason)), instead]


def corrections_link(result: Result, group: Sequence[Result], places: Places) -> str:
    """Return a link with the regime and the amendment, or else the readings that are not refuted, with their statuses.

    The result is empty if there are none.
    """
    statements = [
        with_status(statement, instead_in_line(statement))
        for statement in (result.holds, result.amendment)
        if statement
    ]
    not_refuted = [candidate for candidate in group if candidate.status != "refuted"]
    statements = statements or [
        f"{reading_words(reading.reading)}: {reading.status}" for reading in not_refuted
    ]
    return (
        md.link("; ".join(statements), places.target(result.claim))
        if statements
        else ""
    )


def opening(text: str) -> str:
    """Return the first sentences of a text up to its 20th word; the first alone may only say where a claim holds."""
    sentences = _END.split(text)
    words = accumulate(len(sentence.split()) for sentence in sentences)
    return " ".join(sentences[: 1 + sum(count < MIN_OPENING_WORDS for count in words)])
