"""The search's part of a report: which planted inequalities it refutes, and how short its counterexamples are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from dpverify.report import markdown as md
from dpverify.report.recorded import RecordedPage
from dpverify.report.words import GENERATED
from dpverify.selftest.records import Hunted, SearchRun

INTRODUCTION = """\
Each inequality below is false at points that are hard to find, and one counterexample is known. The search that judges
claims looks for a counterexample under the conditions of a run: with the number of points that its share of the budget
allows, without hints, and with other draws for each seed. A refuted claim shows the simplest counterexample that the
search finds, so its length is measured as well. The length is the number of bits of all numerators and denominators:
the median over the seeds that found a counterexample, next to the length of the known one. *Always* means for every
seed, *sometimes* for some seeds."""

NEVER = """\
A claim that is *not refuted* by a search alone may be false at such points. A check can name points that are tried
first. No such points were named here."""


def search_page(run: SearchRun) -> str:
    """The page."""
    true = [hunted for hunted in run.inequalities if not hunted.kind]
    return md.document(
        [
            GENERATED,
            "# What the search for counterexamples finds",
            *(f"**{line}**" for line in summary(run)),
            " ".join(INTRODUCTION.split()),
            "## By kind",
            md.table(["false ...", *_heads(run, "always", "sometimes", "never")], _by_kind(run)),
            *(block for kind, title in run.kinds.items() for block in _kind(run, kind, title)),
            "## Not found by every search",
            " ".join(NEVER.split()),
            md.bullets(f"{md.prose(hunted.name)}: {md.code(_says(hunted))}" for hunted in run.false if _missed(hunted)),
            "## True ones",
            md.bullets(md.code(_says(hunted)) for hunted in true),
        ]
    )


def summary(run: SearchRun) -> Iterator[str]:
    """What was found, a line for each budget, and one for the true inequalities."""
    for budget, seconds in run.seconds.items():
        always, sometimes, never = _counts(run.false, budget)
        yield (
            f"{budget.capitalize()} ({seconds:.1f} s for a search): of {len(run.false)} false inequalities {always} "
            f"are always refuted, {sometimes} sometimes, {never} never."
        )
    yield f"Of {len(run.inequalities) - len(run.false)} true inequalities, {len(run.wrong)} refuted."


def _counts(among: Iterable[Hunted], budget: str) -> tuple[int, int, int]:
    shares = [len(hunted.found(budget)) / len(hunted.trials[budget]) for hunted in among]
    always = shares.count(1.0)
    never = shares.count(0.0)
    return always, len(shares) - always - never, never


def _heads(run: SearchRun, *columns: str) -> list[str]:
    return [f"{budget}: {column}" for budget in run.seconds for column in columns]


def _by_kind(run: SearchRun) -> Iterator[list[str]]:
    for kind, title in run.kinds.items():
        among = [hunted for hunted in run.false if hunted.kind == kind]
        yield [md.prose(title), *(str(count) for budget in run.seconds for count in _counts(among, budget))]


def _kind(run: SearchRun, kind: str, title: str) -> Iterator[str]:
    yield f"## {md.prose(title[:1].upper() + title[1:])}"
    among = [hunted for hunted in run.false if hunted.kind == kind]
    header = ["", "inequality", *_heads(run, "found", "bits"), "known", "simplest found"]
    yield md.table(header, [_row(run, hunted) for hunted in among])


def _row(run: SearchRun, hunted: Hunted) -> list[str]:
    cells = [md.prose(hunted.name), md.code(_says(hunted))]
    for budget in run.seconds:
        trials = hunted.found(budget)
        mark = "" if trials else "✗ "
        cells.append(f"{mark}{len(trials)} of {len(hunted.trials[budget])}")
        cells.append(f"{median(trial.bits for trial in trials):g}" if trials else "")
    trials = [trial for budget in run.seconds for trial in hunted.found(budget)]
    best = min(trials, key=lambda trial: trial.bits, default=None)
    simplest = "" if best is None else ", ".join(f"{name} = {value}" for name, value in best.found.items())
    return [*cells, str(hunted.bits), md.prose(simplest)]


def _missed(hunted: Hunted) -> bool:
    """Whether a search in the largest budget found nothing."""
    *_, largest = hunted.trials
    return len(hunted.found(largest)) < len(hunted.trials[largest])


def _says(hunted: Hunted) -> str:
    return " for ".join(filter(None, [hunted.says, ", ".join(hunted.requires)]))


SEARCH_PAGE = RecordedPage("search", SearchRun, search_page)
