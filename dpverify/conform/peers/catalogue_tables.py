"""Tables on the catalogue of mistakes: the mistakes that each auditor detects, and tests with many seeds."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from dpverify.conform.peers.records import Answer, Catalogue, CatalogueEntry, SeededRun
from dpverify.report import markdown as md

KIT_NAME = "dpverify conform"

COMPARISON_TEXT = """\
`conform` tested each optimizer of the catalogue with {seeds} seeds from {seed} on, and stopped at the first fault. The
other auditors ran once, with seed {seed}. For each of them the probability of a false alarm is at most {alpha}. Each
auditor gets two steps of the optimizer, on the same pairs of batches as the outputs test of `conform` and on one
further pair, with the noise that the optimizer really adds. The files named below show how we use each library; another
use of it may find more. An auditor that sees only outputs cannot detect faults that leave epsilon unchanged, such as
too much noise. Seconds are processor time, measured alternately in one process on a busy machine, so only their ratios
are meaningful."""

SEEDED_TEXT = """\
Each run tests an optimizer with another seed, and stops at the first fault. The optimizers of the functions `right`,
`right_torch` and `right_jax` are DP-SGD with Poisson batches, fixed batches and epochs, momentum, and correlated noise.
They have no mistake, so each fault is a false alarm. Of the functions in `peers/`, those without a fault above are
listed. The rate of runs with a fault has the limits of Clopper and Pearson, each with confidence 95%. Seeds that were
run at another commit have a line of their own."""

FALSE_ALARM_TEXTS = {  # target -> the cause of its false alarms, if it is known
    "conform/backends.py:right_torch": """\
The five faults of `right_torch` are all of seed 178: the same noise was used twice. It was, by chance. Generators of
PyTorch [keep 32 bits of a seed](../docs/examples/findings/torch_seeds.md), and two of the 6,722 seeds of this test
agree in them. `conform` allows for equal seeds of 32 bits since then."""
}

MISTAKES_TEXT = """\
The functions `mistakes`, `mistakes_torch` and `mistakes_jax` return the same optimizers, each with one mistake, in
numpy, PyTorch and JAX. A mistake is found by a run if any test finds a fault."""

# name prefix of functions that return optimizers with a mistake
MISTAKES_PREFIX = "mistakes"


def seeded_blocks(runs: list[SeededRun]) -> Iterator[str]:
    """Yield the blocks of the sections on tests with many seeds: optimizers without a mistake, then those with one."""
    mistakes = [
        run for run in runs if run.target.rpartition(":")[2].startswith(MISTAKES_PREFIX)
    ]
    correct = [run for run in runs if run not in mistakes]
    if correct:
        yield "## Many seeds: false alarms"
        yield " ".join(SEEDED_TEXT.split())
        yield md.table(
            [
                "function",
                "libraries",
                "optimizers",
                "seeds",
                "runs",
                "runs with a fault",
                "rate of such runs",
            ],
            [_seeded_row(run) for run in correct],
        )
        with_faults = {run.target for run in correct if run.faults}
        yield from (
            " ".join(text.split())
            for target, text in FALSE_ALARM_TEXTS.items()
            if target in with_faults
        )
        yield from _origins(correct)
    if mistakes:
        yield "## Many seeds: mistakes in three libraries"
        yield " ".join(MISTAKES_TEXT.split())
        yield md.table(
            [
                "function",
                "libraries",
                "mistakes",
                "seeds",
                "found by every run",
                "found by some runs",
                "never found",
            ],
            [_mistakes_row(run) for run in mistakes],
        )
        yield from _origins(mistakes)


def _origins(runs: list[SeededRun]) -> Iterator[str]:
    for run in runs:
        yield f"Made by {md.code(run.command)}. Commit: {md.code(run.commit)}"


def _first_cells(run: SeededRun) -> list[str]:
    """Return the first cells of a row: function, libraries, number of optimizers, seeds."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    seeds = f"{run.seed} to {run.seed + run.seeds - 1}"
    return [md.code(run.target), md.prose(versions), f"{len(run.entries)}", seeds]


def _seeded_row(run: SeededRun) -> list[str]:
    lower, upper = run.limits
    rate = (
        f"at most {upper:.2g}"
        if lower == 0.0
        else f"at least {lower:.2g}, at most {upper:.2g}"
    )
    untested = sum(bool(entry.untested) for entry in run.entries)
    faults = f"{run.faults}" + (
        f"; not fully tested: {untested} optimizers" if untested else ""
    )
    return [*_first_cells(run), f"{run.runs}", faults, rate]


def _mistakes_row(run: SeededRun) -> list[str]:
    always_found = sum(entry.found == run.seeds for entry in run.entries)
    never_found = [entry.name for entry in run.entries if entry.found == 0]
    partly_found = len(run.entries) - always_found - len(never_found)
    names = f" ({md.prose('; '.join(never_found))})" if never_found else ""
    return [
        *_first_cells(run),
        f"{always_found}",
        f"{partly_found}",
        f"{len(never_found)}{names}",
    ]


def catalogue_blocks(run: Catalogue) -> Iterator[str]:
    """Yield the blocks of the section on other auditors."""
    yield "## Comparison with other auditors"
    yield " ".join(
        COMPARISON_TEXT.format(
            seeds=run.seeds, seed=run.seed, alpha=f"{run.alpha:g}"
        ).split()
    )
    for auditor, description in run.auditors.items():
        yield f"- {md.code(auditor)}: {md.prose(description)}"
    targets = list(dict.fromkeys(entry.target for entry in run.entries))
    groups = {
        target: [entry for entry in run.entries if entry.target == target]
        for target in targets
    }
    yield md.table(
        [
            "optimizers",
            "auditor",
            "found",
            "nothing found",
            "raised",
            "seconds, median",
            "seconds divided by conform's",
        ],
        [
            row
            for target, entries in groups.items()
            for row in _catalogue_counts(target, entries, run)
        ],
    )
    for target, entries in groups.items():
        yield f"### {md.code(target)}"
        yield md.table(
            [
                "optimizer",
                f"{KIT_NAME}: in how many seeds",
                "first seen by",
                *run.auditors,
            ],
            [_catalogue_row(entry, run) for entry in entries],
        )
    yield f"Made by {md.code(run.command)}. Commit: {md.code(run.commit)}"


def _catalogue_counts(
    target: str, entries: list[CatalogueEntry], run: Catalogue
) -> Iterator[list[str]]:
    always_found = sum(entry.found == run.seeds for entry in entries)
    never_found = sum(entry.found == 0 for entry in entries)
    partly_found = len(entries) - always_found - never_found
    found_text = f"{always_found} in every seed" + (
        f", {partly_found} in some" if partly_found else ""
    )
    seconds = median(entry.seconds for entry in entries)
    yield [
        md.code(target),
        KIT_NAME,
        found_text,
        f"{never_found} in every seed",
        "0",
        f"{seconds:.2g}",
        "1",
    ]
    for auditor in run.auditors:
        answers = [
            answer
            for entry in entries
            for answer in entry.answers
            if answer.auditor == auditor
        ]
        outcomes = [_outcome(answer) for answer in answers]
        auditor_seconds = median(answer.seconds for answer in answers)
        counts = (
            str(outcomes.count(outcome)) for outcome in ("found", "nothing", "raised")
        )
        yield [
            md.code(target),
            auditor,
            *counts,
            f"{auditor_seconds:.2g}",
            f"{auditor_seconds / seconds:.2g}",
        ]


def _outcome(answer: Answer) -> str:
    return "raised" if answer.broken else "found" if answer.says else "nothing"


def _catalogue_row(entry: CatalogueEntry, run: Catalogue) -> list[str]:
    answers = {answer.auditor: answer for answer in entry.answers}
    outcomes = [_outcome(answers[auditor]) for auditor in run.auditors]
    failed_tests = "; ".join(
        filter(
            None,
            [
                entry.by,
                f"not tested: {', '.join(entry.untested)}" if entry.untested else "",
            ],
        )
    )
    return [
        md.prose(entry.name),
        f"{entry.found} of {run.seeds}",
        failed_tests,
        *outcomes,
    ]
