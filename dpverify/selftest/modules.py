"""Mutate the modules for which the catalogue has no fault; the tests or claims that guard a module must notice."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, suppress
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path

import msgspec

from dpverify.harness.run.manifest import commit
from dpverify.selftest.catalogue import Fault, load_faults
from dpverify.selftest.detection import Children, run_guards
from dpverify.selftest.guards import folder_tests
from dpverify.selftest.mutants import attempts
from dpverify.selftest.records import (
    NOTHING_RUNS,
    Detection,
    FaultOutcome,
    MutantsRun,
    Sighting,
)
from dpverify.selftest.run import (
    copy,
    end_work,
    load_outcomes,
    modules,
    plant,
    run_green,
    save_outcome,
    work_folder,
)
from dpverify.shared_types import ReportProgress

# modules in a batch; an interrupted run loses at most the guards' results of one batch
BATCH_SIZE = 40

# such outcomes are not stored
NOT_RUN = "its guards did not run to their end before the change"


def change_modules(
    root: Path,
    state: Path,
    only: str = "*",
    *,
    jobs: int = 1,
    limit: float = 300.0,
    report: ReportProgress | None = None,
    earlier_outcomes: Iterable[FaultOutcome] = (),
) -> MutantsRun:
    """Change each matching module for which the catalogue has no fault, until one of its changes is noticed.

    A module's nearest guards run first. If they notice none of its changes, all tests of its folder run. Outcomes in
    ``state`` and ``earlier_outcomes`` are reused as long as the module and its guards do not change. Guards that fail
    on the unchanged code are not used. ``limit``: seconds for one change. After Ctrl-C, the outcomes so far are
    returned.
    """
    progress = report or (lambda done, total, label: None)
    covered = {fault.module for fault in load_faults(root)}
    uncovered = [name for name in modules(root) if name not in covered]
    # reads many files, so done only once
    mutants = {(name, False): list(attempts(root, name)) for name in uncovered}
    for name in uncovered:
        guards = folder_tests(root, name)
        mutants[name, True] = [
            msgspec.structs.replace(fault, noticed_by=guards)
            for fault in mutants[name, False]
        ]
    keys = {(name, False): _key(root, name, mutants[name, False]) for name in uncovered}
    keys |= {
        (name, True): _key(root, name, [*mutants[name, False], *mutants[name, True]])
        for name in uncovered
    }
    stored = {
        outcome.key: outcome for outcome in earlier_outcomes if outcome.error != NOT_RUN
    } | load_outcomes(state)

    def done(name: str, wide: bool) -> bool:
        return not stored.keys().isdisjoint({keys[name, wide], keys[name, True]})

    def last(name: str) -> FaultOutcome | None:
        near, wide = (stored.get(keys[name, wide]) for wide in (False, True))
        if wide is None:
            return None if near is not None and _is_missed(near) else near
        started = (
            near is not None
            and near.error != NOTHING_RUNS
            and wide.error == NOTHING_RUNS
        )
        return wide if wide.sightings and not started else near

    with suppress(KeyboardInterrupt):
        for wide in (False, True):
            selected = [
                name
                for name in uncovered
                if fnmatchcase(name, only) and not done(name, wide)
            ]
            todo = {
                name: mutants[name, wide]
                for name in selected
                if not wide or _is_missed(stored[keys[name, False]])
            }
            if not todo:
                continue
            before = 0 if wide else sum(done(name, wide) for name in uncovered)
            progress(
                before, before + len(todo), "who is asked, before anything is changed"
            )
            with closing(_outcomes(root, todo, jobs, limit)) as outcomes:
                for number, outcome in enumerate(outcomes, start=before + 1):
                    key = keys[outcome.module, wide]
                    stored[key] = msgspec.structs.replace(outcome, key=key)
                    if outcome.error != NOT_RUN:
                        save_outcome(state, key, stored[key])
                    outcome_text = "noticed" if outcome.noticed else "NOT NOTICED"
                    progress(
                        number, before + len(todo), f"{outcome.module}: {outcome_text}"
                    )
    return MutantsRun(
        commit=commit(),
        modules=uncovered,
        changes=[change for name in uncovered if (change := last(name)) is not None],
    )


def _key(root: Path, module: str, mutants: Sequence[Fault]) -> str:
    """Return the key of an outcome: a digest of the module, its changes and its guards."""
    digest = hashlib.sha256(
        "\n".join([module, *(fault.what for fault in mutants)]).encode()
    )
    for name in (
        str(Path(*module.split(".")).with_suffix(".py")),
        *_guards_of(mutants),
    ):
        files = (
            [root / name]
            if (root / name).is_file()
            else sorted((root / name).rglob("*.py"))
        )
        for content in (name.encode(), *(path.read_bytes() for path in files)):
            digest.update(content)
    return digest.hexdigest()


def _outcomes(
    root: Path, todo: Mapping[str, Sequence[Fault]], jobs: int, limit: float
) -> Generator[FaultOutcome]:
    children = Children()
    pool = ThreadPoolExecutor(jobs)
    detections = dict[str, Detection]()
    with work_folder("dpverify-modules-") as work, ExitStack() as stack:
        stack.callback(end_work, children, pool)
        green = work / "green"
        copy(root, green)
        for first in range(0, len(todo), BATCH_SIZE):
            batch = dict(islice(todo.items(), first, first + BATCH_SIZE))
            new = [
                name
                for name in _guards_of(chain.from_iterable(batch.values()))
                if name not in detections
            ]
            detections |= {
                sighting.check: sighting.saw
                for sighting in run_green(pool, children, green, new, jobs)
            }
            futures = [
                pool.submit(
                    _try_mutations,
                    children,
                    green,
                    work / name,
                    name,
                    tried,
                    limit,
                    detections,
                )
                for name, tried in batch.items()
            ]
            for future in as_completed(futures):
                yield future.result()


def _try_mutations(
    children: Children,
    green: Path,
    folder: Path,
    module: str,
    mutants: Iterable[Fault],
    limit: float,
    detections: Mapping[str, Detection],
) -> FaultOutcome:
    """Try the changes of a module until one is noticed; return the last outcome (``what`` is empty without changes)."""
    outcome = FaultOutcome(id=module, kind="machine", what="", module=module)
    seen_kinds = set[Detection]()
    for number, fault in enumerate(mutants):
        if children.ended:
            break
        outcome = _run_mutation(
            children, green, folder / str(number), fault, limit, detections
        )
        seen_kinds |= {sighting.saw for sighting in outcome.sightings}
        if outcome.noticed:
            break
    nothing_ran = seen_kinds == {"did not run"} and not outcome.error
    return (
        msgspec.structs.replace(outcome, error=NOTHING_RUNS) if nothing_ran else outcome
    )


def _run_mutation(
    children: Children,
    green: Path,
    folder: Path,
    fault: Fault,
    limit: float,
    detections: Mapping[str, Detection],
) -> FaultOutcome:
    begin = time.monotonic()
    guards = [name for name in fault.noticed_by if detections[name] == "nothing"]
    have_run = all(
        detections[name] not in {"time limit", "did not run"}
        for name in fault.noticed_by
    )
    error = (
        ""
        if guards
        else "none of its guards is green before the change"
        if have_run
        else NOT_RUN
    )
    sightings: list[Sighting] = []
    with plant(green, folder, fault, fault.new):
        # the fastest first
        for name in (name for name in (*fault.tests, *fault.claims) if name in guards):
            # one by one: an import error stops only one test
            if not any(sighting.noticed for sighting in sightings):
                sightings += run_guards(
                    children, folder, [name], begin + limit - time.monotonic()
                )
    seconds = round(time.monotonic() - begin, 1)
    return FaultOutcome(
        id=fault.id,
        kind=fault.kind,
        what=fault.what,
        module=fault.module,
        seconds=seconds,
        sightings=sightings,
        error=error,
    )


def _guards_of(faults: Iterable[Fault]) -> list[str]:
    """Return the tests and claims that guard against some changes."""
    return list(dict.fromkeys(name for fault in faults for name in fault.noticed_by))


def _is_missed(outcome: FaultOutcome) -> bool:
    """Test whether guards ran after a change and none of them noticed it."""
    return (
        bool(outcome.sightings)
        and outcome.error in {"", NOTHING_RUNS}
        and not outcome.noticed
    )
