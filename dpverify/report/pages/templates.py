"""The templates of the pages, ``dpverify/report/templates``, and the words and escapes that they may use."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import cache
from pathlib import Path

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from dpverify.ledger.results import Result
from dpverify.report import markdown as md
from dpverify.report import words
from dpverify.report.collect import claim_id, counterexamples, derivations, is_vacuous, pictures, run_false_alarm
from dpverify.report.numbers import show_count, show_float, show_slack
from dpverify.report.pages import evidence
from dpverify.report.pages.figures import figure_block, figure_place
from dpverify.report.words import GENERATED, false_alarm_line

FILTERS: tuple[Callable[..., object], ...] = (
    *(md.anchor, md.bullets, md.cell, md.code, md.inline_math, md.math_block, md.one_line, md.prose, md.quote),
    *(words.kind_words, words.mark, words.pin_words, words.plural, words.reading_words),
    *(words.relation_words, words.status_label),
    *(claim_id, counterexamples, derivations, is_vacuous, pictures, run_false_alarm),
    *(false_alarm_line, show_count, show_float, show_slack),
    *(evidence.checks_block, evidence.counterexample_table, evidence.derivation_block, evidence.slack_lines),
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
    made.globals |= {name: getattr(words, name) for name in ("MEANINGS", "METHODS", "STATUSES")}
    made.filters |= {function.__name__: function for function in FILTERS}
    return made


def render(name: str, **given: object) -> str:
    """A template, filled in: blocks with one empty line between them, and a newline at the end."""
    return _GAP.sub("\n\n", environment().get_template(f"{name}.md.j2").render(given)).strip("\n") + "\n"


def claim_section(results: Sequence[Result], figures: str = "figures", shown: Container[str] = ()) -> str:
    """The section of a claim from its results, one per reading; ``shown``: figures that the page has had already."""
    shared = len({(result.printed, result.latex) for result in results}) == 1
    return render("claim", results=results, shared=shared, figures=figures, shown=shown)
