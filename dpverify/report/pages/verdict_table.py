"""The table of verdicts: one row per claim and reading."""

from __future__ import annotations

from collections.abc import Sequence

from dpverify.ledger.results import CheckResult, Result
from dpverify.report import markdown as md
from dpverify.report.collect import is_vacuous
from dpverify.report.numbers import show_count, show_float, show_slack
from dpverify.report.pages.places import Places
from dpverify.report.words import METHODS, kind_words, pin_words, plural, reading_words, status_label

HEADER = ("claim", "where", "kind", "status", "slack, min / typical", "evidence", "amendment")


def verdict_table(results: Sequence[Result], places: Places) -> str:
    """The table of verdicts of one paper. A markdown table, or "" without results."""
    return md.table(HEADER, [_row(result, places) for result in results], right=[4])


def _row(result: Result, places: Places) -> list[str]:
    reading = reading_words(result.reading)
    return [
        f"{places.link(result)}\n{md.prose(reading)}",
        md.prose(result.where),
        kind_words(result.kind),
        status_cell(result),
        show_slack(result.slack),
        "\n".join(map(check_words, result.checks)) or md.prose(result.reason),
        _amendment_cell(result),
    ]


def status_cell(result: Result) -> str:
    """The status with everything that stands beside the word."""
    pin = pin_words(result)
    notes = [
        "vacuous" if is_vacuous(result) else "",
        "**sources disagree**" if result.sources_disagree else "",
        "" if pin == "as pinned" else f"**{pin}**" if result.contradicts else pin,
    ]
    return "\n".join([status_label(result.status), *filter(None, notes)])


def check_words(check: CheckResult) -> str:
    """A check in a few words: its method, what it was run on, its error rate."""
    facts = [
        f"n = {show_count(check.n)}" if check.n else "",
        f"alpha = {show_float(check.alpha, 2)}" if check.alpha else "",
    ]
    inside = ", ".join(filter(None, facts))
    missed = sum(not control.refuted for control in check.controls)
    blind = f", **{plural(missed, 'planted fault')} not seen**" if missed else ""
    return METHODS[check.method] + (f" ({inside})" if inside else "") + blind


def _amendment_cell(result: Result) -> str:
    amendment = result.amendment
    if amendment is None:
        return ""
    slack = f"\nslack {show_slack(amendment.slack)}" if amendment.slack else ""
    return status_label(amendment.status) + slack
