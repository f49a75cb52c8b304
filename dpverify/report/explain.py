"""The explanation of a claim in a terminal: the verdict, the error, the correction, then the details.

The first part is the summary. It has at most :data:`LINES` lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.display import Line, display
from dpverify.ledger.records import SEVERITIES, Claim, PaperInfo, Status
from dpverify.ledger.results import AmendmentResult, CheckResult, Counterexample, Result
from dpverify.report.collect import said_alike
from dpverify.report.counterexamples import (
    SENTENCES,
    example_words,
    informative,
    meaning_words,
    side_names,
)
from dpverify.report.terminal import STYLES, print_lines, readable
from dpverify.report.text.evidence import evidence_lines, pinned_results
from dpverify.report.text.formulas import (
    formula_lines,
    formula_text,
    prose_text,
    statement_text,
)
from dpverify.report.text.paragraphs import StyledLine, cut, fitted, wrapped
from dpverify.report.text.tex import tex_text
from dpverify.report.words import (
    ASCII_MARKS,
    MARKS,
    counts,
    counts_words,
    exactly_if,
    kind_words,
    pin_words,
    plural,
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


MAX_WIDTH = 110  # maximum length of lines of text, also in a wider terminal
INDENT = "  "
# maximum number of lines of an explanation without ``--full``, at 80 columns
MAX_LINES = 60
LABEL = 10  # columns of a label before a short paragraph

NO_RUN = "No run is recorded or stored. Run dpverify verify {claim} first."
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
