"""Two kinds of pass: where a form has two times, and which it has is decided by the process, not by the moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from dpverify.report.bench.records import CaseRecord, FormRecord
from dpverify.report.bench.words import show_seconds, three

APART = 1.1
"""The slower kind takes at least so many times as long as the faster one."""

FEWEST = 2
"""Passes of each kind: one pass that is off is no kind."""


def kinds(values: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """Two groups of values, where there are two.

    The smaller and the larger values, where each group has :data:`FEWEST` of them, the gap is the widest of all and
    wider than :data:`APART`, and no group is as wide as the gap between them.
    """
    ordered = sorted(values)
    if len(ordered) < 2 * FEWEST:
        return None
    cut = max(range(1, len(ordered)), key=lambda place: ordered[place] / ordered[place - 1])
    low, high = ordered[:cut], ordered[cut:]
    gap = high[0] / low[-1]
    wide = max(low[-1] / low[0], high[-1] / high[0]) >= gap
    return None if min(len(low), len(high)) < FEWEST or gap <= APART or wide else (low, high)


def show_kinds(case: CaseRecord, form: FormRecord) -> str:
    """Where the passes of a form lie, if there are two kinds: of its ratio to the limit, or of the limit's own time.

    ``two kinds of pass: 6 near 1.00, 3 near 2.67``, or nothing.
    """
    times = _middles(form)
    if form.role == "limit":
        found = kinds(list(times.values()))
        where = [f"{len(each)} near {show_seconds(median(each) / case.work)}" for each in found or ()]
    else:
        limit = _middles(next((each for each in case.forms if each.role == "limit"), form))
        found = kinds([seconds / limit[turn] for turn, seconds in times.items() if turn in limit])
        where = [f"{len(each)} near {three(median(each))}" for each in found or ()]
    return f"two kinds of pass: {', '.join(where)}" if where else ""


def _middles(form: FormRecord) -> Mapping[int, float]:
    """Median seconds of a form by the number of the pass."""
    return {turn: median(rounds) for turn, rounds in enumerate(form.samples) if rounds}
