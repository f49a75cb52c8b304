"""``dpverify conditions``: whether claims meet the conditions of the claims that they use."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.claims import PaperKey
from dpverify.cli.output import OK, Whole, complain
from dpverify.processes import usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpverify.api.conditions_met import JudgedCondition, JudgedConditions

SURPRISE = 1  # exit code where the records do not say which conditions are met


def conditions(
    paper: PaperKey,
    /,
    *,
    specs: Path | None = None,
    seed: Whole = 0,
    jobs: Whole | None = None,
) -> int:
    """Judge whether the claims of a paper meet the conditions of the claims that they use.

    Conditions that the claim itself states are only counted. Letters are compared by name. The exit code is 1 if a
    condition is not met and the file conditions.toml of the paper does not say so, or says so wrongly.

    Parameters
    ----------
    paper
        Key of the paper, such as tran2022.
    specs
        Folder with one folder of records per paper. Default: the records that come with dpverify.
    seed
        A whole number.
    jobs
        Number of worker processes on this machine. Default: one per core.
    """
    from dpverify.api import used_conditions
    from dpverify.cli.progress import progress_on_stderr

    with progress_on_stderr() as progress:
        judged = used_conditions(paper, specs=specs, seed=seed, jobs=jobs or usable_cores(), progress=progress)
    print("\n".join(_lines(judged)))
    for surprise in judged.surprises:
        complain(surprise)
    return SURPRISE if judged.surprises else OK


def _lines(judged: JudgedConditions) -> Iterator[str]:
    """Yield a block for each claim with conditions that it does not state, and a line of counts."""
    compared = [condition for condition in judged.conditions if condition.finding != "other letters"]
    for claim, of_claim in groupby(compared, key=lambda condition: condition.claim):
        yield claim
        for condition in of_claim:
            yield from _condition_lines(condition)
    counts = dict.fromkeys(("met", "no violation found", "undecided", "not met"), 0)
    for condition in compared:
        counts[condition.finding] += 1
    words = ", ".join(f"{count} {finding}" for finding, count in counts.items())
    others = len(judged.conditions) - len(compared)
    yield f"{len(compared)} conditions of used claims: {words}"
    yield f"{judged.stated} further conditions are stated by the claim itself; {others} have letters that it lacks"


def _condition_lines(condition: JudgedCondition) -> Iterator[str]:
    from dpverify.report.numbers import show_point

    where = ""
    if condition.counterexample is not None:
        reading = "".join(f", {name}={choice}" for name, choice in condition.reading.items())
        where = f" at {show_point(condition.counterexample.parameters)}{reading}"
    yield f"  uses {condition.uses.partition(':')[2]}: {condition.condition}: {condition.finding}{where}"
    if condition.reason is not None:
        yield f"    {condition.reason}"
