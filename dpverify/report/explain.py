"""The explanation of a claim in a terminal: the summary of its verdict, then the details."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console

from dpverify.ledger.check_results import AmendmentResult, CheckResult, Counterexample
from dpverify.ledger.claims import ClaimSpec, display
from dpverify.ledger.records import SEVERITIES, Claim, PaperInfo
from dpverify.ledger.results import Result
from dpverify.report.collect import said_alike
from dpverify.report.counterexamples import (
    SENTENCES,
    example_words,
    informative,
    meaning_words,
    side_names,
)
from dpverify.report.text.console import print_lines, readable
from dpverify.report.text.evidence import evidence_lines, pinned_results
from dpverify.report.text.formulas import formula_text, prose_text, statement_text
from dpverify.report.text.paragraphs import StyledLine, fitted, wrapped
from dpverify.report.text.summary import Summary, summary
from dpverify.report.text.tex import tex_text
from dpverify.report.words import counts, counts_words, kind_words, plural

MAX_WIDTH = 110  # maximum length of lines of text, also in a wider terminal
INDENT = "  "
# maximum number of lines of an explanation without ``--full``, at 80 columns
MAX_LINES = 60
LABEL = 10  # columns of a label before a short paragraph

NO_RUN = "No run is recorded or stored. Run dpverify verify {claim}. A run with an error in a check is not stored."
RECORDED = "recorded run"
FURTHER_OPTIONS = "--full prints all findings, conditions and checks. --at evaluates both sides at a point."


@dataclass(frozen=True)
class Explained:
    """A claim with its recorded results."""

    paper: PaperInfo
    spec: ClaimSpec
    results: Sequence[Result] = ()  # evidence from a stored run, if any
    stale: Sequence[str] = ()  # which results are stale, and why
    checks: Sequence[str] = ()  # names of the checks that can judge it
    source: str = RECORDED  # where the results are from

    @property
    def judged(self) -> Sequence[Result]:
        """Return the results of the stored run, or those of the recorded verdicts."""
        return self.results or pinned_results(self.spec)


def print_explained(
    explained: Explained, console: Console, *, full: bool = False
) -> None:
    """Print one or two screens about a claim, or everything if ``full``."""
    letters = partial(readable, console=console)
    print_lines(
        explained_lines(
            explained, min(console.width, MAX_WIDTH), full=full, letters=letters
        ),
        console,
    )


def explained_lines(
    explained: Explained,
    width: int,
    *,
    full: bool = False,
    letters: Callable[[str], str] = str,
) -> list[StyledLine]:
    """Return the lines of an explanation, wrapped at a width; ``letters`` replaces letters the console cannot show."""
    page = _Page(width, letters)
    groups = said_alike(explained.judged)
    verdicts = summary(explained.spec, groups, explained.stale, width, letters)
    page.lines += verdicts.lines
    if full:
        _whole(page, explained)
        return page.lines
    brief = _Page(width, letters)
    for line_limit in range(8, 1, -1):
        brief = _Page(width, letters)
        _brief(brief, explained, groups, verdicts, line_limit)
        if len(page.lines) + len(brief.lines) <= MAX_LINES:
            break
    return [*page.lines, *brief.lines]


class _Page:
    """Lines that are wrapped as they are added."""

    def __init__(self, width: int, letters: Callable[[str], str]) -> None:
        self.width = width
        self.letters = letters
        self.lines: list[StyledLine] = []

    def section(
        self, title: str, paragraphs: Iterator[str] | Sequence[str], limit: int = 10**6
    ) -> None:
        """Add a title and indented paragraphs, if there are any."""
        texts = [self.letters(text) for text in paragraphs if text]
        if lines := fitted(texts, self.width, limit, indent=INDENT):
            titles = [
                StyledLine(line, "bold")
                for line in wrapped(self.letters(title), self.width)
            ]
            self.lines += [StyledLine(""), *titles, *map(StyledLine, lines)]

    def labelled(self, label: str, text: str, line_limit: int = 10**6) -> None:
        """Add a short paragraph with its label on the left."""
        if text:
            lines = fitted(
                [self.letters(text)],
                self.width,
                line_limit,
                first=label.ljust(LABEL),
                indent=" " * LABEL,
            )
            self.lines += map(StyledLine, lines)


def _brief(
    page: _Page,
    explained: Explained,
    groups: Sequence[Sequence[Result]],
    verdicts: Summary,
    line_limit: int,
) -> None:
    """Add the short explanation of one or two screens, with a limit on the lines of each quote and formula."""
    spec = explained.spec
    page.section(
        _quote_title(spec.record), tex_text(spec.record.quote).splitlines(), line_limit
    )
    page.section("As a formula", statement_text(display(spec.statement())), line_limit)
    for result in verdicts.cut:
        title = (
            "What is wrong, in full" if result.status == "refuted" else "Why, in full"
        )
        page.section(title, [prose_text(result.reason)], line_limit + 2)
    corrections = [amendment for group in groups for amendment in group[0].beside]
    for number, amendment in enumerate(corrections):
        if amendment.why not in (earlier.why for earlier in corrections[:number]):
            page.section(
                _correction_title(amendment), _correction(amendment), line_limit
            )
    examples = dict.fromkeys(
        _example(example, group[0])
        for group in groups
        for example in informative(group[0])
    )
    page.section("Counterexamples", [*examples], 6)
    page.lines.append(StyledLine(""))
    severities = {
        result.severity: SEVERITIES[result.severity]
        for result in explained.judged
        if result.severity
    }
    page.labelled(
        "Severity",
        "; ".join(f"{name}: {meaning}" for name, meaning in severities.items()),
        2,
    )
    reports = dict.fromkeys(
        result.reported for result in explained.judged if result.reported
    )
    page.labelled("Reported", "; ".join(map(prose_text, reports)), 2)
    page.labelled("Readings", _readings(explained, groups), 3)
    page.labelled("Rests on", ", ".join(spec.record.uses), 2)
    page.labelled("Evidence", _evidence(explained), 4)
    page.labelled("Checks", ", ".join(explained.checks), 2)
    page.labelled("More", FURTHER_OPTIONS)


def _quote_title(claim: Claim) -> str:
    return "The documentation's words" if claim.kind == "tool" else "The paper's words"


def _whole(page: _Page, explained: Explained) -> None:
    """Add the complete record, all verdicts, and the evidence of every reading."""
    spec = explained.spec
    claim = explained.spec.record
    symbols = spec.statement().symbols
    page.section(
        "Place in the paper",
        [f"{claim.where} ({kind_words(claim.kind)}); {explained.paper.title}"],
    )
    page.section(_quote_title(claim), tex_text(claim.quote).splitlines())
    page.section("As a formula", statement_text(display(spec.statement())))
    page.section(
        "Symbols",
        [
            f"{name}: {prose_text(symbol.meaning)}"
            for name, symbol in sorted(symbols.items())
        ],
    )
    page.section(
        "Readings",
        [
            f"{r.name} = {' | '.join(r.choices)}: {prose_text(r.meaning)}"
            for r in claim.reading
        ],
    )
    page.section("Rests on", claim.uses)
    page.section(
        "Transcription",
        [prose_text(line) for line in claim.transcription.strip().splitlines()],
    )
    page.section("Stale: judged before a change", explained.stale)
    if not explained.results:
        page.section("Evidence", [NO_RUN.format(claim=spec.key)])
    for title, lines in evidence_lines(
        explained.judged, recorded=bool(explained.results)
    ):
        page.section(title, lines)
    page.section("Checks", [", ".join(explained.checks) or "none is written"])


def _correction_title(amendment: AmendmentResult) -> str:
    if not amendment.corrects:
        return f"The best that is known ({amendment.status})"
    if amendment.only_restates:
        return "When it holds"
    return f"{'Where it holds' if amendment.holds_for else 'Corrected statement'} ({amendment.status})"


def _correction(amendment: AmendmentResult) -> Iterator[str]:
    yield prose_text(amendment.why)
    if not amendment.holds_for:
        yield from statement_text(amendment.display)


def _example(example: Counterexample, result: Result) -> str:
    words = example_words(
        example,
        side_names(result, formula_text),
        meaning=meaning_words(example, result.kind),
    )
    return f"{SENTENCES[example.kind]}: {words}"


def _readings(explained: Explained, groups: Sequence[Sequence[Result]]) -> str:
    """Return the readings, with a remark if the verdict is the same for all of them."""
    choices = "; ".join(
        f"{reading.name} = {' | '.join(reading.choices)}"
        for reading in explained.spec.record.reading
    )
    if not choices:
        return ""
    number = len(explained.judged)
    all_of_them = "both" if number == 2 else f"all {number}"
    return f"{choices}. {f'The verdict is the same in {all_of_them}.' if len(groups) == 1 else ''}".strip()


def _evidence(explained: Explained) -> str:
    """Return the number of checks with each status, for the first reading."""
    if not explained.results:
        return NO_RUN.format(claim=explained.spec.key)
    first = explained.results[0]
    forms = [("as printed", first.checks)]
    forms += [("where it holds", first.holds.checks)] if first.holds else []
    forms += [("as corrected", first.amendment.checks)] if first.amendment else []
    parts = [_checks(form, checks) for form, checks in forms if checks]
    return (
        f"{explained.source}: {'; '.join(parts)}"
        if parts
        else f"{explained.source} without checks"
    )


def _checks(form: str, checks: Sequence[CheckResult]) -> str:
    counts_text = counts_words(counts(check.status for check in checks))
    return f"{plural(len(checks), 'check')} of the statement {form} ({counts_text})"
