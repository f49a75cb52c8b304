"""The part of the peers page on a catalogue of mistakes: what the kit finds, and what other auditors find beside it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from dpverify.report import markdown as md
from dpverify.report.peer_records import Answer, Catalogue, CatalogueEntry

KIT = "dpverify conform"

WORDS = """\
Each optimizer of the catalogue was tested with {seeds} seeds from {seed} on, until the first fault; other auditors ran
once, with the seed {seed}. The chance of a false alarm is at most {alpha} for each. An auditor is given two steps on
the pairs of batches of the kit's own audit and one more, and runs on batches as the optimizer draws them, with the
noise that it really has; the files named below say what is made of that, and somebody else may make more of the same
library. An auditor that looks at outputs alone cannot see what leaves epsilon as it is, such as too much noise: that it
finds nothing there is no fault of it. Seconds are of the processor, measured in turns in one process on a machine that
had other work: only their ratios say something."""


def catalogue_blocks(run: Catalogue) -> Iterator[str]:
    """The section, block by block."""
    yield "## The kit beside other auditors"
    yield " ".join(WORDS.format(seeds=run.seeds, seed=run.seed, alpha=f"{run.alpha:g}").split())
    for auditor, says in run.auditors.items():
        yield f"- {md.code(auditor)}: {md.prose(says)}"
    targets = list(dict.fromkeys(entry.target for entry in run.entries))
    groups = {target: [entry for entry in run.entries if entry.target == target] for target in targets}
    yield md.table(
        ["optimizers", "auditor", "found", "nothing found", "raised", "seconds, median", "of the kit's"],
        [row for target, entries in groups.items() for row in _counts(target, entries, run)],
    )
    for target, entries in groups.items():
        yield f"### {md.code(target)}"
        yield md.table(
            ["optimizer", f"{KIT}: in how many seeds", "first seen by", *run.auditors],
            [_row(entry, run) for entry in entries],
        )
    yield f"Made by {md.code(run.command)}. Commit: {md.code(run.commit)}"


def _counts(target: str, entries: list[CatalogueEntry], run: Catalogue) -> Iterator[list[str]]:
    every = sum(entry.found == run.seeds for entry in entries)
    none = sum(entry.found == 0 for entry in entries)
    some = len(entries) - every - none
    found = f"{every} in every seed" + (f", {some} in some" if some else "")
    own = median(entry.seconds for entry in entries)
    yield [md.code(target), KIT, found, f"{none} in any seed", "0", f"{own:.2g}", "1"]
    for auditor in run.auditors:
        answers = [answer for entry in entries for answer in entry.answers if answer.auditor == auditor]
        words = [_word(answer) for answer in answers]
        took = median(answer.seconds for answer in answers)
        counts = (str(words.count(word)) for word in ("found", "nothing", "raised"))
        yield [md.code(target), auditor, *counts, f"{took:.2g}", f"{took / own:.2g}"]


def _word(answer: Answer) -> str:
    return "raised" if answer.broken else "found" if answer.says else "nothing"


def _row(entry: CatalogueEntry, run: Catalogue) -> list[str]:
    answers = {answer.auditor: answer for answer in entry.answers}
    said = [_word(answers[auditor]) for auditor in run.auditors]
    by = "; ".join(filter(None, [entry.by, f"not tested: {', '.join(entry.untested)}" if entry.untested else ""]))
    return [md.prose(entry.name), f"{entry.found} of {run.seeds}", by, *said]
