"""The error rates' part of a report: how often statistical checks were wrong, over many seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dpverify.report import markdown as md
from dpverify.report.recorded import RecordedPage
from dpverify.report.words import GENERATED, plural
from dpverify.selftest.records import CheckRates, RatesRun

INTRODUCTION = """\
Each check that spends an error rate {within} was run with the seeds 1, 2, ... on the statement that it judges and on
its planted faults of the declared size. A *false red* is a refutation of a statement that is not refuted. Its
probability is at most alpha. A planted fault must be refuted with at least the stated power. A check is wrong if its
counts have a probability below one in a million under both stated rates. So few runs cannot confirm an alpha of one in
a million. The tests of the p-values do this, with thousands of runs each. This page runs whole checks, with their
samplers, kernels and decisions. The last column is a lower confidence limit (95%) of the power. Audits judge by a
confidence limit and state no power."""


def rates_page(run: RatesRun) -> str:
    """The page."""
    return md.document(
        [
            GENERATED,
            "# Error rates, measured",
            *(f"**{line}**" for line in summary(run)),
            " ".join(INTRODUCTION.format(within=_within(run)).split()),
            md.table(
                ["check", "budget", "alpha", "said", "false reds", "faults refuted", "power stated", "power at least"],
                [_row(rates) for rates in sorted(run.checks, key=lambda rates: not rates.wrong)],
                right=range(4, 8),
            ),
        ]
    )


def summary(run: RatesRun) -> Iterator[str]:
    """What was found, in two lines."""
    reds = sum(rates.false_reds for rates in run.checks)
    judged = sum(len(rates.says) for rates in run.checks)
    planted = sum(rates.planted for rates in run.checks)
    detected = sum(rates.seen for rates in run.checks)
    yield (
        f"{plural(len(run.checks), 'check')} with {plural(run.seeds, 'seed')} each: {plural(reds, 'false red')} in "
        f"{judged} judgements, {detected} of {planted} planted faults refuted."
    )
    yield f"{plural(len(run.wrong), 'check')} with other rates than stated."


def _within(run: RatesRun) -> str:
    """Which checks are on the page: what else spends an error rate must not seem to be there."""
    names = run.budget if run.budget == "smoke" else f"smoke or {run.budget}, the smaller of those in which it does"
    return f"in the budget {names} (those that spend one only in larger budgets are not on this page)"


def _row(rates: CheckRates) -> list[str]:
    statuses = ", ".join(f"{count} {md.prose(status)}" for status, count in Counter(rates.says).most_common())
    least = f"{rates.power_at_least:.3f}" if rates.planted else ""
    power = f"{rates.power:.4f}" if rates.power else ""
    reds = "" if rates.pinned == "refuted" else str(rates.false_reds)
    mark = "✗ " * rates.wrong
    faults = f"{rates.seen} of {rates.planted}" if rates.planted else ""
    return [f"{mark}{md.code(rates.check)}", rates.budget, f"{rates.alpha:.0e}", statuses, reds, faults, power, least]


RATES_PAGE = RecordedPage("rates", RatesRun, rates_page)
