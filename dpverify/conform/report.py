"""Reports of conformance tests: text, tables for notebooks, and markdown for continuous-integration services.

Causes come before their consequences. A test that fails because of another fault is listed only under that fault.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.report.markdown import escape, table
from dpverify.report.result_tables import Cell, ResultTable
from dpverify.report.text.paragraphs import StyledLine, fitted
from dpverify.report.words import plural

if TYPE_CHECKING:
    from dpverify.conform.peers.records import CatalogueEntry
    from dpverify.conform.records import Conformance, ConformanceTest


SAMPLING_SUBJECTS = (
    "batches",
    "seeds of batches",
    "inclusion",
    "small batches",
    "large batches",
    "pairs",
    "each pair",
    "parts of the data",
    "next step",
    "common",
    "any two steps",
    "next epoch",
    "pairs of the next epoch",
)
CORRELATION_SUBJECTS = (
    "noise of two steps",
    "noise of two coordinates",
    "noise of two numbers",
)
NOISE_SUBJECTS = (
    "precision",
    "mean of noise",
    "scale of noise",
    *CORRELATION_SUBJECTS,
    "shape of noise",
)
STEP_SUBJECTS = ("number of steps", "number of records and steps")
SIZE_SUBJECTS = (
    "number of records and rate",
    "empty batches",
    "number of records and noise",
)
SUBJECT_ORDER = (
    "calls",
    "ranks",
    "every batch",
    "finite numbers",
    "generator",
    *STEP_SUBJECTS,
    "fresh numbers",
    "sensitivity",
    "contribution",
    "number of records and divisor",
    "state",
    *SAMPLING_SUBJECTS,
    "last batch",
    *NOISE_SUBJECTS,
    *SIZE_SUBJECTS,
    "outputs",
)
"""Subjects of tests, causes before consequences."""

CONSEQUENCES = {
    **dict.fromkeys(
        STEP_SUBJECTS,
        (*STEP_SUBJECTS, *SAMPLING_SUBJECTS, "last batch", *SIZE_SUBJECTS),
    ),
    "fresh numbers": ("state", *NOISE_SUBJECTS, *SIZE_SUBJECTS),
    "sensitivity": ("contribution", "number of records and divisor"),
    **dict.fromkeys(
        SAMPLING_SUBJECTS, (*SAMPLING_SUBJECTS, "last batch", *SIZE_SUBJECTS)
    ),
    **dict.fromkeys(
        ("scale of noise", "number of records and divisor", *SIZE_SUBJECTS),
        SIZE_SUBJECTS,
    ),
    **dict.fromkeys(CORRELATION_SUBJECTS, CORRELATION_SUBJECTS),
}
"""Subjects of the tests that usually also fail when a test of the given subject fails."""

LABEL_WIDTH = 7  # width of the label FAULT
NOTE_PREFIX = "note: "
WIDE_LABEL_WIDTH = 12  # width of the label "not tested"
STYLES = {"ok": "", "fault": "red", "not tested": "yellow"}


@dataclass(frozen=True)
class ConformanceFault:
    """A test that found a fault, and the tests that failed for the same reason."""

    test: ConformanceTest
    consequences: Sequence[ConformanceTest] = ()


def faults(tests: Sequence[ConformanceTest]) -> list[ConformanceFault]:
    """Return the faults, causes first; each failed test belongs to exactly one of them."""
    failed = sorted((test for test in tests if test.status == "fault"), key=_rank)
    groups: list[list[ConformanceTest]] = []
    for test in failed:
        group = next(
            (group for group in groups if _belongs_to_group(test, group)), None
        )
        if group is None:
            groups.append([test])
        else:
            group.append(test)
    return [ConformanceFault(first, consequences) for first, *consequences in groups]


def subject(test: ConformanceTest) -> str:
    """Return the subject of a test: the longest entry of :data:`SUBJECT_ORDER` that begins its name."""
    subjects = (
        name
        for name in SUBJECT_ORDER
        if test.name == name or test.name.startswith((f"{name},", f"{name} "))
    )
    return max(subjects, key=len, default="")


def _rank(test: ConformanceTest) -> int:
    test_subject = subject(test)
    return SUBJECT_ORDER.index(test_subject) if test_subject else len(SUBJECT_ORDER)


def _belongs_to_group(test: ConformanceTest, group: Sequence[ConformanceTest]) -> bool:
    """Test whether a failed test belongs to a group of failed tests; the first test of the group is the cause."""
    return _is_consequence(test, group[0]) or test.because in map(subject, group)


def _is_consequence(test: ConformanceTest, cause: ConformanceTest) -> bool:
    """Test whether ``test`` is expected to pass once the fault ``cause`` is fixed."""
    test_subject = subject(test)
    cause_subject = subject(cause)
    # any fault can raise the audited epsilon
    if test_subject in ("outputs", cause_subject):
        return True
    if test.error and test.error == cause.error:
        return True
    return test_subject in CONSEQUENCES.get(cause_subject, ())


def report_lines(
    tests: Sequence[ConformanceTest],
    alpha: float,
    width: int,
    *,
    verbose: bool = False,
    verbose_option: str = "text(verbose=True)",
) -> list[StyledLine]:
    """Return the lines of a report: faults first, then totals.

    ``verbose`` adds every test with its numbers. If it is off, the report names ``verbose_option``.
    """
    fault_list = faults(tests)
    lines = [line for fault in fault_list for line in _fault_lines(fault, width)]
    if verbose:
        lines += [StyledLine("")] if lines else []
        lines += [line for test in tests for line in _test_lines(test, width)]
    lines += [StyledLine("")] if lines else []
    hint = (
        ""
        if verbose
        else f"{verbose_option} lists every test with the smallest fault that it detects."
    )
    for text, style in _total_texts(tests, fault_list, alpha, hint):
        lines += [StyledLine(line, style) for line in fitted([text], width, 99)]
    return lines


def _fault_lines(fault: ConformanceFault, width: int) -> Iterator[StyledLine]:
    indent = " " * LABEL_WIDTH
    detection_text = (
        f" This test detects {fault.test.sees}."
        if subject(fault.test) in SAMPLING_SUBJECTS
        else ""
    )
    text = f"{fault.test.name}: {fault.test.found}.{detection_text}"
    first, *later_lines = fitted(
        [text], width, 99, first="FAULT".ljust(LABEL_WIDTH), indent=indent
    )
    yield StyledLine(first, "bold red")
    yield from map(StyledLine, later_lines)
    if fault.consequences:
        counts = Counter(subject(test) or test.name for test in fault.consequences)
        names = ", ".join(
            f"{name} ({count} tests)" if count > 1 else name
            for name, count in counts.items()
        )
        consequence_text = f"Also failed, probably for the same reason: {names}."
        yield from map(StyledLine, fitted([consequence_text], width, 99, indent=indent))


def _test_lines(test: ConformanceTest, width: int) -> Iterator[StyledLine]:
    label = "FAULT" if test.status == "fault" else test.status
    text = f"{test.name}: {test.found}. It detects: {test.sees}."
    style = STYLES[test.status]
    first = label.ljust(WIDE_LABEL_WIDTH)
    yield from (
        StyledLine(line, style)
        for line in fitted(
            [text], width, 99, first=first, indent=" " * WIDE_LABEL_WIDTH
        )
    )


def _total_texts(
    tests: Sequence[ConformanceTest],
    fault_list: Sequence[ConformanceFault],
    alpha: float,
    hint: str,
) -> Iterator[tuple[str, str]]:
    untested = [test for test in tests if test.status == "not tested"]
    yield (
        headline(tests, alpha),
        "bold" if fault_list else "bold yellow" if untested else "bold green",
    )
    if hint:
        yield from (
            (f"Not tested: {test.name} ({test.found}).", "yellow") for test in untested
        )
        notes = (test for test in tests if test.found.startswith(NOTE_PREFIX))
        yield from (
            (f"Note on the {test.name}: {test.found.removeprefix(NOTE_PREFIX)}.", "")
            for test in notes
        )
        yield hint, "dim"


def headline(tests: Sequence[ConformanceTest], alpha: float) -> str:
    """Return the number of faults and tests, and the probability of a false alarm if a test is random."""
    fault_list = faults(tests)
    counts = Counter(test.status for test in tests)
    untested = counts["not tested"]
    false_alarm_text = (
        f" A correct optimizer fails any test with probability at most {alpha:.2g}."
        if alpha
        else ""
    )
    if fault_list:
        not_run_text = f", {untested} could not be run" if untested else ""
        counts_text = f"{counts['fault']} of {len(tests)} tests failed, {counts['ok']} passed{not_run_text}"
        return f"{plural(len(fault_list), 'fault')}: {counts_text}.{false_alarm_text}"
    if untested:
        counts_text = (
            f"{untested} of {len(tests)} tests could not be run, {counts['ok']} passed"
        )
        return f"Incomplete: {counts_text}. No fault was found.{false_alarm_text}"
    return f"No fault found: {counts['ok']} of {len(tests)} tests passed.{false_alarm_text}"


def conformance_table(result: Conformance) -> ResultTable:
    """Return a table of all tests: faults first, then tests that could not be run."""
    order = ["fault", "not tested", "ok"]
    ordered = sorted(result.tests, key=lambda test: order.index(test.status))
    rows: list[dict[str, Cell]] = [
        {
            "test": test.name,
            "result": "FAULT" if test.status == "fault" else test.status,
            "measured": test.found,
            "detects": test.sees,
            "alpha": test.alpha,
        }
        for test in ordered
    ]
    failed = ", ".join(test.name for test in result.failed)
    untested = ", ".join(test.name for test in result.not_tested)
    title = f"no fault found by {len(result.tests) - len(result.not_tested)} tests"
    if failed:
        title = (
            f"{len(result.failed)} of {len(result.tests)} tests found a fault: {failed}"
        )
    return ResultTable(f"{title}; not tested: {untested}" if untested else title, rows)


# GitHub, Gitea and Forgejo show the file that it names on the page of a run
SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


def summary(name: str, result: Conformance) -> str:
    """Return a section of markdown: the number of faults, then a table of the faults, causes first."""
    rows = [
        (
            escape(fault.test.name),
            escape(fault.test.found),
            escape(", ".join(test.name for test in fault.consequences)),
        )
        for fault in faults(result.tests)
    ]
    mark = "✗" if rows else "✓" if result else "?"
    title = f"### {mark} {escape(name)}"
    untested = [
        f"{test.name} ({test.found})"
        for test in result.tests
        if test.status == "not tested"
    ]
    not_run_text = escape(f"Not tested: {', '.join(untested)}.") if untested else ""
    counts = escape(headline(result.tests, result.alpha))
    parts = [
        title,
        counts,
        table(("fault in", "found", "also failed"), rows),
        not_run_text,
    ]
    return "\n\n".join(part for part in parts if part) + "\n\n"


def append_summary(name: str, result: Conformance, file: Path | None = None) -> None:
    """Append a summary to ``file``, by default to the file that the CI service names; without either, do nothing."""
    path = file or os.environ.get(SUMMARY_VARIABLE)
    if path:
        _append_text(Path(path), summary(name, result))


def append_entry(entry: CatalogueEntry, seeds: int, file: Path) -> None:
    """Append a line that says with how many seeds a fault was found in an optimizer."""
    mark = "✗" if entry.found else "?" if entry.untested else "✓"
    not_run_text = (
        f"; not tested: {', '.join(entry.untested)}" if entry.untested else ""
    )
    test_text = f", first in: {entry.by}" if entry.by else ""
    _append_text(
        file,
        f"- {mark} {escape(f'{entry.name}: a fault in {entry.found} of {seeds} seeds{test_text}{not_run_text}')}\n",
    )


def _append_text(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text)
