"""The section of one claim: the paper's words, then, for each reading, the verdict and everything behind it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from dpverify.ledger.records import Status
from dpverify.ledger.results import AmendmentResult, Result
from dpverify.report import markdown as md
from dpverify.report.collect import Picture, claim_id, counterexamples, derivations, pictures
from dpverify.report.pages import evidence
from dpverify.report.pages.figures import caption
from dpverify.report.words import MARKS, RELATIONS_TO_DERIVED, kind_words, pin_words, reading_words, status_label

_IMAGE = re.compile(r"^!\[.*\]\((?:[^()]*/)?([^/()]+)\)$", re.MULTILINE)


def claim_section(results: Sequence[Result], figures: str = "figures", shown: Container[str] = ()) -> list[str]:
    """The section of a claim."""
    first = results[0]
    blocks = [
        md.anchor(claim_id(first)),
        f"### {md.prose(first.where)}",
        f"{md.code(first.claim)} · {kind_words(first.kind)} · {_statuses(results)}",
        md.quote(first.quote),
    ]
    shared = len({(r.printed, r.latex) for r in results}) == 1
    blocks.extend(_printed(first) if shared else [])
    for result in results:
        words = reading_words(result.reading)
        blocks.append(f"#### Reading: {md.prose(words)}" if words else "")
        blocks.extend([] if shared else _printed(result))
        blocks.extend(_verdict(result, figures, shown))
    return blocks


def _statuses(results: Sequence[Result]) -> str:
    return "; ".join(dict.fromkeys(status_label(result.status) for result in results))


def _printed(result: Result) -> list[str]:
    """The printed statement: as a formula with the text it was made from, or in words."""
    if result.latex:
        source = f"Transcribed as {md.code(result.printed)}." if result.printed else ""
        return ["As printed:", md.math_block(result.latex), source]
    return [f"As printed, in words: {md.prose(result.printed)}"] if result.printed else []


def _verdict(result: Result, folder: str, shown: Container[str]) -> list[str]:
    pin = pin_words(result)
    beside = f" ({pin})" if pin else ""
    relation = result.relation_to_derived
    return [
        f"**Verdict: {_plain(result.status)}**{beside}. {md.prose(result.reason)}",
        "> [!WARNING]\n> The sources disagree: this says nothing of the paper." if result.sources_disagree else "",
        md.bullets(map(md.prose, result.findings)),
        evidence.counterexample_block(counterexamples(result)),
        evidence.slack_line(result.slack, result.vacuous, result.region),
        *(_shown_above(each) if each.file in shown else figure_block(each, folder) for each in pictures(result)),
        *_amendment(result.amendment),
        *_derivations(result),
        RELATIONS_TO_DERIVED[relation] if relation else "",
        *_evidence(result),
    ]


def _plain(status: Status) -> str:
    return f"{MARKS[status]} {status}"


def figure_block(picture: Picture, folder: str) -> str:
    """A figure with its caption under it; ``folder`` is that of the figures, seen from the page."""
    text = md.prose(caption(picture.name, picture.columns))
    return f"![{text}]({folder}/{picture.file})\n\n*{text}*"


def figure_place(picture: Picture) -> str:
    """The anchor of a figure that stands apart from its claim."""
    return f"figure-{picture.file.removesuffix('.svg')}"


def figures_in(blocks: Iterable[str]) -> set[str]:
    """Files of the figures that some blocks of markdown show, without their folder."""
    return {file for block in blocks for file in _IMAGE.findall(block)}


def _shown_above(picture: Picture) -> str:
    return f"The figure {md.code(picture.name)} is {md.link('shown above', f'#{figure_place(picture)}')}."


def _derivations(source: Result | AmendmentResult) -> list[str]:
    return [block for derivation in derivations(source) for block in evidence.derivation_block(derivation)]


def _evidence(result: Result) -> list[str]:
    if not result.checks:
        return []
    return ["**Evidence**", *evidence.checks_block(result.checks, result.region)]


def _amendment(amendment: AmendmentResult | None) -> list[str]:
    """The corrected statement with its own verdict and evidence."""
    if amendment is None:
        return []
    pinned = f" (pinned {amendment.pinned})" if amendment.pinned not in {"untested", amendment.status} else ""
    formula = md.math_block(amendment.latex) if amendment.latex else ""
    words = md.prose(amendment.statement or "")
    source = f"As text: {md.code(amendment.formula)}." if amendment.formula else ""
    requires = f"Under {', '.join(map(md.code, amendment.requires))}." if amendment.requires else ""
    return [
        f"**Corrected statement: {_plain(amendment.status)}**{pinned}. {md.prose(amendment.why)}",
        formula,
        words,
        " ".join(filter(None, [source, requires])),
        evidence.counterexample_block(counterexamples(amendment)),
        evidence.slack_line(amendment.slack, None, ""),
        *_derivations(amendment),
        "Its checks:" if amendment.checks else "",
        *evidence.checks_block(amendment.checks),
    ]
