"""A run whose checks are foreign code: it is judged in a process of its own, which such code may end or stop.

Blocks run in worker processes in any case. All other calls of a check, which are its import, cost, plan, fold and
finish, run in one process. Where one of them ends that process or does not return, the check gets an error that says
so, and the run goes on in a new process with what was found before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from dpverify.apart import run_apart, tell
from dpverify.foreign import ForeignError, check_originals, raise_lost_interrupt
from dpverify.harness.run.cluster import Cluster
from dpverify.harness.run.engine import Progress, ReportRun
from dpverify.harness.run.runner import verify
from dpverify.harness.run.store import Store
from dpverify.harness.run.tasks import OF
from dpverify.ledger.errors import SpecError, shown
from dpverify.ledger.results import CheckResult, Run

KnownResults: TypeAlias = dict[str, CheckResult | str]
"""Results and errors of checks, by their labels."""

STAGES = ("cost", "plan", "fold", "finish")


def verify_apart(
    limit: float, *, progress: ReportRun | None, store: Store | None, cluster: Cluster | None, **options: Any
) -> Run:
    """Judge claims as `verify` does, with so many seconds for each call of foreign code."""
    known_results: KnownResults = {}
    stop = False
    while True:
        try:
            for message in run_apart(limit, _messages, limit, known_results, stop, store, cluster, options):
                if isinstance(message, Run):
                    return message
                if isinstance(message, Progress):
                    if message.found is not None:
                        known_results[message.label] = message.found
                    if progress is not None:
                        progress(message)
                if isinstance(message, dict):
                    _take_failures(message, store, cluster)
            raise RuntimeError("the process that judges the claims gave no results")
        except ForeignError as error:
            stage, _, label = error.name.partition(OF)
            if stage not in STAGES or isinstance(known_results.get(label), str):
                raise SpecError("checks", "", "", shown(error.name), f"it {error.reason}") from error
            known_results[label] = str(error)
        except KeyboardInterrupt:  # foreign code did not return after Ctrl-C
            if stop:
                raise
            stop = True


def _take_failures(failures: dict[str, str], store: Store | None, cluster: Cluster | None) -> None:
    if store is not None:
        store.failure = failures["store"]
    if cluster is not None:
        cluster.failure = failures["cluster"]


def _tell_progress(progress: Progress) -> None:
    tell(progress)
    raise_lost_interrupt()


def _messages(
    limit: float,
    known_results: KnownResults,
    stop: bool,
    store: Store | None,
    cluster: Cluster | None,
    options: dict[str, Any],
) -> Iterator[object]:
    """Judge the claims in this process; tell how far the run is, why store and cluster failed, and the run."""
    run = verify(
        **options,
        progress=_tell_progress,
        store=store,
        cluster=cluster,
        limit=limit,
        known_results=known_results,
        stop=stop,
    )
    yield {"store": store.failure if store else "", "cluster": cluster.failure if cluster else ""}
    check_originals("checks")
    yield run
