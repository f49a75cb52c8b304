"""``dpverify explain`` and ``conditions``: one claim in detail, and the conditions of claims that other claims use.

``explain`` shows a claim with its verdict, the evidence of the recorded run, and figures. ``conditions`` shows whether
claims meet the conditions of the claims that they use.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.claims import ClaimName, PaperKey
from dpverify.cli.output import OK, BadInput, Whole, check_figure, complain
from dpverify.processes import collect_garbage_rarely, usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpverify.api.conditions_met import JudgedCondition, JudgedConditions
    from dpverify.ledger import ClaimSpec, Specs
    from dpverify.ledger.results import Result, Run


def explain(
    claim: ClaimName,
    /,
    *,
    specs: Path | None = None,
    report: Path | None = None,
    figure: Path | None = None,
    at: str | None = None,
    checks: str | None = None,
    full: bool = False,
) -> int:
    """Explain one claim: its verdict, what is wrong and what holds instead.

    The first lines give the verdict. The words of the paper, the formula,
    counterexamples and a summary of the evidence follow.

    Parameters
    ----------
    claim
        Id of the claim, such as theorem-4 or tran2022:theorem-4.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    report
        Folder with a report. Its run is shown as evidence. Default: the run that comes
        with dpverify. If it has no verdict on the claim, the last run of verify in the
        store is shown.
    figure
        Draw the figure of the claim to this *.svg file. Further figures get a number in
        their names.
    at
        Only evaluate both sides at this point, such as "N=1000, alpha=1/2", for example
        at a counterexample.
    checks
        Package with the checks of the papers. Default: the checks that come with
        dpverify.
    full
        Print all findings, symbols, conditions, derivations and checks.
    """
    from rich.console import Console

    from dpverify.api.judged_today import judged_today
    from dpverify.harness.finished import Inputs
    from dpverify.ledger import load_specs
    from dpverify.ledger.specs import several_claims
    from dpverify.report.explain import RECORDED, Explained, print_explained

    collect_garbage_rarely()
    inputs = Inputs(specs)  # before any other file is read
    loaded = load_specs(specs)
    selected = loaded.select((claim,))
    if len(selected) != 1:
        raise BadInput(
            "CLAIM",
            repr(claim),
            f"must name one claim, but names {several_claims(selected)}",
        )
    spec = selected[0]
    if at is not None:
        _print_sides(spec, at, checks)
        return OK
    run = _recorded_run(spec, report)
    stored = (
        _stored_run(loaded, spec, checks) if run is None and report is None else None
    )
    current = judged_today(run, loaded, spec, checks, inputs)
    run = run or stored
    explanation = Explained(
        paper=loaded.papers[spec.paper].info,
        spec=spec,
        results=run.results if run else (),
        stale=current.changes,
        checks=current.checks,
        source=f"last run of verify (budget {stored.run.budget}, seed {stored.run.seed})"
        if stored
        else RECORDED,
    )
    print_explained(explanation, Console(), full=full)
    if figure is not None:
        _draw(explanation.results, figure)
    return OK


OUTCOMES = {True: "true", False: "false", None: "undecided"}


def _print_sides(spec: ClaimSpec, text: str, source: str | None) -> None:
    """Print both sides of every statement of a claim at a point; print equal results once."""
    from dpverify.api.judged_today import checks_of
    from dpverify.harness.search.at_point import NoValueError, at_point, read_point
    from dpverify.report.numbers import show_side
    from dpverify.report.statements import VARIANTS
    from dpverify.report.words import reading_words

    try:
        point = read_point(text)
    except NoValueError as error:
        raise BadInput("--at", repr(text), str(error)) from error
    checks = checks_of(spec, source)
    readings_by_outcome: dict[tuple[str, str], list[str]] = {}
    for statement in spec.statements():
        try:
            probe = at_point(statement, point, checks)
        except NoValueError as error:
            outcome = f"no answer: {error}"
        else:
            sides = f"left {show_side(probe.lhs, 10)}, right {show_side(probe.rhs, 10)}"
            outcome = f"{OUTCOMES[probe.holds]}: {sides}"
        readings_by_outcome.setdefault((statement.variant, outcome), []).append(
            reading_words(statement.reading)
        )
    variants = Counter(variant for variant, _ in readings_by_outcome)
    for (variant, outcome), readings in readings_by_outcome.items():
        which = f" ({' and '.join(readings)})" if variants[variant] > 1 else ""
        print(f"{spec.key}, {VARIANTS[variant]}{which}: {outcome}")


def _recorded_run(spec: ClaimSpec, report: Path | None) -> Run | None:
    """Return the part of a recorded run that judged this claim, or None; raise BadInput for an unreadable report."""
    from dpverify.api.verdicts import recorded_run_of_claim
    from dpverify.report.collect import ReportError

    try:
        return recorded_run_of_claim(spec, report)
    except (OSError, ReportError) as error:
        raise BadInput(
            "--report",
            report or "(default)",
            f"cannot be read ({' '.join(str(error).split())})",
        ) from error


def _stored_run(specs: Specs, spec: ClaimSpec, checks: str | None) -> Run | None:
    """Return the stored results of this claim in the default store, or None."""
    from dpverify.api.verdicts import stored_run_of_claim
    from dpverify.cache_files import default_store
    from dpverify.cli.backends import open_store
    from dpverify.harness.run.store_file import StoreError

    if not default_store().is_file() or (store := open_store(None)) is None:
        return None
    try:
        return stored_run_of_claim(specs, spec, store, checks)
    except StoreError as error:
        complain(str(error))
        return None
    finally:
        store.close()


def _draw(results: Sequence[Result], target: Path) -> None:
    """Draw all figures of the results; the first one is written to ``target``."""
    from dpverify.kernels.check import ArgumentError
    from dpverify.report.collect import pictures
    from dpverify.report.files import check_target, write_whole
    from dpverify.report.pages.figures import caption, svg

    drawings = [picture for result in results for picture in pictures(result)]
    if not drawings:
        raise BadInput(
            "--figure", target, "the recorded run has no figure of this claim"
        )
    try:
        check_target("--figure", target, suffix=".svg")
        further = [
            target.with_stem(f"{target.stem}-{number}")
            for number in range(2, len(drawings) + 1)
        ]
        for path in further:
            check_figure("--figure", path)
        for path, picture in zip((target, *further), drawings, strict=True):
            write_whole("--figure", path, svg(picture.name, picture.columns))
            print(f"wrote {path}: {caption(picture.name, picture.columns)}")
    except ArgumentError as error:
        raise BadInput(error.variable, error.value, error.rule) from error


DIFFERS_FROM_RECORD = (
    1  # exit code if the records do not state which conditions are not met
)


def conditions(
    paper: PaperKey,
    /,
    *,
    specs: Path | None = None,
    seed: Whole = 0,
    jobs: Whole | None = None,
) -> int:
    """Judge whether the claims of a paper meet the conditions of the claims that they use.

    Conditions that the claim itself states are only counted. Symbols are compared by
    name. The exit code is 1 if the file conditions.toml of the paper omits a condition
    that is not met, or names one that is not violated.

    Parameters
    ----------
    paper
        Key of the paper, such as tran2022.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    seed
        Seed of the random numbers; the same seed gives the same result.
    jobs
        Number of worker processes on this machine. Default: one per core.
    """
    from dpverify.api import used_conditions
    from dpverify.cli.progress import progress_on_stderr

    with progress_on_stderr() as progress:
        judged = used_conditions(
            paper,
            specs=specs,
            seed=seed,
            jobs=jobs or usable_cores(),
            progress=progress,
        )
    print("\n".join(_lines(judged)))
    for difference in judged.differences_from_record:
        complain(difference)
    return DIFFERS_FROM_RECORD if judged.differences_from_record else OK


def _lines(judged: JudgedConditions) -> Iterator[str]:
    """Yield lines for each claim whose used claims have conditions that it does not state, and a line of counts."""
    compared = [
        condition
        for condition in judged.conditions
        if condition.finding != "other letters"
    ]
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
    yield (
        f"{judged.stated_conditions} further conditions are stated by the claim itself; "
        f"{others} have letters that it lacks"
    )


def _condition_lines(condition: JudgedCondition) -> Iterator[str]:
    from dpverify.report.numbers import show_point

    where = ""
    if condition.counterexample is not None:
        reading = "".join(
            f", {name}={choice}" for name, choice in condition.reading.items()
        )
        where = f" at {show_point(condition.counterexample.parameters)}{reading}"
    yield f"  uses {condition.uses.partition(':')[2]}: {condition.condition}: {condition.finding}{where}"
    if condition.reason is not None:
        yield f"    {condition.reason}"
