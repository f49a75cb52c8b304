"""Write chapters: fill their templates with verdicts, formulas, numbers, tables and figures of one run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import partial

from jinja2 import TemplateError

from dpverify.ledger.check_results import AmendmentResult, CheckResult, Counterexample
from dpverify.ledger.formula import Bin, Formula, FormulaError, Neg, Num, parse
from dpverify.ledger.results import Result
from dpverify.ledger.specs import (
    Chapter,
    PaperSpec,
    Passage,
    PassageCondition,
    calls,
    reference,
)
from dpverify.report import markdown as md
from dpverify.report.collect import ReportError, claim_id, counterexamples, pictures
from dpverify.report.counterexamples import example_words
from dpverify.report.numbers import ratio, show_float, show_slack
from dpverify.report.pages.figures import figure_block, figure_place
from dpverify.report.pages.layout import Places
from dpverify.report.pages.templates import environment
from dpverify.report.statements import correction_block, statement_block
from dpverify.report.typesetting import typeset
from dpverify.report.words import status_label

ONSET_COLUMNS = {  # columns of a figure that form the table of an onset, and their headings
    "cell-d": "$`d`$",
    "cell-epsilon": r"$`\epsilon`$",
    "cell-delta": r"$`\delta`$",
    "cell-L": "$`L/G`$",
    "cell-R": "$`R/G`$",
    "cell-printed": "printed",
    "cell-corrected": "corrected",
    "cell-needed": "corrected, the noise needed",
}

# column of lower bounds; the last column of ``ONSET_COLUMNS`` has the upper bounds
LOWER_BOUND = "cell-least"


class MissingError(LookupError):
    """A run does not have what a passage needs. The message names it."""


class Filler:
    """The functions that the templates of one paper's chapters may call, evaluated on the results of a run."""

    def __init__(
        self,
        results: Sequence[Result],
        paper: PaperSpec,
        places: Places,
        figure_files: Collection[str] = (),
    ) -> None:
        self.results = results
        self.paper = paper
        self.places = places
        # figure files in the report's folder that are not made from verdicts
        self.figure_files = figure_files
        claim_functions: Mapping[str, Callable[..., str]] = {
            "claim": places.link,
            "corrected_status": lambda result: _amendment(result).status,
            "reason": lambda result: md.explanation(
                _require_text(result.reason, result, "reason")
            ),
            "why": lambda result: md.explanation(_amendment(result).why),
            "finding": _finding,
            "printed": partial(statement_block, is_shared=True),
            "corrected": lambda result: correction_block(
                _amendment(result), result, in_chapter=True
            ),
            "corrected_slack": lambda result: _require_text(
                show_slack(_amendment(result).slack), result, "slack"
            ),
            "ratio": _ratio,
            "counterexample": lambda result, kind: example_words(
                _example(result, kind), markdown=True
            ),
            "term": partial(self._term, "term", term),
            "factor": partial(self._term, "factor", common_factor),
            "onset": _onset,
            "figure": self._figure,
            "recorded": lambda _, name: self._recorded(name),
        }
        self.functions: Mapping[str, Callable[..., str]] = {
            "status": lambda claim: " or ".join(
                dict.fromkeys(status_label(r.status) for r in self.results_for(claim))
            ),
            "says": lambda claim, pattern: _check_messages(
                self.results_for(claim), pattern
            ),
            **{
                name: partial(self._first, function)
                for name, function in claim_functions.items()
            },
        }

    def results_for(self, text: str) -> list[Result]:
        """Return the results of a referenced claim, for all readings that agree with the choices in the reference."""
        claim, reading = reference(text)
        return [
            r
            for r in self.results
            if claim_id(r) == claim and reading.items() <= r.reading.items()
        ]

    def is_judged(self, claim: str) -> bool:
        """Test whether the run judged the claim, or the claim's recorded verdict is "untested"."""
        return any(
            result.status != "untested" or result.pinned == "untested"
            for result in self.results_for(claim)
        )

    def require(self, condition: PassageCondition) -> None:
        """Raise MissingError unless the referenced readings of a claim all have one of the statuses."""
        for result in self.results_for(condition.about):
            status = _amendment(result).status if condition.corrected else result.status
            if status not in condition.statuses:
                whose = "the corrected statement of " if condition.corrected else ""
                required = " or ".join(condition.statuses)
                raise MissingError(
                    f"{whose}`{condition.about}` is {status} in this run, and it rests on {required}"
                )

    def _first(self, function: Callable[..., str], claim: str, *arguments: str) -> str:
        return function(self.results_for(claim)[0], *arguments)

    def _term(
        self,
        kind: str,
        find: Callable[[Formula, list[int]], Formula],
        result: Result,
        statement: str,
        path: str,
    ) -> str:
        """Return the LaTeX of a term of a formula, or of the factor before the sum in the term."""
        if statement not in ("printed", "corrected"):
            raise ReportError(f"{statement!r}: must be 'printed' or 'corrected'")
        steps = path.split(".")
        if not all(map(str.isdigit, steps)):
            raise ReportError(f"{path!r}: must be numbers with dots between them")
        text = (
            result.printed
            if statement == "printed"
            else _amendment(result).formula or ""
        )
        try:
            node = find(parse(text), [int(step) for step in steps])
        except (FormulaError, TermError) as error:
            raise MissingError(
                f"`{claim_id(result)}` has no {kind} {path} in its {statement} formula ({error})"
            ) from error
        return md.inline_math(self.paper.vocabulary.latex(node))

    def _figure(self, result: Result, name: str) -> str:
        for picture in pictures(result):
            if picture.name.startswith(name):
                place = md.anchor(figure_place(picture))
                return (
                    f"{place}\n\n{figure_block(picture, self.places.page('figures'))}"
                )
        raise MissingError(f"`{claim_id(result)}` has no figure {name} in this run")

    def _recorded(self, name: str) -> str:
        """Return a figure that is not made from verdicts, such as a figure of an experiment or of the benchmarks."""
        file = f"{name}.svg"
        if file not in self.figure_files:
            raise MissingError(f"the report has no figure {name}")
        return f"![{name}]({self.places.page('figures')}/{file})"


def _amendment(result: Result) -> AmendmentResult:
    if result.amendment is None:
        raise MissingError(
            f"`{claim_id(result)}` has no corrected statement in this run"
        )
    return result.amendment


def _finding(result: Result, words: str) -> str:
    """Return the first finding that contains the given words."""
    finding_text = next(
        (finding for finding in result.findings if words in finding), ""
    )
    return md.explanation(
        _require_text(finding_text, result, f"finding about {words!r}")
    )


def _require_text(text: str, result: Result, what: str) -> str:
    if not text:
        raise MissingError(f"`{claim_id(result)}` has no {what} in this run")
    return text


def _example(result: Result, kind: str) -> Counterexample:
    for example in counterexamples(result):
        if example.kind == kind:
            return example
    raise MissingError(
        f"`{claim_id(result)}` has no counterexample of the kind {kind} in this run"
    )


def _ratio(result: Result, kind: str) -> str:
    example = _example(result, kind)
    return show_float(ratio(example.lhs, example.rhs), 3)


def _onset(result: Result, figure: str) -> str:
    """Return the table in the data of a figure: from which N each bound is stronger than the trivial bound."""
    for picture in pictures(result):
        if picture.name.startswith(figure) and LOWER_BOUND in picture.columns:
            columns = zip(
                *(picture.columns[name] for name in ONSET_COLUMNS), strict=True
            )
            rows = [[_rounded(value) for value in row] for row in columns]
            for row, least in zip(
                rows, map(_rounded, picture.columns[LOWER_BOUND]), strict=True
            ):
                row[-1] = row[-1] if least == row[-1] else f"{least} to {row[-1]}"
            return md.table(
                [*ONSET_COLUMNS.values()], rows, right=range(len(ONSET_COLUMNS))
            )
    raise MissingError(
        f"`{claim_id(result)}` has no figure {figure} with a table in this run"
    )


def _rounded(value: float) -> str:
    """Return a number with two significant digits, and with a power of ten from 10,000 on."""
    if value < 1e4:
        return show_float(float(f"{value:.2g}"))
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return md.inline_math(rf"{mantissa} \cdot 10^{{{int(exponent)}}}")


def _check_messages(results: Sequence[Result], pattern: str) -> str:
    """Return the distinct messages of the checks that were run and whose names match a pattern."""
    lines: dict[str, list[str]] = {}
    for result in results:
        amended = result.amendment.checks if result.amendment is not None else []
        for checks, whose in ((result.checks, "printed"), (amended, "corrected")):
            for check in checks:
                if fnmatchcase(check.name, pattern) and check.status != "untested":
                    lines.setdefault(_check_message(check), []).append(whose)
    if not lines:
        raise MissingError(
            f"`{claim_id(results[0])}` has no check {pattern} in this run"
        )
    return md.bullets(
        f"{' and '.join(dict.fromkeys(whose))} statement, {message}"
        for message, whose in lines.items()
    )


def _check_message(check: CheckResult) -> str:
    return f"{md.code(check.name)}, {status_label(check.status)}: {md.explanation(check.message or check.statistic)}"


class TermError(LookupError):
    """A formula does not have the requested term."""


def term(node: Formula, path: Sequence[int]) -> Formula:
    """Return a term by its path: ``[1, 3]`` is the third addend of the first sum inside the first addend.

    Factors of the sum are left out.
    """
    subterm = node
    for depth, number in enumerate(path):
        terms = addends(subterm if depth == 0 else _sum_and_factor(subterm)[0])
        if not 1 <= number <= len(terms):
            raise TermError(f"there are {len(terms)} terms, not {number}")
        subterm = terms[number - 1]
    if not path:
        raise TermError("the path is empty")
    return subterm


def common_factor(node: Formula, path: Sequence[int]) -> Formula:
    """Return the factor of the sum inside a term; arguments and errors are those of :func:`term`."""
    return _sum_and_factor(term(node, path))[1]


def addends(node: Formula) -> list[Formula]:
    """Return the addends of a sum in order, with a minus sign for subtrahends."""
    if isinstance(node, Bin) and node.op in "+-":
        last: Formula = node.right if node.op == "+" else Neg(node.right)
        return [*addends(node.left), last]
    return [node]


def _sum_and_factor(node: Formula) -> tuple[Formula, Formula]:
    """Return the first sum among the factors of a product, and the product without this sum."""
    if isinstance(node, Bin) and node.op in "+-":
        return node, _ONE
    if not isinstance(node, Bin) or node.op not in "*/":
        raise TermError("there is no sum among the factors")
    try:
        total, left = _sum_and_factor(node.left)
    except TermError:
        if node.op == "/":
            raise
        total, right = _sum_and_factor(node.right)
        return total, node.left if right is _ONE else Bin("*", node.left, right)
    if left is _ONE and node.op == "*":
        return total, node.right
    return total, Bin(node.op, left, node.right)


_ONE = Num(Fraction(1))
_ROW = re.compile(r"^\|.*", re.MULTILINE)


def chapter_blocks(
    chapter: Chapter,
    results: Sequence[Result],
    paper: PaperSpec,
    places: Places,
    figure_files: Collection[str] = (),
) -> Iterator[str]:
    """Yield a chapter as blocks of markdown: its title, and the passages whose conditions the run satisfies."""
    filler = Filler(results, paper, places, figure_files)
    try:
        blocks = [
            block for passage in chapter.passage for block in _passage(passage, filler)
        ]
    except (TemplateError, ValueError) as error:
        raise ReportError(f"chapters.toml: {chapter.title}: {error}") from error
    if blocks:
        yield f"## {chapter.title}"
        yield from blocks


def _passage(passage: Passage, filler: Filler) -> Iterator[str]:
    """Yield a filled-in passage, or a sentence on why it is left out."""
    conditions = passage.conditions()
    claims = [arguments[0] for _, arguments in calls(passage.text)] + [
        condition.about for condition in conditions
    ]
    if not all(map(filler.is_judged, claims)):
        return
    try:
        for condition in conditions:
            filler.require(condition)
        text = typeset(passage.text.strip(), md.inline_math)
        yield (
            environment().from_string(_with_cell_filters(text)).render(filler.functions)
        )
    except MissingError as missing:
        if not passage.optional:
            yield f"*A passage is left out here: {md.prose(str(missing))}.*"


def _with_cell_filters(template: str) -> str:
    """Apply the filter ``cell`` to calls in rows of tables, so that their output stays inside one cell."""
    return _ROW.sub(lambda row: row[0].replace("}}", "| cell }}"), template)
