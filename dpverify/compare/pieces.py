"""The runner of all experiments: pieces of work by number, with progress, a store, a cluster and Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpverify.harness.run.work import Means, Work
from dpverify.shared_types import ReportProgress


def run_pieces(
    work: Work,
    count: int,
    label: Callable[[int, Any], str],
    report: ReportProgress | None = None,
    means: Means | None = None,
) -> tuple[dict[int, Any], bool]:
    """Run pieces; after Ctrl-C, or where the cluster was lost, return the finished ones and True."""
    finished = dict[int, Any]()
    try:
        for number, part in (means or Means()).outcomes(work, count):
            finished[number] = part
            if report is not None:
                report(len(finished), count, label(number, part))
    except KeyboardInterrupt:
        return finished, True
    return finished, False
