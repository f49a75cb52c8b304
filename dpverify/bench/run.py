"""A whole run: pass after pass through all groups, each group of a pass in a process of its own.

Passes of one case are minutes apart, with all other cases between them, so that their spread holds what a machine does
over the run: other addresses, other neighbours, another clock rate.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from numpy.random import SeedSequence

from dpverify.bench.child import Request
from dpverify.bench.children import ask
from dpverify.bench.collect import Desk, aims, fits
from dpverify.bench.cores import usable_cores
from dpverify.bench.machine import Watch, load, machine
from dpverify.bench.measure import SPARSE_PASSES
from dpverify.bench.registry import Group, select
from dpverify.harness.run.manifest import commit, versions
from dpverify.report.bench.records import Bench, BenchInfo

Progress = Callable[[int, int, str], None]
"""Told how many measurements are done, of how many, and what is measured."""


@dataclass(frozen=True)
class Amount:
    """How much is measured."""

    passes: int  # how often the whole list is gone through, each time in fresh processes
    rounds: int  # how often a form is timed in one pass


USUAL, QUICK = Amount(11, 5), Amount(3, 3)
"""Eleven passes against eleven: a comparison of a whole run can find a change although some of their pairs overlap."""


def run(
    groups: Sequence[Group],
    amount: Amount = USUAL,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Bench:
    """Measure. All that was measured; after Ctrl-C, until then."""
    watch = Watch()
    desks = [Desk(group.name, case) for group in groups for case in group.cases]
    interrupted = False
    steps = _steps(groups, desks, amount, seed)
    try:
        for done, total, label in steps:
            if progress is not None:
                progress(done, total, label)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        steps.close()
    there_are = ((group.name, case) for group in select([], long=True) for case in group.cases)
    records = [record for desk in desks if (record := desk.record()) is not None]
    measured = {group.name: group.title for group in groups if any(record.group == group.name for record in records)}
    info = BenchInfo(
        groups=list(measured),
        versions=versions(),
        commit=commit(),
        machine=machine(),
        cores=usable_cores(),
        seed=seed,
        passes=amount.passes,
        rounds=amount.rounds,
        quick=amount == QUICK,
        load_before=round(watch.load, 2),
        load_after=round(load(), 2),
        others=watch.others(),
        seconds=round(watch.seconds(), 1),
        interrupted=interrupted,
    )
    return Bench(runs=[info], groups=measured, cases=records, fits=fits(desks), aims=aims(there_are))


def _steps(
    groups: Sequence[Group], desks: Sequence[Desk], amount: Amount, seed: int
) -> Generator[tuple[int, int, str], None, None]:
    """Measure step by step; done, total, and what comes next."""
    at = int(SeedSequence(seed).generate_state(1)[0])
    total = sum(min(amount.passes, desk.case.passes or amount.passes) for desk in desks)
    done = 0
    for turn in range(amount.passes):
        for group in groups:
            here = {desk.case.name: desk for desk in desks if desk.group == group.name and _due(desk, turn, amount)}
            if not here:
                continue
            request = Request(group=group.name, cases=list(here), seed=at, rounds=amount.rounds, turn=turn)
            label = f"pass {turn + 1} of {amount.passes}: {group.name}"
            yield done, total, label
            for answer in ask(request):
                here[answer.case].take(answer)
                if answer.measured is not None or answer.error:
                    done += 1
                yield done, total, f"{label}/{answer.case}"
            for name, desk in here.items():
                if turn < (1 if amount.passes <= QUICK.passes else SPARSE_PASSES):
                    for _ in _memory(desk, at):
                        yield done, total, f"{label}/{name}: memory"


def _due(desk: Desk, turn: int, amount: Amount) -> bool:
    return not desk.error and turn < min(amount.passes, desk.case.passes or amount.passes)


def _memory(desk: Desk, seed: int) -> Generator[None, None, None]:
    """The memory of every form, each in a process of its own."""
    place, forms = 0, 1 if desk.case.memory is not None else 0
    while place < forms and not desk.error:
        yield
        for answer in ask(Request(group=desk.group, cases=[desk.case.name], seed=seed, memory=place)):
            desk.take(answer)
            forms = answer.forms or forms
        place += 1
