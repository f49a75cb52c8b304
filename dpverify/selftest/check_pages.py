"""Report pages about the checks themselves: their error rates, and the search for counterexamples.

The page of error rates shows how often statistical checks were wrong, over many seeds. The page of the search shows
which planted inequalities it refutes, and how short its counterexamples are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from statistics import median

from dpverify.report import markdown as md
from dpverify.report.folder import RecordedPage
from dpverify.report.words import GENERATED, plural
from dpverify.selftest.records import (
    CheckRates,
    RatesRun,
    SearchedInequality,
    SearchRun,
)

RATES_INTRODUCTION = """\
Each check that spends an error rate {within} was run with the seeds 1, 2, ... on the statement that it judges and on
its planted faults of the declared size. A *false refutation* is a refutation of a statement that is not refuted. Its
probability is at most alpha. A planted fault must be refuted with at least the stated power. A check is wrong if its
counts have a probability below one in a million under both stated rates. So few runs cannot confirm an alpha of one in
a million. The tests of the p-values do this, with thousands of runs each. This page runs whole checks, with their
samplers, kernels and decisions. The last column is a lower confidence limit (95%) of the power. Audits judge by a
confidence limit and state no power."""


def rates_page(run: RatesRun) -> str:
    """Return the page of error rates as markdown."""
    return md.document(
        [
            GENERATED,
            "# Error rates, measured",
            *(f"**{line}**" for line in rates_summary(run)),
            " ".join(RATES_INTRODUCTION.format(within=_covered_checks(run)).split()),
            md.table(
                [
                    "check",
                    "budget",
                    "alpha",
                    "verdicts",
                    "false refutations",
                    "faults refuted",
                    "power stated",
                    "power at least",
                ],
                [
                    _rates_row(rates)
                    for rates in sorted(run.checks, key=lambda rates: not rates.wrong)
                ],
                right=range(4, 8),
            ),
        ]
    )


def rates_summary(run: RatesRun) -> Iterator[str]:
    """Yield a line with the counts over all checks, and a line with the number of checks whose rates are wrong."""
    false_refutations = sum(rates.false_refutations for rates in run.checks)
    judged = sum(len(rates.says) for rates in run.checks)
    planted = sum(rates.planted for rates in run.checks)
    detected = sum(rates.seen for rates in run.checks)
    yield (
        f"{plural(len(run.checks), 'check')} with {plural(run.seeds, 'seed')} each: "
        f"{plural(false_refutations, 'false refutation')} in {judged} judgements, "
        f"{detected} of {planted} planted faults refuted."
    )
    yield f"{plural(len(run.wrong), 'check')} with other rates than stated."


def _covered_checks(run: RatesRun) -> str:
    """Return words that say which checks are on the page, so that readers do not assume that all checks are."""
    names = (
        run.budget
        if run.budget == "smoke"
        else f"smoke or {run.budget}, the smaller of those in which it does"
    )
    return f"in the budget {names} (those that spend one only in larger budgets are not on this page)"


def _rates_row(rates: CheckRates) -> list[str]:
    statuses = ", ".join(
        f"{count} {md.prose(status)}"
        for status, count in Counter(rates.says).most_common()
    )
    least = f"{rates.power_at_least:.3f}" if rates.planted else ""
    power = f"{rates.power:.4f}" if rates.power else ""
    false_refutations = (
        "" if rates.pinned == "refuted" else str(rates.false_refutations)
    )
    mark = "✗ " * rates.wrong
    faults = f"{rates.seen} of {rates.planted}" if rates.planted else ""
    return [
        f"{mark}{md.code(rates.check)}",
        rates.budget,
        f"{rates.alpha:.0e}",
        statuses,
        false_refutations,
        faults,
        power,
        least,
    ]


RATES_PAGE = RecordedPage("rates", RatesRun, rates_page)


SEARCH_INTRODUCTION = """\
Each inequality below is false at points that are hard to find, and one counterexample is known. The search that judges
claims looks for a counterexample under the conditions of a run: with the number of points that its share of the budget
allows, without hints, and with other draws for each seed. A refuted claim shows the simplest counterexample that the
search finds, so its length is measured as well. The length is the number of bits of all numerators and denominators:
the median over the seeds that found a counterexample, next to the length of the known one. *Always* means for every
seed, *sometimes* for some seeds."""

MISSED_BY_SEARCH = """\
A claim that is *not refuted* by a search alone may be false at such points. A check can name points that are tried
first. No such points were named here."""


def search_page(run: SearchRun) -> str:
    """Return the page of the search as markdown."""
    # true inequalities have no kind
    true_inequalities = [
        inequality for inequality in run.inequalities if not inequality.kind
    ]
    return md.document(
        [
            GENERATED,
            "# What the search for counterexamples finds",
            *(f"**{line}**" for line in search_summary(run)),
            " ".join(SEARCH_INTRODUCTION.split()),
            "## By kind",
            md.table(
                ["false ...", *_heads(run, "always", "sometimes", "never")],
                _by_kind(run),
            ),
            *(
                block
                for kind, title in run.kinds.items()
                for block in _inequalities_of_kind(run, kind, title)
            ),
            "## Not found by every search",
            " ".join(MISSED_BY_SEARCH.split()),
            md.bullets(
                f"{md.prose(inequality.name)}: {md.code(_inequality_text(inequality))}"
                for inequality in run.false
                if _missed(inequality)
            ),
            "## True ones",
            md.bullets(
                md.code(_inequality_text(inequality))
                for inequality in true_inequalities
            ),
        ]
    )


def search_summary(run: SearchRun) -> Iterator[str]:
    """Yield a line with the result for each budget, and a line for the true inequalities."""
    for budget, seconds in run.seconds.items():
        always, sometimes, never = _counts(run.false, budget)
        yield (
            f"{budget.capitalize()} ({seconds:.1f} s for a search): of {len(run.false)} false inequalities {always} "
            f"are always refuted, {sometimes} sometimes, {never} never."
        )
    yield f"Of {len(run.inequalities) - len(run.false)} true inequalities, {len(run.wrong)} refuted."


def _counts(
    inequalities: Iterable[SearchedInequality], budget: str
) -> tuple[int, int, int]:
    shares = [
        len(inequality.found(budget)) / len(inequality.trials[budget])
        for inequality in inequalities
    ]
    always = shares.count(1.0)
    never = shares.count(0.0)
    return always, len(shares) - always - never, never


def _heads(run: SearchRun, *columns: str) -> list[str]:
    return [f"{budget}: {column}" for budget in run.seconds for column in columns]


def _by_kind(run: SearchRun) -> Iterator[list[str]]:
    for kind, title in run.kinds.items():
        inequalities = [
            inequality for inequality in run.false if inequality.kind == kind
        ]
        yield [
            md.prose(title),
            *(
                str(count)
                for budget in run.seconds
                for count in _counts(inequalities, budget)
            ),
        ]


def _inequalities_of_kind(run: SearchRun, kind: str, title: str) -> Iterator[str]:
    yield f"## {md.prose(title[:1].upper() + title[1:])}"
    inequalities = [inequality for inequality in run.false if inequality.kind == kind]
    header = [
        "",
        "inequality",
        *_heads(run, "found", "bits"),
        "known",
        "simplest found",
    ]
    yield md.table(
        header, [_inequality_row(run, inequality) for inequality in inequalities]
    )


def _inequality_row(run: SearchRun, inequality: SearchedInequality) -> list[str]:
    cells = [md.prose(inequality.name), md.code(_inequality_text(inequality))]
    for budget in run.seconds:
        trials = inequality.found(budget)
        mark = "" if trials else "✗ "
        cells.append(f"{mark}{len(trials)} of {len(inequality.trials[budget])}")
        cells.append(f"{median(trial.bits for trial in trials):g}" if trials else "")
    trials = [trial for budget in run.seconds for trial in inequality.found(budget)]
    shortest_trial = min(trials, key=lambda trial: trial.bits, default=None)
    simplest = (
        ""
        if shortest_trial is None
        else ", ".join(
            f"{name} = {value}" for name, value in shortest_trial.found.items()
        )
    )
    return [*cells, str(inequality.bits), md.prose(simplest)]


def _missed(inequality: SearchedInequality) -> bool:
    """Test whether at least one search in the largest budget found no counterexample."""
    *_, largest = inequality.trials
    return len(inequality.found(largest)) < len(inequality.trials[largest])


def _inequality_text(inequality: SearchedInequality) -> str:
    return " for ".join(filter(None, [inequality.says, ", ".join(inequality.requires)]))


SEARCH_PAGE = RecordedPage("search", SearchRun, search_page)
