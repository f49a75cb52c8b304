"""The page of what recorded papers say about each other, with our verdicts on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.records import Quotation, RelationToDerived
from dpverify.ledger.specs import ComparedQuotation, Specs
from dpverify.report import markdown as md
from dpverify.report.pages.summary import opening
from dpverify.report.words import MARKS, reading_words, status_words

_COMPARED: Mapping[RelationToDerived, str] = {
    "equal": "The formulas agree",
    "weaker": "The statement has the larger formula",
    "stronger": "The statement has the smaller formula",
    "differs": "The formulas differ",
    "undecided": "The formulas could not be compared",
}
_HEAD = """\
# What papers say about each other

<!-- Generated from the records by .ci/generated.py. -->

These are statements of recorded papers about claims of other ones, with our verdicts on both. A verdict is about the
text that we have. A paper may cite another version. Formulas are compared up to constants where the record is an
order, and up to logarithms for an `O~`.
"""


def quotations_page(quotations: Iterable[ComparedQuotation], specs: Specs, targets: Mapping[str, str]) -> str:
    """Write the page; ``targets``: the links from this page to claims, by full id, and to papers, by key."""
    page = _QuotationsPage(specs, targets)
    blocks = [_HEAD, md.bullets(page.papers())]
    for (author, about), group in groupby(quotations, key=lambda item: (item.claim.paper, item.quoted.paper)):
        blocks.append(f"## {author} on {about}")
        blocks += [page.compared(item) for item in group]
    blocks += page.unrecorded()
    if reports := [*page.reports()]:
        blocks += ["## Other errors that were reported before us", md.bullets(reports)]
    return md.document(blocks)


class _QuotationsPage:
    """Writes the sections; what is said of a record is written once."""

    def __init__(self, specs: Specs, targets: Mapping[str, str]) -> None:
        self.specs = specs
        self.targets = targets
        self.shown = set[str]()

    def papers(self) -> Iterator[str]:
        """Yield a line for each paper that quotes or is quoted."""
        quotations = [(claim.paper, item.claim) for claim in self.specs.claims() for item in claim.record.quotes]
        keys = {name.partition(":")[0] for pair in quotations for name in pair}
        for key in sorted(keys & self.specs.papers.keys()):
            info = self.specs.papers[key].info
            authors = ", ".join(map(md.prose, info.authors))
            yield f"{self.linked(md.code(key), key)}: {authors}, {md.prose(info.title)}, {md.prose(info.venue)}"

    def compared(self, item: ComparedQuotation) -> str:
        """A statement about a recorded claim: what is said, how it compares, and our verdicts."""
        lines = [_said(item.claim, item.quotation)]
        if item.relation is not None and item.attributed is not None and item.printed is not None:
            own, other = (md.inline_math(item.claim.vocabulary.latex(side)) for side in (item.attributed, item.printed))
            against = "" if item.relation == "equal" else f"; the record has {other}"
            lines.append(f"{_COMPARED[item.relation]}: {own}{against}.")
        lines += self.on_statement(item.claim, item.quotation)
        name = self.linked(md.code(item.quoted.record.id), item.quoted.key)
        if item.quoted.key in self.shown:
            lines.append(f"Verdict on the record {name}: as above.")
        else:
            self.shown.add(item.quoted.key)
            where = md.explanation(item.quoted.record.where)
            lines.append(f"Verdict on the record {name} ({where}): {_verdicts(item.quoted)}")
            lines += [f"Reported before: {md.explanation(text)}" for text in _reported(item.quoted)]
        return _section(lines)

    def on_statement(self, claim: ClaimSpec, quotation: Quotation) -> Iterator[str]:
        """Yield our remark, and our verdict if the claim is about what is said."""
        if quotation.remark:
            yield md.explanation(quotation.remark)
        name = self.linked(md.code(claim.record.id), claim.key)
        if quotation.formula:
            yield f"Recorded with {name}, which is about more than this."
        else:
            title = "Our note on it" if claim.record.kind == "note" else "Verdict on the statement"
            yield f"{title}, {name}: {_verdicts(claim, with_reasons=not quotation.remark)}"

    def unrecorded(self) -> Iterator[str]:
        """Yield the statements about works that are not recorded, below a heading for each work."""
        for paper in self.specs.papers:
            works: dict[str, list[str]] = {}
            for claim in self.specs.claims(paper):
                for item in claim.record.quotes:
                    if ":" not in item.claim:
                        section = _section([_said(claim, item), *self.on_statement(claim, item)])
                        works.setdefault(item.claim, []).append(section)
            for work, sections in works.items():
                yield f"## {paper} on {md.prose(work)}"
                yield "This work is not recorded. What is judged follows from the statement itself."
                yield from sections

    def reports(self) -> Iterator[str]:
        """Yield the reported errors of claims that the page has not shown."""
        for claim in self.specs.claims():
            for text in _reported(claim) if claim.key not in self.shown else ():
                name = self.linked(md.code(claim.key), claim.key)
                yield f"{name}, {_verdicts(claim, with_reasons=False)} {md.explanation(text)}"

    def linked(self, text: str, key: str) -> str:
        """A text with a link to a claim or a paper, if it has a page."""
        return md.link(text, self.targets[key]) if key in self.targets else text


def _said(claim: ClaimSpec, quotation: Quotation) -> str:
    return f"**{md.explanation(claim.record.where)}.** {md.explanation(quotation.says)}"


def _section(lines: Sequence[str]) -> str:
    first, *others = lines
    return f"{first}\n\n{md.bullets(others)}"


def _verdicts(claim: ClaimSpec, *, with_reasons: bool = True) -> str:
    """The recorded status of a claim with the first sentences of the reason; where readings differ, those of each."""
    texts: dict[str, list[str]] = {}
    for reading in claim.readings():
        verdict = claim.verdict(reading)
        status = claim.pinned(reading)
        words = f"{MARKS[status]} {status_words(status, None if verdict is None else verdict.severity)}."
        reason = opening(verdict.reason) if verdict is not None and with_reasons else ""
        texts.setdefault(f"{words} {md.explanation(reason)}".strip(), []).append(reading_words(reading))
    if len(texts) == 1:
        return next(iter(texts))
    return " ".join(f"With {md.prose(' or '.join(readings))}: {text}" for text, readings in texts.items())


def _reported(claim: ClaimSpec) -> list[str]:
    return [*dict.fromkeys(verdict.reported for verdict in claim.verdicts if verdict.reported)]
