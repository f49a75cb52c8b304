"""The templates of the pages, ``dpverify/report/templates``, and what they use: words, escapes, tables of evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from dpverify.ledger.results import (
    CheckResult,
    ControlResult,
    Counterexample,
    DerivationResult,
    Result,
    Slack,
    StepResult,
    Vacuous,
)
from dpverify.report import markdown as md
from dpverify.report import words
from dpverify.report.collect import claim_id, counterexamples, derivations, is_vacuous, pictures, run_false_alarm
from dpverify.report.numbers import ratio, show, show_both, show_count, show_float, show_point, show_slack
from dpverify.report.pages.figures import figure_block, figure_place
from dpverify.report.statements import readings_block, statement_block, statement_in_line
from dpverify.report.words import COUNTEREXAMPLES, GENERATED, METHODS, false_alarm_line, status_label

FOLDED = 4  # a derivation with more steps is folded: a reader sees that it is complete, and opens it to see how

T = TypeVar("T")

_EXAMPLES: Mapping[str, Callable[[Counterexample], str]] = {
    "counterexample": lambda example: COUNTEREXAMPLES[example.kind],
    "at": lambda example: md.code(show_point(example.parameters)),
    "left side": lambda example: show_both(example.lhs),
    "right side": lambda example: show_both(example.rhs),
    "left / right": lambda example: show_float(ratio(example.lhs, example.rhs), 4),
    "note": lambda example: md.prose(example.note),
}
_STEPS: Mapping[str, Callable[[tuple[int, StepResult]], str]] = {
    "step": lambda one: str(one[0]),
    "relation": lambda one: md.inline_math({"<=": r"\le", ">=": r"\ge"}.get(one[1].relation, one[1].relation)),
    "expression": lambda one: md.inline_math(one[1].latex) or md.code(one[1].expression),
    "rule": lambda one: md.prose(one[1].rule),
    "premises": lambda one: ", ".join(map(md.code, one[1].premises)),
    "status": lambda one: f"**{one[1].status}**" if one[1].status in {"undecided", "fails"} else one[1].status,
    "points": lambda one: str(one[1].points or ""),
    "slack": lambda one: show(one[1].slack) if one[1].slack else "",
    "note": lambda one: md.prose(one[1].note),
}
_CHECKS: Mapping[str, Callable[[CheckResult], str]] = {
    "check": lambda check: md.code(check.name),
    "method": lambda check: METHODS[check.method],
    "outcome": lambda check: (
        status_label(check.status) + ("\n**kernel disagrees with the algebra**" if check.kernel_disagrees else "")
    ),
    "n": lambda check: show_count(check.n) if check.n else "",
    "alpha": lambda check: show_float(check.alpha, 2) if check.alpha else "",
    "power": lambda check: show_float(check.power) if check.power else "",
    "smallest fault it must see": lambda check: md.prose(check.detects),
    "statistic": lambda check: md.prose(check.statistic),
}
_CONTROLS: Mapping[str, Callable[[tuple[str, ControlResult]], str]] = {
    "check": lambda one: md.code(one[0]),
    "planted fault": lambda one: md.prose(one[1].fault or one[1].name),
    "at the declared size": lambda one: "yes" if one[1].at_declared_size else "",
    "seen": lambda one: "seen" if one[1].refuted else "**not seen**",
    "statistic": lambda one: md.prose(one[1].statistic),
}


def counterexample_table(examples: Iterable[Counterexample]) -> str:
    """The counterexamples: where, both sides (exact and as floats), their ratio."""
    return _table(_EXAMPLES, examples)


def slack_lines(slack: Slack | None, vacuous: Vacuous | None = None, region: str = "") -> str:
    """Slack, vacuity and region, a line each."""
    lines = []
    if slack is not None:
        lines.append(f"Slack (printed / exact): smallest {show(slack.min)}, typical {show(slack.typical)}.")
    if vacuous is not None:
        says = "**vacuous**: it says no more than the trivial bound" if vacuous.value else "not vacuous"
        lines.append(f"The bound is {says} (grid: {md.prose(vacuous.grid)}; onset: {md.prose(vacuous.onset)}).")
    if region:
        lines.append(f"Region searched: {md.prose(region)}.".replace("..", "."))
    return md.bullets(lines)


def derivation_block(derivation: DerivationResult) -> str:
    """A derivation: what it is, then its steps as a table, folded where they are many and none fails."""
    whose = "ours" if derivation.whose == "ours" else "the paper's own chain"
    state = "complete" if derivation.complete else "**not complete**"
    note = f" {md.prose(derivation.note)}" if derivation.note else ""
    steps, number = _table(_STEPS, enumerate(derivation.steps)), len(derivation.steps)
    if derivation.complete and number > FOLDED:
        steps = md.folded(f"its {number} steps", steps)
    return f"Derivation {md.code(derivation.name)} ({whose}; {state}).{note}\n\n{steps}"


def checks_block(checks: Sequence[CheckResult], region: str = "") -> str:
    """The plans of the checks and what came out; then what each said, its planted faults, and what it leaves out."""
    controls = [(check.name, control) for check in checks for control in check.controls]
    blocks = [
        _table(_CHECKS, checks),
        _titled("What the checks said:", ((check.name, check.message) for check in checks)),
        _titled("Where they looked:", ((check.name, check.region) for check in checks if check.region != region)),
        _table(_CONTROLS, controls),
        _titled("What the evidence leaves out:", ((check.name, check.leaves_out) for check in checks)),
    ]
    return "\n\n".join(filter(None, blocks))


def _titled(title: str, said: Iterable[tuple[str, str]]) -> str:
    """A list of what each check has to say, those left out that say nothing."""
    lines = [f"{md.code(name)}: {md.prose(text)}" for name, text in said if text]
    return f"{title}\n\n{md.bullets(lines)}" if lines else ""


def _table(columns: Mapping[str, Callable[[T], str]], items: Iterable[T]) -> str:
    """A table with a row for each item, without the columns in which no row has anything to say."""
    rows = [[show_one(item) for show_one in columns.values()] for item in items]
    kept = [name for name, cells in zip(columns, zip(*rows, strict=True), strict=False) if any(cells)]
    return md.table(kept, [[cell for name, cell in zip(columns, row, strict=True) if name in kept] for row in rows])


FILTERS: tuple[Callable[..., object], ...] = (
    *(md.anchor, md.bullets, md.cell, md.code, md.inline_math, md.math_block, md.one_line, md.prose, md.quote),
    *(words.kind_words, words.pin_words, words.plural, words.reading_words, words.status_label),
    *(claim_id, counterexamples, derivations, is_vacuous, pictures, run_false_alarm),
    *(false_alarm_line, show_count, show_float, show_slack),
    *(
        checks_block,
        counterexample_table,
        derivation_block,
        readings_block,
        slack_lines,
        statement_block,
        statement_in_line,
    ),
    *(figure_block, figure_place),
)

_GAP = re.compile(r"\n{3,}")


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """What fills in templates: strictly, and as markdown, so that nothing is escaped but by the filters."""
    made = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(Path(__file__).parents[1] / "templates"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"generated": GENERATED}
    given = ("MARKS", "MEANINGS", "METHODS", "RELATIONS_TO_DERIVED", "STATUSES")
    made.globals |= {name: getattr(words, name) for name in given}
    made.filters |= {function.__name__: function for function in FILTERS}
    return made


def render(name: str, **given: object) -> str:
    """A template, filled in: blocks with one empty line between them, and a newline at the end."""
    return _GAP.sub("\n\n", environment().get_template(f"{name}.md.j2").render(given)).strip("\n") + "\n"


def claim_section(results: Sequence[Result], figures: str = "figures", shown: Container[str] = ()) -> str:
    """The section of a claim from its results, one per reading; ``shown``: figures that the page has had already."""
    return render("claim", results=results, figures=figures, shown=shown)
